"""Restore a partition; `restore` lists the steps, each of which is one file."""

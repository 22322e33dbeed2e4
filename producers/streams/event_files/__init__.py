"""Rows as they stand in a file, each as one JSON text: what a topic of somebody's own events would hold."""

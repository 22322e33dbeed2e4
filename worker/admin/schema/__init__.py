"""Propose a schema from a topic's or file's first events: scan fields by path, choose features, render the result."""

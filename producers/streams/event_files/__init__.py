"""Unchanged rows of a file, each as one JSON text, as on a topic of events in a user's own format."""

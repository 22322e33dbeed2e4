"""Slow, obvious, pure-Python versions of every algorithm, written from the specification, never from a kernel."""

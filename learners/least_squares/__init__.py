"""Recursive least squares with and without forgetting, in one pass."""

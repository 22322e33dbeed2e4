"""Least squares that forgets: recursive, discounted, one pass."""

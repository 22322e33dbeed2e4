"""Learners that keep one weight vector per class."""

"""Learners that keep a distribution: of the data in each class, or over what they do not know."""

"""Learners for two classes that are not equally frequent, or whose errors do not cost the same."""

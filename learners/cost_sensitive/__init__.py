"""Learners for two classes whose mistakes do not cost the same, or that are not equally frequent."""

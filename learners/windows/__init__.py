"""Learners that store the last rows and predict from or train on those alone: forgetting by a window."""

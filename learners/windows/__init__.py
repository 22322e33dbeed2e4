"""Learners that hold the last rows and ask or train on those alone: forgetting by a window of fixed length."""

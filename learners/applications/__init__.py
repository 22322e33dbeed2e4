"""Learners for tasks other than telling rows apart: ratings, similarity, several tasks, series, parts."""

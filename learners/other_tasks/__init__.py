"""Learners for other tasks: recommendation, similarity, several tasks, time series, few labels, decompositions."""

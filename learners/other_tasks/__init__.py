"""Learners for other tasks: recommendation, similarity, multi-task, time series, few labels, decomposition."""

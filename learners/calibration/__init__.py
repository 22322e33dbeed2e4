"""Probabilities of classes from scores: how sure a prediction is, learned online behind any learner."""

"""Drift detectors: what watches a learner's errors and says when they have grown."""

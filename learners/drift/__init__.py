"""Drift detectors: they monitor a learner's errors and signal when these have increased."""

"""Predictors that use labels only, as a baseline for every learner."""

"""Predictors that look at labels only: what every learner has to beat."""

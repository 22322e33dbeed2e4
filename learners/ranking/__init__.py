"""Learners that rank: they ask that rows of class 1 score above rows of class 0, which is what AUC measures."""

"""Intervals and sets that hold the label of a given share of rows, behind any learner (docs/decisions/0057)."""

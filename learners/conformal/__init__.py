"""Intervals and sets that contain the label in a given share of rows, for any learner (docs/decisions/0057)."""

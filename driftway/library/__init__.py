"""The library: Driftway's learners in a program of one's own, with the interfaces of River and scikit-learn.

`classifier` and `regressor` are the two estimators, over what they share in `estimator`. `online` runs a learner on
rows as they come, `columns` and `classes` read features and labels, `files` loads and saves models.
"""

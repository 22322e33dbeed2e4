"""The library: Driftway's learners in other programs, with the interfaces of River and scikit-learn.

`classifier` and `regressor` are the two estimators, and `estimator` is what they share. `online` runs a learner on
single rows, `columns` and `classes` read features and labels, `files` loads and saves models.
"""

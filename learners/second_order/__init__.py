"""Linear learners that keep a covariance of their weights."""

"""Learners that estimate a distribution: of the data in each class, over the weights, or over a hidden state."""

"""Bayesian filters: a hidden state moves from row to row, and is known only through the labels that it leads to."""

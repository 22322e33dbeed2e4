"""Recursive least squares without forgetting (RLS)."""

import math

import numpy as np

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept, number
from driftway.learners.least_squares.recursion import LeastSquaresNumbers, least_squares


class RLS(Learner):
    """Ridge regression on all rows so far, one row at a time: every row weighs the same for ever.

    The best linear fit for a stream without drift; under drift, the baseline for learners that forget.

    Cost
    ----
    O(d^2) per row; 8 d^2 + 8 d + 8 bytes.

    Source
    ------
    Zhao and Zhou, Distribution-Free One-Pass Learning, eq. 3 with mu = 0 (docs/algorithms/least_squares.md#rls).
    Without forgetting P only shrinks, so there is no wind-up to guard against.
    """

    name = "rls"
    tasks = ("binary", "regression")

    class Params(Parameters):
        delta: float = number(1.0, "Initial ridge, P = I/delta.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return least_squares(LeastSquaresNumbers(1.0, math.inf))

    def initialise(self) -> None:
        np.fill_diagonal(self.state["P"], 1.0 / self.parameters.delta)

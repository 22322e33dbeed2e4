"""Recursive least squares with a forgetting factor (DFOP)."""

import numpy as np

from driftway.learners.contract import Learner, Parameters, UpdateRule, intercept, number
from driftway.learners.least_squares.recursion import LeastSquaresNumbers, least_squares


class DFOP(Learner):
    """Distribution-free one-pass learning: least squares in which the past fades exponentially.

    Old rows weigh (1 - mu)^age, so the model follows a drifting stream with a memory of about 1/mu rows.

    Cost
    ----
    O(d^2) per row; 8 d^2 + 8 d + 8 bytes.

    Source
    ------
    Zhao and Zhou, Distribution-Free One-Pass Learning, Algorithm 2 with constant lambda. Differs: predicts
    before the update, mirrors P, guards against wind-up (docs/algorithms/least_squares.md#dfop).
    """

    name = "dfop"
    tasks = ("binary", "regression")

    class Params(Parameters):
        mu: float = number(
            0.005, "Forgetting factor; rows older than 1/mu weigh less than 1/e.", at_least=0.0, below=1.0
        )
        delta: float = number(1.0, "Initial ridge, P = I/delta.", above=0.0)
        p_max: float = number(10000.0, "Wind-up guard: largest diagonal entry of P.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return least_squares(LeastSquaresNumbers(1.0 - self.parameters.mu, self.parameters.p_max))

    def initialise(self) -> None:
        np.fill_diagonal(self.state["P"], 1.0 / self.parameters.delta)

"""A coin's bias under a Beta prior."""

from __future__ import annotations

import math
from dataclasses import dataclass

from learners.elementary.logarithm import log
from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, number
from learners.state import Fields


class BetaBernoulli(Learner):
    """The share of class 1 under a Beta prior, whatever the features: each posterior is the next row's prior.

    A baseline whose score is a probability: s = ln(a / b), the log-odds of the posterior mean a / (a + b).

    Parameters
    ----------
    a0 : float
        Rows of class 1 that the prior is worth, a0 > 0. Default 1.0.
    b0 : float
        Rows of class 0 that the prior is worth, b0 > 0. Default 1.0.
    decay : float
        What each row leaves of the rows before it, 0 < decay <= 1; a memory of about 1 / (1 - decay) rows, 1 never
        forgets. Default 1.0.

    State
    -----
    a : f8[1]       a0 and the rows of class 1, faded
    b : f8[1]       b0 and the rows of class 0, faded

    Cost
    ----
    O(1) per row; 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Huang, Online Learning, "Bayesian Online Learning", the coin. ALGORITHMS.md 6. Differs: `decay`, towards the prior.
    """

    name = "beta_bernoulli"
    tasks = ("binary",)
    link = "logistic"
    uses_features = False

    @dataclass(frozen=True)
    class Params(Parameters):
        a0: float = number(1.0, above=0.0)
        b0: float = number(1.0, above=0.0)
        decay: float = number(1.0, above=0.0, at_most=1.0)

    def fields(self) -> Fields:
        return {"a": ("f8", (1,)), "b": ("f8", (1,))}

    def initialise(self) -> None:
        self.state["a"][0], self.state["b"][0] = self.parameters.a0, self.parameters.b0

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        beta_bernoulli(y, score, p.a0, p.b0, p.decay, s["a"], s["b"])


@bare_kernel
def beta_bernoulli(y: Array, score: Array, a0: float, b0: float, decay: float, a: Array, b: Array) -> None:
    """Score by the posterior of the rows before, then fade it towards the prior and count the row.

    Shapes: y f8[n], score f8[n, 1], a f8[1], b f8[1]. ALGORITHMS.md 6. Invariant: a >= a0, b >= b0.
    """
    for t in range(y.shape[0]):
        s = log(a[0] / b[0])
        score[t, 0] = s if math.isfinite(s) else 0.0
        if math.isnan(y[t]):
            continue
        if decay < 1.0:
            a[0] = a0 + decay * (a[0] - a0)
            b[0] = b0 + decay * (b[0] - b0)
        a[0] += y[t]
        b[0] += 1.0 - y[t]

"""Multiclass online gradient descent on the log loss of a softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.learner import Array, Learner
from learners.linear.gradient_descent import SCHEDULES
from learners.multiclass.gradient_descent import softmax_descent
from learners.parameters import Parameters, choice, flag, number
from learners.state import Fields


class MCSoftmax(Learner):
    """Multinomial logistic regression: steps along every row, by how far the classes' probabilities are from the label.

    W_r <- W_r - eta_t (p_r - [r = y]) x for all classes r, p = softmax(S). With two classes it is `ogd_logistic` of
    2 eta.

    Parameters
    ----------
    eta : float
        Step size of the first row, eta > 0. Default 1.0.
    schedule : str
        Step at labelled row t: ``const`` eta, ``inv_sqrt`` eta / sqrt(t), ``inv_t`` eta / t. On streams that drift
        ``const`` with eta 0.1. Default ``inv_sqrt``.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[K, d]   one row per class, d with the intercept
    learned : i8[1]     t, labelled rows so far
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(K d) per row; 8 K d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task without classes.

    Source
    ------
    Huang, Online Learning, "Multi-class Online Learning"; Zinkevich, ICML 2003. ALGORITHMS.md 1.9 and 8.
    """

    name = "mc_softmax"
    tasks = ("binary", "multiclass")
    link = "logistic"
    multiclass_link = "softmax"

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(1.0, above=0.0)
        schedule: str = choice("inv_sqrt", SCHEDULES)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.n_classes, self.width)), "learned": ("i8", (1,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        schedule = SCHEDULES.index(p.schedule)
        scratch = np.empty(self.n_classes), np.empty(self.n_classes)
        softmax_descent(rows, y, score, schedule, p.eta, s["weight"], s["learned"], s["skipped"], *scratch)

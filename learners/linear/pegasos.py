"""Pegasos: the support vector machine, one row at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from learners.learner import Array, Learner
from learners.linear.gradient_descent import (
    HINGE,
    INV_T,
    NEVER,
    gradient_descent,
)
from learners.parameters import Parameters, flag, number
from learners.state import Fields


class Pegasos(Learner):
    """Gradient descent on the regularised hinge loss, with steps and a ball that the regularisation fixes.

    With eta_t = 1 / (lam t): w <- (1 - eta_t lam) w; w <- w + eta_t y x if y s < 1; w <- w min(1, 1 / (sqrt(lam) |w|)).
    That is `ogd_hinge` with eta = 1/lam, ``inv_t``, l2 = lam and radius = 1/sqrt(lam).

    Parameters
    ----------
    lam : float
        Regularisation, lam > 0. Smaller = larger steps. Default 0.001.
    project : bool
        Keep the weights in the ball of radius 1/sqrt(lam), which holds the optimum. Default true.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      d with the intercept
    learned : i8[1]     t, labelled rows so far
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Shalev-Shwartz, Singer and Srebro, ICML 2007, figure 1 with one row a step. ALGORITHMS.md 3.
    """

    name = "pegasos"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        lam: float = number(0.001, above=0.0)
        project: bool = flag(True)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "learned": ("i8", (1,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        gradient_descent(
            rows,
            y,
            score,
            True,
            HINGE,
            0.0,
            False,
            INV_T,
            1.0 / p.lam,
            p.lam,
            1.0 / math.sqrt(p.lam) if p.project else math.inf,
            NEVER,
            s["weight"],
            s["learned"],
            s["skipped"],
        )

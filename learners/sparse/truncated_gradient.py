"""Truncated gradient, and simple rounding as its extreme."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.linear.gradient_descent import LOSSES, slope
from learners.linear.number_or_word import AUTO, number_or
from learners.parameters import ParameterError, Parameters, choice, flag, integer, number
from learners.sparse.thresholding import soft_threshold
from learners.state import Fields
from learners.vectors import dot, step_along

SMALL = {"tg": 1.0, "round": 0.05}
"""What ``auto`` takes for theta. Rounding at 1 resets the weights for ever: 65 % on SEA instead of 86 %."""


class TruncatedGradient(Learner):
    """Gradient descent with constant steps that pulls small weights to zero at every K-th row.

    Follows drift as `ogd_logistic` with ``const`` steps does, and drops features that do not pay for themselves.

    - w <- w - eta g x, with g = -y / (1 + exp(y s)), or that of the hinge loss,
    - every K rows, each w_j with |w_j| <= theta moves towards 0 by eta K gravity (``tg``) or becomes 0 (``round``).

    Parameters
    ----------
    eta : float
        Step size, eta > 0. Default 0.1.
    K : int
        Labelled rows from one truncation to the next, K >= 1. Default 10.
    gravity : float
        Pull towards zero per row, in units of the gradient, gravity >= 0. Larger = fewer weights. Default 0.001.
    theta : float
        Largest weight that is pulled, theta >= 0; 0 = no bound, in mode ``tg`` only. In mode ``round`` below what a
        useful weight changes by in K rows. ``auto`` = 1 in mode ``tg``, 0.05 in mode ``round``. Default ``auto``.
    mode : str
        ``tg`` pulls, ``round`` sets to zero at once. Default ``tg``.
    loss : str
        ``logistic`` or ``hinge``. Default ``logistic``.
    intercept : bool
        Append a constant 1 to every row; its weight is not pulled. Default true.

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
        A parameter outside its bounds, theta = 0 in mode ``round``, or a task other than two classes.

    Source
    ------
    Langford, Li and Zhang, JMLR 10, 2009, sections 3.1 and 3.3; Huang, Online Learning, "Truncated gradient", whose
    trigger t/K = 1 means that K divides t. ALGORITHMS.md 5.
    """

    name = "truncated_gradient"
    tasks = ("binary",)
    link: str | None = "logistic"

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(0.1, above=0.0)
        K: int = integer(10, at_least=1)
        gravity: float = number(0.001, at_least=0.0)
        theta: float | str = number_or((AUTO,), AUTO, at_least=0.0)
        mode: str = choice("tg", ("tg", "round"))
        loss: str = choice("logistic", LOSSES[:2])
        intercept: bool = flag(True)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.mode == "round" and self.theta == 0.0:
                raise ParameterError(f"theta must be > 0 in mode round, got {self.theta}")

    @property
    def nonzero_weights(self) -> int:
        """How many features have a weight; the intercept is not counted."""
        return int(np.count_nonzero(self.state["weight"][: self.n_features]))

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "learned": ("i8", (1,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        if self.parameters.loss != "logistic":
            self.link = None

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        theta = SMALL[p.mode] if p.theta == AUTO else p.theta or math.inf
        pull = p.eta * p.K * p.gravity if p.mode == "tg" else math.inf
        truncated_gradient(
            rows,
            y,
            score,
            LOSSES.index(p.loss),
            p.eta,
            p.K,
            pull,
            theta,
            self.n_features,
            s["weight"],
            s["learned"],
            s["skipped"],
        )


@bare_kernel
def truncated_gradient(
    rows: Array,
    y: Array,
    score: Array,
    loss: int,
    eta: float,
    K: int,
    pull: float,
    theta: float,
    penalised: int,
    weight: Array,
    learned: NDArray[np.int64],
    skipped: NDArray[np.int64],
) -> None:
    """Predict, step against the gradient, and at every K-th labelled row truncate: T1(w_j, pull, theta).

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], learned i8[1], skipped i8[1]. ALGORITHMS.md 5.
    `pull` = inf rounds; `theta` may be inf. Weights from `penalised` on are left alone. A row that would overflow
    counts for t.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        learned[0] += 1
        g = slope(loss, s, 2.0 * y[t] - 1.0, 0.0)
        if not finite or (g != 0.0 and not step_along(weight, x, -eta * g)):
            skipped[0] += 1
        if learned[0] % K == 0:
            for j in range(penalised):
                if abs(weight[j]) <= theta:
                    weight[j] = soft_threshold(weight[j], pull)

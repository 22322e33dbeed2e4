"""Forward-backward splitting with an L1 penalty (FOBOS)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.linear.gradient_descent import INV_SQRT, INV_T, LOSSES, SCHEDULES, slope
from learners.parameters import Parameters, choice, flag, number
from learners.sparse.thresholding import step_and_threshold
from learners.state import Fields
from learners.vectors import dot


class FOBOSL1(Learner):
    """Forward-backward splitting: a gradient step on the loss, then the exact minimum of the L1 penalty near it.

    Unlike a subgradient step of the penalty it makes weights exactly zero, at every row.

    - u = w - eta_t g x, with g = -y / (1 + exp(y s)), or that of the hinge loss,
    - w = argmin |w - u|^2 / 2 + eta'_t lam |w|_1, that is w_j = sign(u_j) [|u_j| - eta'_t lam]+.

    Parameters
    ----------
    eta : float
        Step size of the first row, eta > 0. Default 1.0.
    schedule : str
        Step at labelled row t: ``const`` eta, ``inv_sqrt`` eta / sqrt(t), ``inv_t`` eta / t. On streams that drift
        ``const`` with eta 0.01 to 0.1. Default ``inv_sqrt``.
    lam : float
        Weight of the penalty, lam >= 0. Larger = fewer weights. Default 0.001.
    eta_half_factor : float
        eta'_t / eta_t, >= 0: the penalty's step in units of the loss's. Default 1.0.
    loss : str
        ``logistic`` or ``hinge``. Default ``logistic``.
    intercept : bool
        Append a constant 1 to every row; its weight is not penalised. Default true.

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
    Duchi and Singer, JMLR 10, 2009, section 5.1; Huang, Online Learning, Algorithm 4. ALGORITHMS.md 5.
    """

    name = "fobos_l1"
    tasks = ("binary",)
    link: str | None = "logistic"

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(1.0, above=0.0)
        schedule: str = choice("inv_sqrt", SCHEDULES)
        lam: float = number(0.001, at_least=0.0)
        eta_half_factor: float = number(1.0, at_least=0.0)
        loss: str = choice("logistic", LOSSES[:2])
        intercept: bool = flag(True)

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
        fobos_l1(
            rows,
            y,
            score,
            LOSSES.index(p.loss),
            SCHEDULES.index(p.schedule),
            p.eta,
            p.eta_half_factor * p.lam,
            self.n_features,
            s["weight"],
            s["learned"],
            s["skipped"],
        )


@bare_kernel
def fobos_l1(
    rows: Array,
    y: Array,
    score: Array,
    loss: int,
    schedule: int,
    eta: float,
    lam: float,
    penalised: int,
    weight: Array,
    learned: NDArray[np.int64],
    skipped: NDArray[np.int64],
) -> None:
    """Predict, step against the gradient, threshold by eta_t lam; weights from `penalised` on are not thresholded.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], learned i8[1], skipped i8[1]. ALGORITHMS.md 5.
    A row that would overflow counts for t and leaves the weights.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        learned[0] += 1
        step = eta
        if schedule == INV_SQRT:
            step = eta / math.sqrt(learned[0])
        elif schedule == INV_T:
            step = eta / learned[0]
        g = slope(loss, s, 2.0 * y[t] - 1.0, 0.0)
        if not (finite and step_and_threshold(weight, x, -step * g, step * lam, penalised)):
            skipped[0] += 1

"""ALMA as Gentile published it: step and margin shrink with every correction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.linear.number_or_word import AUTO, positive_or
from learners.linear.p_norm import exponent, exponent_for, norm_of, room_for_weights, weights_of
from learners.parameters import Parameters, flag, number
from learners.state import Fields
from learners.vectors import multiply, step_along


class ALMAGentile(Learner):
    """Approximates the largest margin without being told how large it is: no step size to tune.

    With x^ = x / |x|_p and k the number of the correction: where y w'x^ <= (1 - a) B sqrt((p - 1) / k),
    theta <- theta + C / sqrt((p - 1) k) y x^, then theta <- theta / max(1, |theta|_p). s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2). Steps shrink for ever: for concepts that move, `alma`.

    Parameters
    ----------
    a : float
        Accuracy, 0 < a <= 1: the margin reached is at least 1 - a of the largest; 1 = learn from mistakes only.
        Default 0.9.
    B : float
        Size of the margin asked for, B > 0; ``auto`` = sqrt(8) / a, which with C = sqrt(2) has the proven bound.
        Default ``auto``.
    C : float
        Size of the steps, C > 0. Default 1.4142135623730951.
    p : float
        Norm of the dual vector, p >= 2; large for sparse concepts; ``auto`` = max(2, 2 ln d). Default 2.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    theta : f8[d]       dual weights, d with the intercept, |theta|_p <= 1
    k : i8[1]           number of the next correction, starts at 1
    skipped : i8[1]     labelled rows whose score or step was not finite, zero rows among them

    Cost
    ----
    O(d) per row, with d powers each, and 2 d more for those that are learned, unless p = 2; 8 d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Gentile, JMLR 2, 2001, ALMA_p(a; B, C); named in Kivinen, Smola and Williamson 2002, section 3. ALGORITHMS.md 3.
    Differs: the dual vector is kept, not the weights.
    """

    name = "alma_gentile"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        a: float = number(0.9, above=0.0, at_most=1.0)
        B: float | str = positive_or(AUTO)
        C: float = number(math.sqrt(2.0), above=0.0)
        p: float | str = exponent()
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"theta": ("f8", (self.width,)), "k": ("i8", (1,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        self.state["k"][0] = 1

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        a, s = self.parameters, self.state
        p = exponent_for(a.p, self.width)
        B = math.sqrt(8.0) / a.a if a.B == AUTO else a.B
        approximate_large_margin(
            rows, y, score, p, 1.0 - a.a, B, a.C, s["theta"], s["k"], s["skipped"], room_for_weights(p, s["theta"])
        )


@bare_kernel
def approximate_large_margin(
    rows: Array,
    y: Array,
    score: Array,
    p: float,
    slack: float,
    B: float,
    C: float,
    theta: Array,
    k: NDArray[np.int64],
    skipped: NDArray[np.int64],
    weight: Array,
) -> None:
    """Predict, then add the row at length 1 if its margin is too small by the k-th standard, and cut theta to length 1.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], theta f8[d], k i8[1], skipped i8[1], weight f8[d] scratch: the image
    of theta, theta itself for p = 2. ALGORITHMS.md 3; `slack` is 1 - a. Between rows `weight` is that of theta.
    """
    if p != 2.0:
        weights_of(theta, p, weight)
    for t in range(rows.shape[0]):
        x = rows[t]
        s, squared = 0.0, 0.0  # both in one pass
        for j in range(x.shape[0]):
            s += weight[j] * x[j]
            squared += x[j] * x[j]
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        if math.isnan(label):
            continue
        size = math.sqrt(squared) if p == 2.0 and 1e-280 < squared < math.inf else norm_of(x, p)
        root = math.sqrt((p - 1.0) * k[0])
        margin = B * (p - 1.0) / root  # gamma_k
        if not (finite and 0.0 < size < math.inf):
            skipped[0] += 1
            continue
        if label * s > slack * margin * size:
            continue
        if not step_along(theta, x, label * C / (root * size)):
            skipped[0] += 1
            continue
        norm = norm_of(theta, p)
        if norm > 1.0:
            multiply(theta, 1.0 / norm)
        if p != 2.0:
            weights_of(theta, p, weight)
        k[0] += 1

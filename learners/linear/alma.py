"""ALMA: large margins within a ball."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.linear.p_norm import exponent, exponent_for, norm_of, room_for_weights, weights_of
from learners.parameters import Parameters, flag, number
from learners.state import Fields
from learners.vectors import dot, multiply, step_along


class ALMA(Learner):
    """Learns rows of small margin and keeps the weights in a ball, so that the past cannot outweigh the present.

    theta' = theta + alpha y x if y s <= rho; theta <- theta' / max(1, |theta'|_p / B); s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2).

    Parameters
    ----------
    alpha : float
        Step size, alpha > 0. Default 0.1.
    B : float
        Longest dual vector, B > 0; longer ones are scaled back. Default 10.0.
    rho : float
        Margin up to which a row is learned, rho >= 0, in units of the score. Default 1.0.
    p : float
        Norm of the dual vector, p >= 2; large for sparse concepts; ``auto`` = max(2, 2 ln d). Default 2.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    theta : f8[d]       dual weights, d with the intercept
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row, with 2 d powers for each that is learned unless p = 2; 8 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3: ALMA simplified to fixed alpha and rho. ALGORITHMS.md 3.
    """

    name = "alma"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        alpha: float = number(0.1, above=0.0)
        B: float = number(10.0, above=0.0)
        rho: float = number(1.0, at_least=0.0)
        p: float | str = exponent()
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"theta": ("f8", (self.width,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        a, s = self.parameters, self.state
        p = exponent_for(a.p, self.width)
        alma(
            rows,
            y,
            score,
            p,
            a.alpha,
            a.rho,
            True,
            a.B,
            s["theta"],
            s["skipped"],
            room_for_weights(p, s["theta"]),
        )


@bare_kernel
def alma(
    rows: Array,
    y: Array,
    score: Array,
    p: float,
    alpha: float,
    rho: float,
    zero_is_mistake: bool,
    radius: float,
    theta: Array,
    skipped: NDArray[np.int64],
    weight: Array,
) -> None:
    """Predict, add alpha y x if the margin is at most rho, bring theta back into the ball |theta|_p <= radius.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], theta f8[d], skipped i8[1], weight f8[d] scratch: the image of
    theta, theta itself for p = 2. KSW section 3; the radius may be inf.
    """
    if p != 2.0:
        weights_of(theta, p, weight)
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        if math.isnan(label):
            continue
        wrong = label * s <= rho and (zero_is_mistake or s != 0.0 or label < 0.0)
        if not wrong and finite:
            continue
        if not (finite and step_along(theta, x, label * alpha)):
            skipped[0] += 1
            continue
        if radius < math.inf:
            norm = norm_of(theta, p)
            if norm > radius:
                multiply(theta, radius / norm)
        if p != 2.0:
            weights_of(theta, p, weight)

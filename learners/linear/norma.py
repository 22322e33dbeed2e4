"""NORMA: large margins for a target that moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.linear.p_norm import exponent, exponent_for, room_for_weights, weights_of
from learners.parameters import ParameterError, Parameters, flag, number
from learners.state import Fields
from learners.vectors import dot, multiply, step_along

SMALLEST_SCALE = 1e-100
"""The common factor of theta is multiplied in below this; far from where it, or 1 / factor, would leave float64."""


class NORMA(Learner):
    """Learns rows of small margin and forgets the old ones at a steady rate.

    theta <- (1 - alpha lam) theta + alpha sigma y x with sigma = 1 if y s <= rho, else 0; s = w'x with
    w_i = sign(theta_i) |theta_i|^(p-1) / |theta|_p^(p-2). The intercept decays too.

    Parameters
    ----------
    alpha : float
        Step size, alpha > 0. Default 0.1.
    lam : float
        Decay, 0 <= lam < 1/alpha: theta loses its share alpha lam at every labelled row. Default 0.01.
    rho : float
        Margin up to which a row is learned, rho >= 0, in units of the score. Default 1.0.
    p : float
        Norm of the dual vector, p >= 2; large for sparse concepts; ``auto`` = max(2, 2 ln d). Default 2.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    theta : f8[d]       dual weights divided by scale, d with the intercept
    scale : f8[1]       factor of theta, starts at 1
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row, with 2 d powers for each that is learned unless p = 2; 8 d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, lam >= 1/alpha, or a task other than two classes.

    Source
    ------
    Kivinen, Smola and Williamson 2002 (KSW), section 3, equation 2. ALGORITHMS.md 3.
    """

    name = "norma"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        alpha: float = number(0.1, above=0.0)
        lam: float = number(0.01, at_least=0.0)
        rho: float = number(1.0, at_least=0.0)
        p: float | str = exponent()
        intercept: bool = flag(True)

        def __post_init__(self) -> None:
            super().__post_init__()
            if not self.alpha * self.lam < 1.0:
                raise ParameterError(f"lam must be < 1/alpha = {1.0 / self.alpha:g}, got {self.lam}")

    def fields(self) -> Fields:
        return {"theta": ("f8", (self.width,)), "scale": ("f8", (1,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        self.state["scale"][0] = 1.0

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        a, s = self.parameters, self.state
        p = exponent_for(a.p, self.width)
        norma(
            rows,
            y,
            score,
            p,
            a.alpha,
            a.rho,
            1.0 - a.alpha * a.lam,
            s["theta"],
            s["scale"],
            s["skipped"],
            room_for_weights(p, s["theta"]),
        )


@bare_kernel
def norma(
    rows: Array,
    y: Array,
    score: Array,
    p: float,
    alpha: float,
    rho: float,
    keep: float,
    theta: Array,
    scale: Array,
    skipped: NDArray[np.int64],
    weight: Array,
) -> None:
    """Predict, shrink theta by `keep` = 1 - alpha lam, add alpha y x if the margin is at most rho.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], theta f8[d], scale f8[1], skipped i8[1], weight f8[d] scratch: the
    image of theta, theta itself for p = 2. The dual vector is scale * theta, so that shrinking costs O(1). Invariant:
    between rows `weight` is that of theta. KSW equation 2.
    """
    if p != 2.0:
        weights_of(theta, p, weight)
    factor = scale[0]
    step = alpha / (factor * keep)
    for t in range(rows.shape[0]):
        x = rows[t]
        s = factor * dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        if math.isnan(label):
            continue
        if label * s <= rho or not finite:
            if not (finite and step_along(theta, x, label * step)):
                skipped[0] += 1
                continue
            if p != 2.0:
                weights_of(theta, p, weight)
        if keep < 1.0:
            factor *= keep
            if factor < SMALLEST_SCALE:
                multiply(theta, factor)
                factor = 1.0
                if p != 2.0:
                    weights_of(theta, p, weight)
            step = alpha / (factor * keep)
    scale[0] = factor

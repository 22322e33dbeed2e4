"""Online optimal margin distribution machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.margin_distribution.loss import longest_safe_step, odm_step
from learners.parameters import Parameters, choice, flag, number
from learners.state import Fields
from learners.vectors import dot


class OnlineODM(Learner):
    """Descends on f(w) = |w|^2 / 2 + lam l(w; x), which wants every margin close to 1, too large ones as well.

    Its regret against the best fixed weights grows as log T under ``inv_t``, which freezes on streams that drift:
    take ``const`` there, or `d_odm`.

    Parameters
    ----------
    eta : float
        Step of the first row, 0 < eta <= 1. Default 1.0.
    schedule : str
        Step at labelled row t: ``inv_t`` eta / t, or ``const`` eta, 0.001 to 0.1. Default ``inv_t``.
    safe_step : bool
        Shorten steps to 1 / H, H = 1 + 2 lam x'x / (1 - theta)^2; longer ones may diverge. Default true.
    lam : float
        Weight of the loss beside |w|^2 / 2, lam > 0. Default 3.0.
    mu : float
        Price of a margin that is too large, 0 < mu <= 1; one that is too small costs 1. Default 0.5.
    theta : float
        Distance from 1 at which margins cost nothing, 0 <= theta < 1. Default 0.3.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      d with the intercept
    age : i8[1]         t, labelled rows so far
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
    Zhang, Zhao and Jin, AAAI 2020, "Candidate Learner"; Hazan, Agarwal and Kale, Machine Learning 69, 2007, for
    eta / t. ALGORITHMS.md 10. Differs: the safe step.
    """

    name = "online_odm"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(1.0, above=0.0, at_most=1.0)
        schedule: str = choice("inv_t", ("const", "inv_t"))
        safe_step: bool = flag(True)
        lam: float = number(3.0, above=0.0)
        mu: float = number(0.5, above=0.0, at_most=1.0)
        theta: float = number(0.3, at_least=0.0, below=1.0)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"weight": ("f8", (self.width,)), "age": ("i8", (1,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        inv_t = p.schedule == "inv_t"
        state = s["weight"], s["age"], s["skipped"]
        online_odm(rows, y, score, p.lam, p.mu, p.theta, p.eta, inv_t, p.safe_step, *state)


@bare_kernel
def online_odm(
    rows: Array,
    y: Array,
    score: Array,
    lam: float,
    mu: float,
    theta: float,
    eta: float,
    inv_t: bool,
    safe: bool,
    weight: Array,
    age: NDArray[np.int64],
    skipped: NDArray[np.int64],
) -> None:
    """Predict, then step against the gradient of the row's f.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], age i8[1], skipped i8[1]. ALGORITHMS.md 10. A row
    that would overflow counts for t and leaves the weights.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        age[0] += 1
        step = eta / age[0] if inv_t else eta
        if safe:
            step = min(step, longest_safe_step(dot(x, x), lam, theta))
        if not (finite and odm_step(weight, x, 2.0 * y[t] - 1.0, s, step, safe, lam, mu, theta)):
            skipped[0] += 1

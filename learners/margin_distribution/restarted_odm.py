"""Online optimal margin distribution machine that begins anew at fixed intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.margin_distribution.loss import longest_safe_step, odm_step
from learners.parameters import Parameters, choice, flag, integer, number
from learners.random import Words, normal, seed
from learners.state import Fields
from learners.vectors import dot


class RestartedODM(Learner):
    """Online ODM that forgets everything after each epoch of labelled rows; a candidate of `d_odm` on its own.

    For T rows whose losses vary by V in all sqrt(T / V) is the best epoch; take `d_odm` where V is not known.

    Parameters
    ----------
    eta : float
        Step of an epoch's first row, 0 < eta <= 1. Default 1.0.
    schedule : str
        Step at row t of an epoch: ``inv_t`` eta / t, or ``const`` eta, 0.001 to 0.1. Default ``inv_t``.
    safe_step : bool
        Shorten steps to 1 / H, H = 1 + 2 lam x'x / (1 - theta)^2; longer ones may diverge. Default true.
    lam : float
        Weight of the loss beside |w|^2 / 2, lam > 0. Default 3.0.
    mu : float
        Price of a margin that is too large, 0 < mu <= 1; one that is too small costs 1. Default 0.5.
    theta : float
        Distance from 1 at which margins cost nothing, 0 <= theta < 1. Default 0.3.
    epoch : int
        Labelled rows between restarts, epoch >= 1. Default 1000.
    init : str
        Weights of an epoch's start: ``zero``, or ``random`` as in the paper. Default ``zero``.
    init_scale : float
        Expected length of random weights, init_scale >= 0. Default 0.01.
    seed : int
        Of the random weights, 0 <= seed <= 2^53. Default 1.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[d]      d with the intercept
    age : i8[1]         t, labelled rows of the present epoch
    skipped : i8[1]     labelled rows whose score or step was not finite
    rng : u8[4]         the generator

    Cost
    ----
    O(d) per row; 8 d + 48 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Zhang, Zhao and Jin, AAAI 2020, Algorithm 1. ALGORITHMS.md 10. Differs: the safe step, weights of zero by default,
    and the restart comes after a row, not before the next one, so that predicting changes no state.
    """

    name = "restarted_odm"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(1.0, above=0.0, at_most=1.0)
        schedule: str = choice("inv_t", ("const", "inv_t"))
        safe_step: bool = flag(True)
        lam: float = number(3.0, above=0.0)
        mu: float = number(0.5, above=0.0, at_most=1.0)
        theta: float = number(0.3, at_least=0.0, below=1.0)
        epoch: int = integer(1000, at_least=1)
        init: str = choice("zero", ("zero", "random"))
        init_scale: float = number(0.01, at_least=0.0)
        seed: int = integer(1, at_least=0, at_most=2**53)
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {
            "weight": ("f8", (self.width,)),
            "age": ("i8", (1,)),
            "skipped": ("i8", (1,)),
            "rng": ("u8", (4,)),
        }

    @property
    def _spread(self) -> float:
        """Standard deviation of a fresh weight."""
        p = self.parameters
        return p.init_scale / math.sqrt(self.width) if p.init == "random" else 0.0

    def initialise(self) -> None:
        seed(self.state["rng"], np.uint64(self.parameters.seed))
        begin_epoch(self.state["weight"], self._spread, self.state["rng"])

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        inv_t = p.schedule == "inv_t"
        state = s["weight"], s["age"], s["skipped"], s["rng"]
        restarted_odm(rows, y, score, p.lam, p.mu, p.theta, p.eta, inv_t, p.safe_step, p.epoch, self._spread, *state)


@bare_kernel
def begin_epoch(weight: Array, spread: float, rng: Words) -> None:
    """Algorithm 1, line 4: fresh weights, normal or, with no spread, zero. Shapes: weight f8[d], rng u8[4]."""
    for j in range(weight.shape[0]):
        weight[j] = spread * normal(rng) if spread > 0.0 else 0.0


@bare_kernel
def restarted_odm(
    rows: Array,
    y: Array,
    score: Array,
    lam: float,
    mu: float,
    theta: float,
    eta: float,
    inv_t: bool,
    safe: bool,
    epoch: int,
    spread: float,
    weight: Array,
    age: NDArray[np.int64],
    skipped: NDArray[np.int64],
    rng: Words,
) -> None:
    """As `online_odm`, and after the last row of an epoch begin the next.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], age i8[1], skipped i8[1], rng u8[4].
    ALGORITHMS.md 10. Invariant: age < epoch between rows.
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
        if age[0] == epoch:
            begin_epoch(weight, spread, rng)
            age[0] = 0

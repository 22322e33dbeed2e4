"""Dynamic optimal margin distribution machine (D-ODM)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.elementary.logarithm import log, log1p, log2
from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.margin_distribution.expert_weights import (
    ADAHEDGE,
    DOUBLING,
    FIRST_BLOCK,
    FIRST_GAP,
    HORIZON,
    RATES,
    add_losses,
    block_length,
    clip_to_median,
    exponential_weights,
    largest_of,
    learning_rate,
    mixability_gap,
)
from learners.margin_distribution.loss import longest_safe_step, odm_loss, odm_step
from learners.parameters import ParameterError, Parameters, choice, flag, integer, number
from learners.state import Fields
from learners.vectors import dot

MOST_CANDIDATES = 48
"""Of the endless form: the last of them begins at row 2^46, 22 years of 100 000 rows a second."""

NEVER = 0
"""As the length of an epoch: rows of an epoch are counted from 1, so none has this number."""

LONGEST_EPOCH = 2.0**62
MOST_LOSS = 1e280
"""Larger losses count as this: a sum of 1e27 of them is finite."""


def epochs_of(horizon: int, C: float, V_T: float) -> list[int]:
    """The paper's set P: geometric epochs up to sqrt(T / V_T), or up to T if V_T is not known (0).

    Sizes are rounded up to whole rows, N = ceil(log2(2 C T / V_T) / 2) + 1 of them before equal ones are dropped.
    """
    longest = log2(2.0 * C) / 2.0 + ((log2(float(horizon)) - log2(V_T)) / 2.0 if V_T > 0.0 else log2(float(horizon)))
    size, sizes = math.sqrt(1.0 / (2.0 * C)), []
    for _ in range(max(1, math.ceil(longest) + 1)):
        sizes.append(max(1, math.ceil(min(size, LONGEST_EPOCH))))
        size *= 2.0
    return list(dict.fromkeys(sizes))


class DODM(Learner):
    """Online ODMs that restart after 1, 2, 4, 8 .. rows and one that never does, weighted by their losses so far.

    However fast the concept drifts, some candidate remembers about as much as still holds: for losses that vary by V
    in T rows the regret grows as sqrt(T V), with V unknown. Choose it where nothing is known of the drift.

    Parameters
    ----------
    lam : float
        Weight of the loss beside |w|^2 / 2, lam > 0. Default 3.0.
    mu : float
        Price of a margin that is too large, 0 < mu <= 1; one that is too small costs 1. Default 0.5.
    theta : float
        Distance from 1 at which margins cost nothing, 0 <= theta < 1. Default 0.3.
    rate : str
        Learning rate of the weights: ``anytime`` sqrt(8 ln N / t) / C with C the largest loss so far; ``doubling``,
        constant in blocks of 64, 128 .. rows that forget the losses before; ``adahedge``, by how well the weights
        do, without C. Default ``anytime``.
    meta_loss : str
        What the weights go by: ``f`` as in the paper, or mistakes, ``zero_one``. Default ``f``.
    f_clip : float
        Losses count up to f_clip times the row's median loss, f_clip >= 0; 0 = no bound. 100 keeps one outlier from
        making C huge; ``zero_one`` mistakes are bounded already, and f_clip has no effect on them. Default 0.0.
    horizon : int
        T, labelled rows of the whole stream, horizon >= 0: the paper's own grid of epochs and its rate; 0 = not known,
        the stream may be endless. Default 0.
    C : float
        With a horizon: bound of the losses, larger ones count as C, C >= lam. Default 100.0.
    V_T : float
        With a horizon: how much the losses vary in all, V_T >= 0; 0 = not known. Default 0.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    weight : f8[N, d]       a candidate's weights per row, d with the intercept; `candidates` of them in use
    epoch : i8[N]           rows between a candidate's restarts, Delta_i; 0 = never
    age : i8[N]             labelled rows since its last restart
    log_prior : f8[N]       ln of its weight before any loss
    loss : f8[N]            its cumulated loss, beyond that of the best
    beta : f8[N]            its weight now, 0 if not in use
    scale : f8[1]           C, or the largest loss so far
    gap : f8[1]             AdaHedge's cumulated mixability gap
    candidates : i8[1]      N so far
    learned : i8[1]         t, labelled rows so far
    skipped : i8[1]         labelled rows whose square overflowed

    Cost
    ----
    O(N d) per row with N <= log2(t) + 2; 48 (8 d + 40) + 40 bytes, or the grid's N in place of 48.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, C < lam or another rate than the paper's with a horizon, or a task other than
        two classes.

    Source
    ------
    Zhang, Zhao and Jin, AAAI 2020, Algorithms 1 and 2; the anytime rate is Cesa-Bianchi and Lugosi's, 2006, section
    2.3, AdaHedge de Rooij, van Erven, Grunwald and Koolen's, JMLR 2014. ALGORITHMS.md 10. Differs: without a horizon
    N grows by forking; losses are divided by C, as the paper's Lemma 2 needs; candidates start from zero weights.
    """

    name = "d_odm"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        lam: float = number(3.0, above=0.0)
        mu: float = number(0.5, above=0.0, at_most=1.0)
        theta: float = number(0.3, at_least=0.0, below=1.0)
        rate: str = choice("anytime", RATES)
        meta_loss: str = choice("f", ("f", "zero_one"))
        f_clip: float = number(0.0, at_least=0.0)
        horizon: int = integer(0, at_least=0)
        C: float = number(100.0, above=0.0)
        V_T: float = number(0.0, at_least=0.0)
        intercept: bool = flag(True)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.horizon > 0 and self.lam > self.C:
                raise ParameterError(f"C must be >= lam = {self.lam:g}, the loss of zero weights, got {self.C}")
            if self.horizon > 0 and self.rate != "anytime":
                raise ParameterError(f"rate must be anytime with a horizon, which sets its own, got {self.rate!r}")

    @property
    def _grid(self) -> list[int]:
        """Epochs of the candidates at the start; the endless form begins with one that never restarts."""
        p = self.parameters
        return epochs_of(p.horizon, p.C, p.V_T) if p.horizon > 0 else [NEVER]

    @property
    def _first_scale(self) -> float:
        """C of the start: that of mistakes is 1, that of an endless stream is still to be seen."""
        p = self.parameters
        if p.meta_loss == "zero_one":
            return 1.0
        return float(p.C) if p.horizon > 0 else 0.0

    def fields(self) -> Fields:
        n = len(self._grid) if self.parameters.horizon > 0 else MOST_CANDIDATES
        return {
            "weight": ("f8", (n, self.width)),
            "epoch": ("i8", (n,)),
            "age": ("i8", (n,)),
            "log_prior": ("f8", (n,)),
            "loss": ("f8", (n,)),
            "beta": ("f8", (n,)),
            "scale": ("f8", (1,)),
            "gap": ("f8", (1,)),
            "candidates": ("i8", (1,)),
            "learned": ("i8", (1,)),
            "skipped": ("i8", (1,)),
        }

    def initialise(self) -> None:
        s, grid = self.state, self._grid
        n = len(grid)
        s["candidates"][0] = n
        s["epoch"][:n] = grid
        s["log_prior"][:n] = -log1p(n - 1.0)
        s["beta"][:n] = 1.0 / n  # Algorithm 2, line 1
        s["scale"][0] = self._first_scale
        s["gap"][0] = FIRST_GAP

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        d_odm(
            rows,
            y,
            score,
            p.lam,
            p.mu,
            p.theta,
            HORIZON if p.horizon > 0 else RATES.index(p.rate),
            p.horizon,
            p.meta_loss == "zero_one",
            p.f_clip,
            p.C if p.horizon > 0 else MOST_LOSS,
            self._first_scale,
            s["weight"],
            s["epoch"],
            s["age"],
            s["log_prior"],
            s["loss"],
            s["beta"],
            s["scale"],
            s["gap"],
            s["candidates"],
            s["learned"],
            s["skipped"],
            np.empty((3, len(s["beta"]))),
        )


@fragment
def loss_of(margin: float, squared: float, lam: float, mu: float, theta: float, zero_one: bool, most: float) -> float:
    """What a candidate with |w|^2 = squared is weighed by: its f, cut off at `most`, or whether it erred."""
    if zero_one:
        return 1.0 if margin < 0.0 else 0.5 if margin == 0.0 else 0.0
    f = 0.5 * squared + lam * odm_loss(margin, mu, theta)
    return f if f < most else most


@fragment
def fork(
    top: int,
    t: int,
    weight: Array,
    epoch: NDArray[np.int64],
    age: NDArray[np.int64],
    log_prior: Array,
    loss: Array,
    beta: Array,
) -> None:
    """The candidate that never restarted leaves a copy that never will, and has epochs of t rows from now on.

    Shapes: weight f8[N, d], epoch i8[N], age i8[N], log_prior f8[N], loss f8[N], beta f8[N]. Until its first restart a
    candidate is what the top is: so this is the grid 1, 2, 4 .. from the start, the k-th with prior 1 / (k (k + 1)).
    """
    k = top + 1
    for j in range(weight.shape[1]):
        weight[k, j] = weight[top, j]
    age[k], loss[k] = age[top], loss[top]
    epoch[top], epoch[k] = t, NEVER
    log_prior[k] = log_prior[top] + log(k / (k + 1.0))
    log_prior[top] -= log(k + 1.0)
    beta[k] = beta[top] * (k / (k + 1.0))
    beta[top] /= k + 1.0


@bare_kernel
def d_odm(
    rows: Array,
    y: Array,
    score: Array,
    lam: float,
    mu: float,
    theta: float,
    rate: int,
    horizon: int,
    zero_one: bool,
    f_clip: float,
    most: float,
    first_scale: float,
    weight: Array,
    epoch: NDArray[np.int64],
    age: NDArray[np.int64],
    log_prior: Array,
    loss: Array,
    beta: Array,
    scale: Array,
    gap: Array,
    candidates: NDArray[np.int64],
    learned: NDArray[np.int64],
    skipped: NDArray[np.int64],
    scratch: Array,
) -> None:
    """Predict with the weighted candidates, let each of them learn, weigh them anew, fork and restart those due.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[N, d], epoch i8[N], age i8[N], log_prior f8[N],
    loss f8[N], beta f8[N], scale f8[1], gap f8[1], candidates i8[1], learned i8[1], skipped i8[1], scratch f8[3, N].
    Invariant between rows: age < epoch or epoch = NEVER; the first `candidates` of beta sum to 1. A row that would
    overflow counts for t and changes neither candidates nor losses.
    """
    s, f, ordered = scratch[0], scratch[1], scratch[2]
    for row in range(rows.shape[0]):
        x, n, t = rows[row], candidates[0], learned[0]
        combined = 0.0
        for i in range(n):
            s[i] = dot(weight[i], x)  # Algorithm 2, line 3
            combined += beta[i] * s[i]  # line 4
        score[row, 0] = combined if math.isfinite(combined) else 0.0
        if math.isnan(y[row]):
            continue
        label = 2.0 * y[row] - 1.0
        safe = longest_safe_step(dot(x, x), lam, theta)
        if safe > 0.0:
            for i in range(n):
                f[i] = loss_of(label * s[i], dot(weight[i], weight[i]), lam, mu, theta, zero_one, most)
                odm_step(weight[i], x, label, s[i], min(1.0 / (age[i] + 1), safe), True, lam, mu, theta)
            if f_clip > 0.0 and not zero_one:
                clip_to_median(f, f_clip, ordered, n)
            if rate == ADAHEDGE:
                # A fork after the row before split its candidate's beta; the rate they were made with is of one less.
                weighed = n - 1 if n > 1 and epoch[n - 2] == t else n
                gap[0] += mixability_gap(beta, f, learning_rate(rate, weighed, t, horizon, scale[0], gap[0]), n)
            scale[0] = max(scale[0], largest_of(f, n))
            add_losses(f, loss, n)
        else:
            skipped[0] += 1
        t += 1
        learned[0] = t
        if rate == DOUBLING and t == block_length(t) - FIRST_BLOCK:
            loss[:] = 0.0
            scale[0] = first_scale
        for i in range(n):
            age[i] += 1
        exponential_weights(log_prior, loss, learning_rate(rate, n, t, horizon, scale[0], gap[0]), beta, n)  # line 5
        if epoch[n - 1] == NEVER and t == 1 << (n - 1) and n < beta.shape[0]:
            fork(n - 1, t, weight, epoch, age, log_prior, loss, beta)
            n += 1
            candidates[0] = n
        for i in range(n):
            if age[i] == epoch[i]:  # Algorithm 1, lines 2 to 4
                weight[i, :] = 0.0
                age[i] = 0

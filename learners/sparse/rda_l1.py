"""Regularised dual averaging with an L1 penalty (RDA)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.linear.gradient_descent import LOSSES, slope
from learners.parameters import Parameters, choice, flag, number
from learners.sparse.thresholding import soft_threshold
from learners.state import Fields
from learners.vectors import dot


class RDAL1(Learner):
    """Regularised dual averaging: weights that are best for the average of all gradients so far, not for the last.

    Sparser than thresholded steps, because the average of a useless feature's gradients comes down to zero and the
    threshold does not fade with the steps. Slow to follow drift unless `decay` is given.

    With G the average of g x, where g = -y / (1 + exp(y s)) or that of the hinge loss,

    - w = argmin G'w + lam |w|_1 + gamma / (2 sqrt(t)) |w|^2, that is
    - w_j = -(sqrt(t) / gamma) sign(G_j) [|G_j| - lam]+.

    Parameters
    ----------
    gamma : float
        Weight of the squared length, gamma > 0. Larger = slower. Default 1.0.
    lam : float
        Weight of the penalty, lam >= 0. Larger = fewer weights. Default 0.001.
    decay : float
        Least weight of the newest gradient in the average, 0 <= decay <= 1; a memory of about 1 / decay rows. 1e-3 on
        streams that drift; 0, the published algorithm, remembers all rows alike. Default 0.0.
    loss : str
        ``logistic`` or ``hinge``. Default ``logistic``.
    intercept : bool
        Append a constant 1 to every row; its weight is not penalised. Default true.

    State
    -----
    average : f8[d]     G, the average gradient, d with the intercept
    weight : f8[d]      follows from G and t, kept for scoring
    learned : i8[1]     t, labelled rows so far
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row; 16 d + 16 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Xiao, JMLR 11, 2010, Algorithm 1 with the L1 norm and beta_t = gamma sqrt(t); Huang, Online Learning, Algorithm 5.
    ALGORITHMS.md 5. Differs: `decay`.
    """

    name = "rda_l1"
    tasks = ("binary",)
    link: str | None = "logistic"

    @dataclass(frozen=True)
    class Params(Parameters):
        gamma: float = number(1.0, above=0.0)
        lam: float = number(0.001, at_least=0.0)
        decay: float = number(0.0, at_least=0.0, at_most=1.0)
        loss: str = choice("logistic", LOSSES[:2])
        intercept: bool = flag(True)

    @property
    def nonzero_weights(self) -> int:
        """How many features have a weight; the intercept is not counted."""
        return int(np.count_nonzero(self.state["weight"][: self.n_features]))

    def fields(self) -> Fields:
        vector = ("f8", (self.width,))
        return {"average": vector, "weight": vector, "learned": ("i8", (1,)), "skipped": ("i8", (1,))}

    def initialise(self) -> None:
        if self.parameters.loss != "logistic":
            self.link = None

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        rda_l1(
            rows,
            y,
            score,
            LOSSES.index(p.loss),
            p.gamma,
            p.lam,
            p.decay,
            self.n_features,
            s["average"],
            s["weight"],
            s["learned"],
            s["skipped"],
        )


@bare_kernel
def rda_l1(
    rows: Array,
    y: Array,
    score: Array,
    loss: int,
    gamma: float,
    lam: float,
    decay: float,
    penalised: int,
    average: Array,
    weight: Array,
    learned: NDArray[np.int64],
    skipped: NDArray[np.int64],
) -> None:
    """Predict, average the gradient in, take the weights that are best for the average.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], average f8[d], weight f8[d], learned i8[1], skipped i8[1].
    ALGORITHMS.md 5. Weights from `penalised` on are not thresholded. A row that would overflow counts for t and leaves
    average and weights.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        learned[0] += 1
        share = max(1.0 / learned[0], decay)
        scale = math.sqrt(1.0 / share) / gamma
        g = slope(loss, s, 2.0 * y[t] - 1.0, 0.0)
        if not (finite and average_in(average, x, 1.0 - share, share * g, scale)):
            skipped[0] += 1
            continue
        for j in range(penalised):
            weight[j] = scale * soft_threshold(-average[j], lam)
        for j in range(penalised, x.shape[0]):
            weight[j] = -scale * average[j]


@fragment
def average_in(average: Array, x: Array, keep: float, share: float, scale: float) -> bool:
    """Let `average` be keep * average + share * x or, if scale times that would overflow, what it was; say which.

    Shapes: average f8[d], x f8[d].
    """
    overflows = False
    for j in range(x.shape[0]):
        weight = scale * (keep * average[j] + share * x[j])
        overflows |= weight - weight != 0.0  # inf - inf and nan - nan are nan
    if overflows:
        return False
    for j in range(x.shape[0]):
        average[j] = keep * average[j] + share * x[j]
    return True

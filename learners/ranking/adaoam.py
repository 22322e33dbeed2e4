"""Adaptive online AUC maximisation (AdaOAM)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, number
from learners.ranking.class_means import centred_score, join_scattered, join_varied
from learners.ranking.pairwise_square import gradient_diagonal, gradient_full, pairwise_fields
from learners.state import Fields

DAMPING = 1e-8
"""Added to the root of the squared gradients: where a weight has had none, the step is 0 and not 0 / 0."""


class AdaOAM(Learner):
    """Ranks as `opauc` does, with a step of its own for every weight: smaller the more its gradients added up to.

    Prefer it to `opauc` where features differ in frequency or scale. Each row steps down the gradient g of its square
    loss against all rows of the other class so far, w_j -= eta g_j / sqrt(sum of g_j^2 so far); nothing is learned
    before both classes have been seen. s = w.x - w.(c_0 + c_1) / 2, the class means drawing the line.

    Parameters
    ----------
    eta : float
        Step size, eta > 0: how far a weight moves with its first gradient. Default 0.1.
    lam : float
        Shrinks the weights, lam >= 0, unit of a squared feature. Default 0.01.
    cov : str
        ``full`` covariances, their ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.

    State
    -----
    weight : f8[d]              zero until both classes were seen
    classes : i8[2]             rows counted of class 0 and of class 1
    mean : f8[2, d]             c, per class
    scatter : f8[2, d, d]       sum of squared deviations from it, bitwise symmetric; f8[2, d] in the diagonal form
    skipped : i8[1]             labelled rows whose statistics or step would have overflowed
    gradient2 : f8[d]           sum of squared gradients

    Cost
    ----
    Full: O(d^2) per row, 16 d^2 + 32 d + 24 bytes. Diagonal: O(d) per row, 48 d + 24 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Ding, Zhao, Hoi and Ong, AAAI 2015, algorithm 1. ALGORITHMS.md 14. Differs: the line between the classes, and the
    diagonal form.
    """

    name = "adaoam"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(0.1, above=0.0)
        lam: float = number(0.01, at_least=0.0)
        cov: str = choice("auto", ("auto", "full", "diag"))

    def fields(self) -> Fields:
        return {**pairwise_fields(self.parameters.cov, self.width), "gradient2": ("f8", (self.width,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s, (e, g) = self.parameters, self.state, np.empty((2, self.width))
        run = adaoam_full if s["scatter"].ndim == 3 else adaoam_diagonal
        views = s["weight"], s["classes"], s["mean"], s["scatter"], s["skipped"], s["gradient2"]
        run(rows, y, score, p.eta, p.lam, *views, e, g)


@fragment
def adaptive_step(weight: Array, gradient2: Array, eta: float, g: Array, moved: Array) -> bool:
    """Step against g, each weight by its own size, all of it or, if some number would overflow, nothing; say which.

    Shapes: weight f8[d], gradient2 f8[d], g f8[d], moved f8[d] scratch.
    """
    overflows = False
    for j in range(g.shape[0]):
        grown = gradient2[j] + g[j] * g[j]
        moved[j] = weight[j] - eta * g[j] / (math.sqrt(grown) + DAMPING)
        overflows |= (grown - grown != 0.0) | (moved[j] - moved[j] != 0.0)
    if overflows:
        return False
    for j in range(g.shape[0]):
        gradient2[j] += g[j] * g[j]
        weight[j] = moved[j]
    return True


@bare_kernel
def adaoam_full(
    rows: Array,
    y: Array,
    score: Array,
    eta: float,
    lam: float,
    weight: Array,
    classes: NDArray[np.int64],
    mean: Array,
    scatter: Array,
    skipped: NDArray[np.int64],
    gradient2: Array,
    e: Array,
    g: Array,
) -> None:
    """Predict, count the row into its class, then step against the gradient of its loss to the other class.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], classes i8[2], mean f8[2, d], scatter f8[2, d, d],
    skipped i8[1], gradient2 f8[d], e f8[d] and g f8[d] scratch. ALGORITHMS.md 14.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = centred_score(weight, x, mean)
        score[t, 0] = s if math.isfinite(s) else 0.0
        if math.isnan(y[t]):
            continue
        own = int(y[t])
        other = 1 - own
        if not join_scattered(x, own, classes, mean, scatter, e):
            skipped[0] += 1
        elif classes[other] > 0:
            gradient_full(weight, x, 2.0 * own - 1.0, lam, classes[other], mean[other], scatter[other], e, g)
            if not adaptive_step(weight, gradient2, eta, g, e):
                skipped[0] += 1


@bare_kernel
def adaoam_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    eta: float,
    lam: float,
    weight: Array,
    classes: NDArray[np.int64],
    mean: Array,
    squares: Array,
    skipped: NDArray[np.int64],
    gradient2: Array,
    e: Array,
    g: Array,
) -> None:
    """As `adaoam_full`, with the features of a class taken as uncorrelated.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], classes i8[2], mean f8[2, d], squares f8[2, d],
    skipped i8[1], gradient2 f8[d], e f8[d] and g f8[d] scratch.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = centred_score(weight, x, mean)
        score[t, 0] = s if math.isfinite(s) else 0.0
        if math.isnan(y[t]):
            continue
        own = int(y[t])
        other = 1 - own
        if not join_varied(x, own, classes, mean, squares, e):
            skipped[0] += 1
        elif classes[other] > 0:
            gradient_diagonal(weight, x, 2.0 * own - 1.0, lam, classes[other], mean[other], squares[other], e, g)
            if not adaptive_step(weight, gradient2, eta, g, e):
                skipped[0] += 1

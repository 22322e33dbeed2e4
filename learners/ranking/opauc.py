"""One-pass AUC optimisation (OPAUC)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag, number
from learners.ranking.class_means import centred_score, join_scattered, join_varied
from learners.ranking.pairwise_square import gradient_diagonal, gradient_full, pairwise_fields
from learners.state import Fields
from learners.vectors import step_along


class OPAUC(Learner):
    """Ranks rows of class 1 above those of class 0, keeping mean and covariance of each class instead of rows.

    For few positives among many negatives, where it matters which rows come first rather than where the line is drawn.
    Each row steps down the gradient of its square loss against all rows of the other class so far; nothing is learned
    before both classes have been seen. s = w.x - w.(c_0 + c_1) / 2, the class means drawing the line.

    Parameters
    ----------
    eta : float
        Step size, eta > 0. Default 0.001.
    lam : float
        Shrinks the weights, lam >= 0, unit of a squared feature. Default 0.01.
    safe_step : bool
        Shorten a step to 1 / (lam + |x - c|^2 + tr S); without it large rows oscillate. Default true.
    cov : str
        ``full`` covariances, their ``diag``, or ``auto``: full up to 256 columns. Default ``auto``.

    State
    -----
    weight : f8[d]              zero until both classes were seen
    classes : i8[2]             rows counted of class 0 and of class 1
    mean : f8[2, d]             c, per class
    scatter : f8[2, d, d]       sum of squared deviations from it, bitwise symmetric; f8[2, d] in the diagonal form
    skipped : i8[1]             labelled rows whose statistics or step would have overflowed

    Cost
    ----
    Full: O(d^2) per row, 16 d^2 + 24 d + 24 bytes. Diagonal: O(d) per row, 40 d + 24 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Gao, Jin, Zhu and Zhou, ICML 2013, algorithm 1. ALGORITHMS.md 14. Differs: safe_step, the line between the classes,
    and a diagonal form in place of random projections.
    """

    name = "opauc"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(0.001, above=0.0)
        lam: float = number(0.01, at_least=0.0)
        safe_step: bool = flag(True)
        cov: str = choice("auto", ("auto", "full", "diag"))

    def fields(self) -> Fields:
        return pairwise_fields(self.parameters.cov, self.width)

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s, (e, g) = self.parameters, self.state, np.empty((2, self.width))
        run = opauc_full if s["scatter"].ndim == 3 else opauc_diagonal
        views = s["weight"], s["classes"], s["mean"], s["scatter"], s["skipped"]
        run(rows, y, score, p.eta, p.lam, p.safe_step, *views, e, g)


@bare_kernel
def opauc_full(
    rows: Array,
    y: Array,
    score: Array,
    eta: float,
    lam: float,
    safe: bool,
    weight: Array,
    classes: NDArray[np.int64],
    mean: Array,
    scatter: Array,
    skipped: NDArray[np.int64],
    e: Array,
    g: Array,
) -> None:
    """Predict, count the row into its class, then step against the gradient of its loss to the other class.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], classes i8[2], mean f8[2, d], scatter f8[2, d, d],
    skipped i8[1], e f8[d] and g f8[d] scratch. ALGORITHMS.md 14.
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
            label = 2.0 * own - 1.0
            curvature = gradient_full(weight, x, label, lam, classes[other], mean[other], scatter[other], e, g)
            step = min(eta, 1.0 / curvature) if safe else eta
            if not step_along(weight, g, -step):
                skipped[0] += 1


@bare_kernel
def opauc_diagonal(
    rows: Array,
    y: Array,
    score: Array,
    eta: float,
    lam: float,
    safe: bool,
    weight: Array,
    classes: NDArray[np.int64],
    mean: Array,
    squares: Array,
    skipped: NDArray[np.int64],
    e: Array,
    g: Array,
) -> None:
    """As `opauc_full`, with the features of a class taken as uncorrelated.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], weight f8[d], classes i8[2], mean f8[2, d], squares f8[2, d],
    skipped i8[1], e f8[d] and g f8[d] scratch.
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
            label = 2.0 * own - 1.0
            curvature = gradient_diagonal(weight, x, label, lam, classes[other], mean[other], squares[other], e, g)
            step = min(eta, 1.0 / curvature) if safe else eta
            if not step_along(weight, g, -step):
                skipped[0] += 1

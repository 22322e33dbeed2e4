"""Follow the regularised leader, proximal form, with a learning rate per coordinate (FTRL-Proximal)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.linear.gradient_descent import LOGISTIC, slope
from learners.parameters import Parameters, flag, number
from learners.sparse.thresholding import soft_threshold
from learners.state import Fields
from learners.vectors import dot


class FTRLProximal(Learner):
    """Sparse logistic regression with a step per weight that shrinks with the gradients it has seen.

    For wide rows of rare features: frequent ones settle early, rare ones still learn fast. The rates never grow back.
    The score is the log-odds of class 1.

    - w_j = -sign(z_j) [|z_j| - l1]+ / ((beta + sqrt(n_j)) / alpha + l2),
    - g_j = (sigma(s) - [y = 1]) x_j, z_j += g_j - (sqrt(n_j + g_j^2) - sqrt(n_j)) / alpha w_j, n_j += g_j^2.

    Parameters
    ----------
    alpha : float
        Scale of the rates alpha / (beta + sqrt(n_j)), alpha > 0. Larger = faster. Default 0.1.
    beta : float
        Damps the first steps, beta >= 0, unit of a gradient. Default 1.0.
    l1 : float
        Weight of the L1 penalty, l1 >= 0, against the sum of gradients. Larger = fewer weights. Default 0.001.
    l2 : float
        Weight of the penalty |w|^2 / 2, l2 >= 0. Default 0.001.
    intercept : bool
        Append a constant 1 to every row; l1 does not hold for its weight. Default true.

    State
    -----
    z : f8[d]           sum of gradients less that of the rates' changes times weight, d with the intercept
    n : f8[d]           sum of squared gradients
    skipped : i8[1]     labelled rows whose score or step was not finite

    Cost
    ----
    O(d) per row; 16 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    McMahan et al., KDD 2013, Algorithm 1; Huang, Online Learning, "Per-coordinate FTRL-Proximal", whose remark that
    large gradients get large rates contradicts the formula. ALGORITHMS.md 5.
    """

    name = "ftrl_proximal"
    tasks = ("binary",)
    link = "logistic"

    @dataclass(frozen=True)
    class Params(Parameters):
        alpha: float = number(0.1, above=0.0)
        beta: float = number(1.0, at_least=0.0)
        l1: float = number(0.001, at_least=0.0)
        l2: float = number(0.001, at_least=0.0)
        intercept: bool = flag(True)

    @property
    def nonzero_weights(self) -> int:
        """How many features have a weight; the intercept is not counted."""
        return int(np.count_nonzero(np.abs(self.state["z"][: self.n_features]) > self.parameters.l1))

    def fields(self) -> Fields:
        vector = ("f8", (self.width,))
        return {"z": vector, "n": vector, "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s, d = self.parameters, self.state, self.width
        ftrl_proximal(
            rows,
            y,
            score,
            p.alpha,
            p.beta,
            p.l1,
            p.l2,
            self.n_features,
            s["z"],
            s["n"],
            s["skipped"],
            np.empty(d),
            np.empty(d),
        )


@bare_kernel
def ftrl_proximal(
    rows: Array,
    y: Array,
    score: Array,
    alpha: float,
    beta: float,
    l1: float,
    l2: float,
    penalised: int,
    z: Array,
    n: Array,
    skipped: NDArray[np.int64],
    weight: Array,
    moved: Array,
) -> None:
    """Predict with the weights that z and n stand for, then add the row's gradient to both.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], z f8[d], n f8[d], skipped i8[1], weight f8[d] and moved f8[d]
    scratch. ALGORITHMS.md 5. Weights from `penalised` on are not thresholded. A row that would overflow changes
    nothing.
    """
    d = rows.shape[1]
    for t in range(rows.shape[0]):
        x = rows[t]
        for j in range(penalised):
            weight[j] = proximal(z[j], n[j], alpha, beta, l1, l2)
        for j in range(penalised, d):
            weight[j] = proximal(z[j], n[j], alpha, beta, 0.0, l2)
        s = dot(weight, x)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        if math.isnan(y[t]):
            continue
        slope_of_score = slope(LOGISTIC, s, 2.0 * y[t] - 1.0, 0.0)
        overflows = not finite
        for j in range(d):
            g = slope_of_score * x[j]
            squared = g * g
            # As printed, sqrt(n + g^2) - sqrt(n) loses all digits once n is large.
            roots = alpha * (math.sqrt(n[j] + squared) + math.sqrt(n[j]))
            sigma = squared / roots if squared > 0.0 else 0.0
            moved[j] = z[j] + g - sigma * weight[j]
            grown = n[j] + squared
            overflows |= (moved[j] - moved[j] != 0.0) | (grown - grown != 0.0)  # inf - inf and nan - nan are nan
        if overflows:
            skipped[0] += 1
            continue
        for j in range(d):
            g = slope_of_score * x[j]
            z[j] = moved[j]
            n[j] += g * g


@fragment
def proximal(z: float, n: float, alpha: float, beta: float, l1: float, l2: float) -> float:
    """The weight w that minimises z w + l1 |w| + ((beta + sqrt(n)) / alpha + l2) w^2 / 2; 0 where nothing bends it."""
    bend = (beta + math.sqrt(n)) / alpha + l2
    return soft_threshold(-z, l1) / bend if bend > 0.0 else 0.0

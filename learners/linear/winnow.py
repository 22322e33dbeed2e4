"""Winnow: multiplicative updates, for concepts that few of many features decide."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.elementary.exponential import exp
from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.parameters import ParameterError, Parameters, flag, number
from learners.state import Fields
from learners.vectors import dot

LARGEST_LOG = 500.0
"""Bound of a logarithm of a weight: e^500 = 1e217, and 1e91 such weights still add up."""

BALANCED, NORMALIZED, UNBALANCED = range(3)

LN_2 = 0.6931471805599453
"""Step of the unbalanced form, Winnow2: it doubles and halves."""


class Winnow(Learner):
    """Multiplies weights where the perceptron adds to them; mistakes grow with ln d instead of d on sparse concepts.

    Balanced, for features of any sign: w = w+ - w-, w+ = exp(l), w- = exp(-l), which normalised sum to U;
    on y s <= 0: l <- l + eta y x. Unbalanced, for features in [0, 1]: w = exp(l), s = w'x - theta d;
    on y s <= 0: l <- l + ln(2) y x.

    Parameters
    ----------
    eta : float
        Step size of the balanced form, eta > 0. Default 0.1.
    balanced : bool
        A positive and a negative weight per feature. False is Winnow2: no intercept, features in [0, 1]. Default true.
    normalize : bool
        Balanced form: weights sum to U. Changes the size of the score, not its sign. Default true.
    U : float
        That sum, U > 0. Default 10.0.
    theta : float
        Threshold of the unbalanced form per feature, theta > 0. Default 1.0.
    intercept : bool
        Append a constant 1 to every row. Default true.

    State
    -----
    log_weight : f8[d]      l, logarithms of w+, d with the intercept; those of w- are -l
    skipped : i8[1]         labelled rows whose score was not finite

    Cost
    ----
    O(d) per row, with 2 d exponentials for each that is learned; 8 d + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, an intercept in the unbalanced form, or a task other than two classes.

    Source
    ------
    Littlestone, Machine Learning 2, 1988 (Winnow2); Kivinen and Warmuth, 1997 (EG+-). ALGORITHMS.md 3. Differs:
    logarithms are kept within -500 and 500.
    """

    name = "winnow"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        eta: float = number(0.1, above=0.0)
        balanced: bool = flag(True)
        normalize: bool = flag(True)
        U: float = number(10.0, above=0.0)
        theta: float = number(1.0, above=0.0)
        intercept: bool = flag(True)

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.intercept and not self.balanced:
                raise ParameterError("intercept must be false where balanced is: the threshold takes its place")

    def fields(self) -> Fields:
        return {"log_weight": ("f8", (self.width,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        p, s = self.parameters, self.state
        form = (NORMALIZED if p.normalize else BALANCED) if p.balanced else UNBALANCED
        eta, threshold = (p.eta, 0.0) if p.balanced else (LN_2, p.theta * self.width)
        winnow(rows, y, score, form, eta, p.U, threshold, s["log_weight"], s["skipped"], np.empty(self.width))


@fragment
def weights_of(log_weight: Array, form: int, U: float, weight: Array) -> None:
    """The weights of a form from their logarithms. Shapes: log_weight f8[d], weight f8[d], written.

    Only the normalised form may be taken relative to the largest: elsewhere it would change the score.
    """
    if form == UNBALANCED:
        for j in range(weight.shape[0]):
            weight[j] = exp(log_weight[j])
        return
    largest = 0.0
    if form == NORMALIZED:
        for j in range(weight.shape[0]):
            largest = max(largest, abs(log_weight[j]))
    total = 0.0
    for j in range(weight.shape[0]):
        positive = exp(log_weight[j] - largest)
        negative = exp(-log_weight[j] - largest)
        weight[j] = positive - negative
        total += positive + negative
    if form == NORMALIZED:
        for j in range(weight.shape[0]):
            weight[j] *= U / total


@bare_kernel
def winnow(
    rows: Array,
    y: Array,
    score: Array,
    form: int,
    eta: float,
    U: float,
    threshold: float,
    log_weight: Array,
    skipped: NDArray[np.int64],
    weight: Array,
) -> None:
    """Predict, then multiply each weight by exp(eta y x_j) if the label is on the other side.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], log_weight f8[d], skipped i8[1], weight f8[d] scratch.
    ALGORITHMS.md 3. Invariant: between rows `weight` is that of log_weight.
    """
    weights_of(log_weight, form, U, weight)
    for t in range(rows.shape[0]):
        x = rows[t]
        s = dot(weight, x) - threshold
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        if (finite and label * s > 0.0) or math.isnan(label):
            continue
        if not finite:
            skipped[0] += 1
            continue
        for j in range(x.shape[0]):
            moved = log_weight[j] + eta * label * x[j]
            log_weight[j] = min(max(moved, -LARGEST_LOG), LARGEST_LOG)
        weights_of(log_weight, form, U, weight)

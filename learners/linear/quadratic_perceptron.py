"""The perceptron on all products of two features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, fragment
from learners.learner import Array, Learner
from learners.parameters import Parameters, choice, flag
from learners.state import Fields


class QuadraticPerceptron(Learner):
    """The perceptron with the kernel (p'q + 1)^2: adds x x' of every row x that it gets wrong to a quadratic form.

    s = x'A x with a symmetric A, which has the same score as weights on all squares and products, and needs no feature
    map. There is no step size, which would only scale the score.

    Parameters
    ----------
    ties : str
        A score of exactly 0: ``update`` takes it for a mistake whatever the label, ``correct`` takes it for
        class 1 (mistake only if the label is class 0). Default ``update``.
    intercept : bool
        Append a constant 1 to every row; without it the kernel is (p'q)^2. Default true.

    State
    -----
    form : f8[d (d + 1) / 2]    upper triangle of A by rows, doubled off the diagonal; d with the intercept
    skipped : i8[1]             labelled rows whose score or step was not finite

    Cost
    ----
    O(d^2) per row; 4 d (d + 1) + 8 bytes.

    Raises
    ------
    ParameterError
        A parameter outside its bounds, or a task other than two classes.

    Source
    ------
    Tao and Lu, KDD 2020, appendix C. ALGORITHMS.md 13.1. Mistakes <= (R / gamma)^2 on rows that a quadratic form
    separates, with R and gamma measured in the feature space.
    """

    name = "quadratic_perceptron"
    tasks = ("binary",)

    @dataclass(frozen=True)
    class Params(Parameters):
        ties: str = choice("update", ("update", "correct"))
        intercept: bool = flag(True)

    def fields(self) -> Fields:
        return {"form": ("f8", (self.width * (self.width + 1) // 2,)), "skipped": ("i8", (1,))}

    def _run(self, rows: Array, y: Array, score: Array) -> None:
        s, p = self.state, self.parameters
        quadratic_perceptron(rows, y, score, p.ties == "update", s["form"], s["skipped"], np.empty(self.width))


@bare_kernel
def quadratic_perceptron(
    rows: Array,
    y: Array,
    score: Array,
    zero_is_mistake: bool,
    form: Array,
    skipped: NDArray[np.int64],
    k: Array,
) -> None:
    """Predict, then add the row's products to the form if its label is on the other side.

    Shapes: rows f8[n, d], y f8[n], score f8[n, 1], form f8[d (d + 1) / 2], skipped i8[1], k f8[d] scratch.
    """
    for t in range(rows.shape[0]):
        x = rows[t]
        s = quadratic(form, x, k)
        finite = math.isfinite(s)
        score[t, 0] = s if finite else 0.0
        label = 2.0 * y[t] - 1.0
        right = finite and label * s > 0.0
        if right or math.isnan(label):
            continue
        if s == 0.0 and label > 0.0 and not zero_is_mistake:
            continue
        if not (finite and add_products(form, x, label)):
            skipped[0] += 1


@fragment
def quadratic(form: Array, x: Array, k: Array) -> float:
    """The score x'A x = sum over i <= j of form[i, j] x_i x_j.

    Shapes: form f8[d (d + 1) / 2], x f8[d], k f8[d] scratch. By columns, k_j = sum over i <= j of form[i, j] x_i, all j
    side by side in wide additions, and by four rows of the form in one pass over `k`.
    """
    d = x.shape[0]
    for j in range(d):
        k[j] = 0.0
    start = 0
    for i in range(0, d - 3, 4):
        row_0 = form[start : start + d - i]
        row_1 = form[start + d - i : start + 2 * (d - i) - 1]
        row_2 = form[start + 2 * (d - i) - 1 : start + 3 * (d - i) - 3]
        row_3 = form[start + 3 * (d - i) - 3 : start + 4 * (d - i) - 6]
        start += 4 * (d - i) - 6
        x_0, x_1, x_2, x_3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        k[i] += row_0[0] * x_0
        k[i + 1] = k[i + 1] + row_0[1] * x_0 + row_1[0] * x_1
        k[i + 2] = k[i + 2] + row_0[2] * x_0 + row_1[1] * x_1 + row_2[0] * x_2
        behind = k[i + 3 :]
        for j in range(row_3.shape[0]):
            behind[j] = (
                behind[j] + row_0[j + 3] * x_0 + row_1[j + 2] * x_1 + row_2[j + 1] * x_2 + row_3[j] * x_3
            )  # fmt: skip
    for i in range(d - d % 4, d):
        for j in range(i, d):
            k[j] += form[start + j - i] * x[i]
        start += d - i
    total = 0.0
    for j in range(d):
        total += k[j] * x[j]
    return total


@fragment
def add_products(form: Array, x: Array, sign: float) -> bool:
    """A <- A + sign x x', all of it or, if some entry would overflow, nothing; say which.

    Shapes: form f8[d (d + 1) / 2], x f8[d]; sign is -1 or 1.
    """
    d, start, overflows = x.shape[0], 0, False
    for i in range(d):
        row, others, step = form[start : start + d - i], x[i:], 2.0 * sign * x[i]
        for j in range(row.shape[0]):
            moved = row[j] + step * others[j]
            overflows |= moved - moved != 0.0
        start += d - i
    if overflows:
        return False
    start = 0
    for i in range(d):
        row, others, step = form[start : start + d - i], x[i:], 2.0 * sign * x[i]
        row[0] += sign * x[i] * x[i]
        for j in range(1, row.shape[0]):
            row[j] += step * others[j]
        start += d - i
    return True

"""The perceptron on all products of two features."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Learner, Parameters, UpdateRule, field, flag, fragment, scratch
from driftway.learners.linear.perceptron import right, ties


class QuadraticPerceptron(Learner):
    """The perceptron with the kernel (p'q + 1)^2: adds x x' of every row x that it gets wrong to a quadratic form.

    s = x'A x with a symmetric A, which scores the same as weights on all squares and products but needs no feature map.
    There is no step size, since it would only scale the score.

    Cost
    ----
    O(d^2) per row; 4 d (d + 1) + 8 bytes.

    Source
    ------
    Tao and Lu, KDD 2020, appendix C. docs/algorithms/online_to_batch.md#making-passes-cheap. Mistakes <= (R / gamma)^2
    on rows that a quadratic form separates, with R and gamma measured in the feature space.
    """

    name = "quadratic_perceptron"
    tasks = ("binary",)

    class Params(Parameters):
        ties: str = ties()
        intercept: bool = flag(True, "Append a constant 1 to every row; without it the kernel is (p'q)^2.")

    def rule(self) -> UpdateRule:
        given = QuadraticPerceptronNumbers(self.parameters.ties == "update")
        return UpdateRule(
            score,
            learn,
            given,
            QuadraticPerceptronState,
            {"pairs": self.width * (self.width + 1) // 2},
            uses_weight=True,
        )


class QuadraticPerceptronNumbers(NamedTuple):
    """Parameters of `quadratic_perceptron`."""

    zero_is_mistake: bool
    """Whether a score of exactly 0 is a mistake for either label; otherwise it predicts class 1."""


class QuadraticPerceptronState(NamedTuple):
    """State of `quadratic_perceptron`."""

    form: Array = field("f8[pairs]", "upper triangle of A by rows, doubled off the diagonal; d with the intercept")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")
    k: Array = scratch("f8[d]", "sums of the form's columns, see `quadratic`")


@fragment
def score(x: Array, _parameters: Any, memory: QuadraticPerceptronState) -> float:
    """The score x'A x. Shapes: x f8[d]."""
    return quadratic(memory.form, x, memory.k)


@fragment
def learn(
    x: Array, y: float, omega: float, s: float, p: QuadraticPerceptronNumbers, memory: QuadraticPerceptronState
) -> None:
    """Add the row's products to the form if it is misclassified. Shapes: x f8[d]."""
    if right(y, s, p.zero_is_mistake):
        return
    if not (math.isfinite(s) and add_products(memory.form, x, y * omega)):
        memory.skipped[0] += 1


@fragment
def quadratic(form: Array, x: Array, k: Array) -> float:
    """The score x'A x = sum over i <= j of form[i, j] x_i x_j.

    Shapes: form f8[d (d + 1) / 2], x f8[d], k f8[d] scratch. Column sums k_j = sum over i <= j of form[i, j] x_i
    are built for all j at once, so that they vectorise, with four rows of the form per pass over `k`.
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
def add_products(form: Array, x: Array, times: float) -> bool:
    """A <- A + times x x', unless some entry would overflow; return whether A was changed.

    Shapes: form f8[d (d + 1) / 2], x f8[d]; `times` is -1 or 1, times the weight of the row.
    """
    d, start, overflows = x.shape[0], 0, False
    for i in range(d):
        row, others, step = form[start : start + d - i], x[i:], 2.0 * times * x[i]
        for j in range(row.shape[0]):
            moved = row[j] + step * others[j]
            overflows |= moved - moved != 0.0
        start += d - i
    if overflows:
        return False
    start = 0
    for i in range(d):
        row, others, step = form[start : start + d - i], x[i:], 2.0 * times * x[i]
        row[0] += times * x[i] * x[i]
        for j in range(1, row.shape[0]):
            row[j] += step * others[j]
        start += d - i
    return True

"""The multi-task perceptron."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    integer,
    intercept,
    number,
)
from driftway.learners.numeric.vectors import dot
from driftway.learners.other_tasks.ids import index_of


class OMTLPerceptron(Learner):
    """A perceptron for each of several tasks, which learn from each other's mistakes.

    The first column of a row is its task, a whole number in 0..tasks - 1; the others are features.
    A mistake in task k moves the weights of every task along y x: its own by (K + b) / ((1 + b) K), the others by
    b / ((1 + b) K). b = 0 makes the tasks independent; the larger b, the more they share.

    Cost
    ----
    O(d) per row, O(K d) for a mistake with K tasks; 8 K d + 8 bytes.

    Source
    ------
    Cavallanti, Cesa-Bianchi and Gentile, Linear Algorithms for Online Multitask Classification, JMLR 2010.
    docs/algorithms/other_tasks.md#omtl_perceptron.
    """

    name = "omtl_perceptron"
    tasks = ("binary",)
    unscaled = (0,)

    class Params(Parameters):
        tasks: int = integer(2, "K, the number of tasks.", at_least=1, at_most=1_000_000)
        b: float = number(
            -1.0,
            "How much tasks have in common, >= 0: 0 = nothing. Below 0: the number of tasks.",
            at_least=-1.0,
        )
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p = self.parameters
        b = p.b if p.b >= 0.0 else float(p.tasks)
        given = OMTLPerceptronNumbers((p.tasks + b) / ((1.0 + b) * p.tasks), b / ((1.0 + b) * p.tasks))
        return UpdateRule(
            score, learn, given, OMTLPerceptronState, {"T": p.tasks, "c": self.width - 1}, uses_weight=True
        )


class OMTLPerceptronNumbers(NamedTuple):
    """Parameters of `omtl_perceptron`: step sizes of a mistake."""

    own: float
    """Step size of the row's task."""
    others: float
    """Step size of each other task."""


class OMTLPerceptronState(NamedTuple):
    """State of `omtl_perceptron`; c is the number of features, with the intercept."""

    weight: Array = field("f8[T, c]", "weights of each task")
    skipped: Counts = field("i8[1]", "labelled rows of no task, or without a finite step")


@fragment
def score(x: Array, _p: OMTLPerceptronNumbers, memory: OMTLPerceptronState) -> float:
    """The score of the row's task, or 0 if there is no such task. Shapes: x f8[1 + c]."""
    k = index_of(x[0], memory.weight.shape[0])
    return dot(memory.weight[k], x[1:]) if k >= 0 else 0.0


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: OMTLPerceptronNumbers, memory: OMTLPerceptronState) -> None:
    """Move the weights of every task if the row is misclassified, or none if one would overflow. Shapes: x f8[1 + c].

    docs/algorithms/other_tasks.md#omtl_perceptron.
    """
    weight, k = memory.weight, index_of(x[0], memory.weight.shape[0])
    if k < 0 or not math.isfinite(s):
        memory.skipped[0] += 1
    elif y * s <= 0.0:
        overflows = False
        for j in range(weight.shape[0]):
            step = omega * y * (p.own if j == k else p.others)
            for i in range(weight.shape[1]):
                moved = weight[j, i] + step * x[1 + i]
                overflows |= moved - moved != 0.0
        if overflows:
            memory.skipped[0] += 1
        else:
            for j in range(weight.shape[0]):
                step = omega * y * (p.own if j == k else p.others)
                for i in range(weight.shape[1]):
                    weight[j, i] += step * x[1 + i]

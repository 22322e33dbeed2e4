"""The averaged perceptron."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import (
    Array,
    Counts,
    Learner,
    Parameters,
    UpdateRule,
    field,
    fragment,
    intercept,
    scratch,
)
from driftway.learners.numeric.vectors import axpy_guarded_pair, dots


class AveragedPerceptron(Learner):
    """Learns as the perceptron and predicts with the sum of all weights it ever had, each as often as it lasted.

    With c = 1 + rows seen: s = c w'x - u'x; on y w'x <= 0: w <- w + y x, u <- u + c y x. It never forgets.

    Cost
    ----
    O(d) per row; 16 d + 16 bytes.

    Source
    ------
    Freund and Schapire, Machine Learning 37, 1999, section 5, `avg`.
    docs/algorithms/linear.md#averaged_perceptron-voted_perceptron.
    """

    name = "averaged_perceptron"
    tasks = ("binary",)

    class Params(Parameters):
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return UpdateRule(score, learn, (), AveragedPerceptronState, uses_weight=True)


class AveragedPerceptronState(NamedTuple):
    """State of `averaged_perceptron`."""

    weight: Array = field("f8[d]", "w, the perceptron's, d with the intercept")
    late: Array = field("f8[d]", "u, each update times the row it came at: what the sum lacks of c w")
    learned: Counts = field("i8[1]", "c - 1, labelled rows so far")
    skipped: Counts = field("i8[1]", "labelled rows whose score or step was not finite")
    newest: Array = scratch("f8[1]", "w'x, the perceptron's score")


@fragment
def score(x: Array, _parameters: Any, memory: AveragedPerceptronState) -> float:
    """The score of the sum of all weights so far, c w'x - u'x. Shapes: x f8[d]."""
    newest, before = dots(memory.weight, memory.late, x)
    memory.newest[0] = newest
    return (1.0 + memory.learned[0]) * newest - before


@fragment
def learn(x: Array, y: float, omega: float, s: float, _parameters: Any, memory: AveragedPerceptronState) -> None:
    """Learn as the perceptron; either both vectors take the step or neither does. Shapes: x f8[d].

    See docs/algorithms/linear.md#averaged_perceptron-voted_perceptron.
    """
    c = 1.0 + memory.learned[0]
    memory.learned[0] += 1
    finite = math.isfinite(s)
    if finite and y * memory.newest[0] > 0.0:
        return
    if not (finite and axpy_guarded_pair(memory.late, c * y * omega, memory.weight, y * omega, x)):
        memory.skipped[0] += 1

"""The perceptron."""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Learner, Parameters, UpdateRule, choice, fragment, intercept, number
from driftway.learners.engine.shared_fields import SharedFields
from driftway.learners.linear.weights import Weights, product
from driftway.learners.numeric.vectors import axpy_guarded


def ties() -> Any:
    """The parameter for how a score of exactly 0 is treated."""
    return choice(
        "update",
        ("update", "correct"),
        "A score of exactly 0: `update` counts it as a mistake whatever the label, `correct` as class 1 (a mistake "
        "only if the label is class 0).",
    )


class Perceptron(Learner):
    """Adds every row that it gets wrong; changes nothing otherwise.

    Cost
    ----
    O(d) per row; 8 d + 8 bytes.

    Source
    ------
    Huang, Online Learning, "Online Perceptron"; Kivinen, Smola and Williamson 2002, section 3 (NORMA without
    margin and decay). Mistakes <= (R / gamma)^2 on separable data (Novikoff).
    """

    name = "perceptron"
    tasks = ("binary",)

    class Params(Parameters):
        eta: float = number(1.0, "Step size. From zero weights it only scales the score.", above=0.0)
        ties: str = ties()
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        p = self.parameters
        given = PerceptronNumbers(p.eta, p.ties == "update")
        return UpdateRule(product, learn, given, Weights, uses_weight=True, sharing=SharedFields())


class PerceptronNumbers(NamedTuple):
    """Parameters of `perceptron`."""

    eta: float
    zero_is_mistake: bool
    """Whether a score of exactly 0 is a mistake for either label; otherwise it predicts class 1."""


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: PerceptronNumbers, memory: Weights) -> None:
    """Add the row if it is misclassified. Shapes: x f8[d]. docs/algorithms/linear.md#perceptron."""
    if right(y, s, p.zero_is_mistake):
        return
    if not (math.isfinite(s) and axpy_guarded(memory.weight, x, p.eta * y * omega)):
        memory.skipped[0] += 1


@fragment
def right(y: float, s: float, zero_is_mistake: bool) -> bool:
    """Whether the score is finite and has the sign of the label; 0 counts as class 1, or as neither class."""
    if s == 0.0:
        return y > 0.0 and not zero_is_mistake
    return math.isfinite(s) and y * s > 0.0

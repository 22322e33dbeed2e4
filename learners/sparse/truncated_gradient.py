"""Truncated gradient, and simple rounding as its extreme."""

import math
from typing import NamedTuple

from driftway.learners.contract import (
    Array,
    Learner,
    ParameterError,
    Parameters,
    UpdateRule,
    choice,
    flag,
    fragment,
    integer,
    number,
)
from driftway.learners.engine.number_or_keyword import AUTO, number_or_keyword
from driftway.learners.linear.gradient_descent import LOSSES, slope
from driftway.learners.linear.weights import SteppedWeights, product
from driftway.learners.numeric.vectors import axpy_guarded
from driftway.learners.sparse.thresholding import soft_threshold

SMALL = {"tg": 1.0, "round": 0.05}
"""theta for ``auto``. Rounding at 1 would keep resetting the weights: 65 % on SEA instead of 86 %."""


class TruncatedGradient(Learner):
    """Gradient descent with constant steps that pulls small weights to zero at every K-th row.

    Follows drift as `ogd_logistic` with ``const`` steps does, and drops features that do not help enough.

    - w <- w - eta g x, with g = -y / (1 + exp(y s)), or that of the hinge loss,
    - every K rows, each w_j with |w_j| <= theta moves towards 0 by eta K gravity (``tg``) or becomes 0 (``round``).

    Cost
    ----
    O(d) per row; 8 d + 16 bytes.

    Source
    ------
    Langford, Li and Zhang, JMLR 10, 2009, sections 3.1 and 3.3; Huang, Online Learning, "Truncated gradient", whose
    trigger t/K = 1 means that K divides t. docs/algorithms/sparse.md#truncated_gradient.
    """

    name = "truncated_gradient"
    tasks = ("binary",)
    link: str | None = "logistic"

    class Params(Parameters):
        eta: float = number(0.1, "Step size.", above=0.0)
        K: int = integer(10, "Labelled rows between truncations.", at_least=1)
        gravity: float = number(
            0.001, "Pull towards zero per row, in units of the gradient. Larger = fewer weights.", at_least=0.0
        )
        theta: float | str = number_or_keyword(
            (AUTO,),
            AUTO,
            at_least=0.0,
            text=(
                "Largest weight that is shrunk; 0 = no bound, in mode `tg` only. In mode `round` choose less than a "
                "useful weight changes by in K rows. `auto` = 1 in mode `tg`, 0.05 in mode `round`."
            ),
        )
        mode: str = choice(
            "tg", ("tg", "round"), "`tg` shrinks weights step by step, `round` sets them to zero at once."
        )
        loss: str = choice("logistic", LOSSES[:2], "`logistic` or `hinge`.")
        intercept: bool = flag(True, "Append a constant 1 to every row; its weight is not pulled.")

        def __post_init__(self) -> None:
            super().__post_init__()
            if self.mode == "round" and self.theta == 0.0:
                raise ParameterError(f"theta must be > 0 in mode round, got {self.theta}")

    def rule(self) -> UpdateRule:
        p = self.parameters
        theta = SMALL[p.mode] if p.theta == AUTO else p.theta or math.inf
        pull = p.eta * p.K * p.gravity if p.mode == "tg" else math.inf
        given = TruncatedGradientNumbers(LOSSES.index(p.loss), p.eta, p.K, pull, theta, self.n_features)
        return UpdateRule(product, learn, given, SteppedWeights, uses_weight=True)

    def initialise(self) -> None:
        if self.parameters.loss != "logistic":
            self.link = None


class TruncatedGradientNumbers(NamedTuple):
    """Parameters of `truncated_gradient`."""

    loss: int
    eta: float
    K: int
    pull: float
    """Distance that small weights move towards 0; inf rounds them to 0."""
    theta: float
    """Largest absolute weight that is pulled; may be inf."""
    penalised: int
    """Index from which on weights are not truncated."""


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: TruncatedGradientNumbers, memory: SteppedWeights) -> None:
    """Step against the gradient, and truncate at every K-th labelled row: T1(w_j, pull, theta).

    Shapes: x f8[d]. docs/algorithms/sparse.md#truncated_gradient. A row that would overflow counts for t.
    """
    memory.learned[0] += 1
    g = slope(p.loss, s, y, 0.0) * omega
    if not math.isfinite(s) or (g != 0.0 and not axpy_guarded(memory.weight, x, -p.eta * g)):
        memory.skipped[0] += 1
    if memory.learned[0] % p.K == 0:
        for j in range(p.penalised):
            if abs(memory.weight[j]) <= p.theta:
                memory.weight[j] = soft_threshold(memory.weight[j], p.pull)

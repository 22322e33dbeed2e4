"""Winnow for moving targets."""

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
    intercept,
    number,
    scratch,
)
from driftway.learners.linear.weights import product
from driftway.learners.linear.winnow import share_evenly, step_within
from driftway.learners.numeric.elementary.exponential import exp
from driftway.learners.numeric.elementary.logarithm import log_for_python


class TrackingWinnow(Learner):
    """`winnow`, normalised, with a lower bound on the weights so that they can recover when the target moves.

    s = U (p+ - p-)'x. On y s <= 0: p+ <- p+ exp(eta y x), p- <- p- exp(-eta y x), normalised to a sum of 1; those
    below share / 2d are raised to it, and all are normalised once more.

    Cost
    ----
    O(d) per row, plus 6 d exponentials and logarithms for each row learned; 16 d + 8 bytes.

    Source
    ------
    Auer and Warmuth, Machine Learning 32, 1998; Mesterharm, COLT 2002; named in Kivinen, Smola and Williamson 2002.
    docs/algorithms/linear.md#tracking_winnow. Differs: logarithms are kept within -500 and 500.
    """

    name = "tracking_winnow"
    tasks = ("binary",)

    class Params(Parameters):
        eta: float = number(0.1, "Step size.", above=0.0)
        share: float = number(
            0.01, "Share that is spread evenly over all weights; 0 = `winnow`.", at_least=0.0, below=1.0
        )
        U: float = number(10.0, "Sum of the weights.", above=0.0)
        intercept: bool = intercept()

    def rule(self) -> UpdateRule:
        return UpdateRule(product, learn, self.parameters.numbers(), TrackingWinnowState, uses_weight=True, begin=renew)

    def initialise(self) -> None:
        self.state["log_share"][:] = log_for_python(0.5 / self.width)


class TrackingWinnowState(NamedTuple):
    """State of `tracking_winnow`."""

    log_share: Array = field("f8[2 d]", "logarithms of p+, then of p-, d with the intercept")
    skipped: Counts = field("i8[1]", "labelled rows whose score was not finite")
    weight: Array = scratch("f8[d]", "U (p+ - p-) from one row to the next")


@fragment
def learn(x: Array, y: float, omega: float, s: float, p: TrackingWinnow.Params, memory: TrackingWinnowState) -> None:
    """Multiply the weights and share them out if the row is misclassified. Shapes: x f8[d]."""
    if not math.isfinite(s):
        memory.skipped[0] += 1
    elif y * s <= 0.0:
        step_within(memory.log_share[: x.shape[0]], x, p.eta * y * omega)
        step_within(memory.log_share[x.shape[0] :], x, -p.eta * y * omega)
        share_evenly(memory.log_share, p.share)
        renew(p, memory)


@fragment
def renew(p: TrackingWinnow.Params, memory: TrackingWinnowState) -> None:
    """Recompute the weights from their logarithms."""
    d = memory.weight.shape[0]
    for j in range(d):
        memory.weight[j] = p.U * (exp(memory.log_share[j]) - exp(memory.log_share[d + j]))

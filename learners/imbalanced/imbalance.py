"""Weight of a missed positive relative to a false alarm, for cost-sensitive learners."""

from typing import Any

from driftway.learners.contract import Counts, Parameters, choice, fragment, number

OBJECTIVES = ("sum", "cost")
"""Maximise the weighted sum of sensitivity and specificity, or minimise the cost of mistakes."""


class CostSensitiveParameters(Parameters):
    """Parameters for the cost of mistakes."""

    objective: str = choice(
        "sum",
        OBJECTIVES,
        "`sum`: maximise eta_p sensitivity + eta_n specificity. `cost`: minimise the cost of mistakes.",
    )
    eta_p: float = number(0.5, "Weight of the sensitivity; for `sum`.", above=0.0)
    eta_n: float = number(0.5, "Weight of the specificity; only the ratio of both matters.", above=0.0)
    c_p: float = number(0.95, "Cost of a missed row of class 1; for `cost`.", above=0.0)
    c_n: float = number(0.05, "Cost of a false alarm; only the ratio of both matters.", above=0.0)


def prices(p: Any) -> tuple[float, float, bool]:
    """Weights of positives and negatives from a learner's parameters `p`, and whether rows of a class share them."""
    if p.objective == "sum":
        return p.eta_p, p.eta_n, True
    return p.c_p, p.c_n, False


@fragment
def imbalance(price_p: float, price_n: float, shared: bool, classes: Counts) -> float:
    """rho, the weight of a row of class 1 relative to one of class 0. Shapes: classes i8[2], each >= 1.

    If the rows of a class share its weight, more rows mean less weight for each.
    """
    if shared:
        return price_p * float(classes[0]) / (price_n * float(classes[1]))
    return price_p / price_n

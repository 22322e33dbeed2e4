"""How much more a missed positive weighs than a false alarm: what cost-sensitive learners share."""

from typing import Any

from driftway.learners.contract import Counts, Parameters, choice, fragment, number

OBJECTIVES = ("sum", "cost")
"""Weighted sum of sensitivity and specificity, or cost of mistakes."""


class Priced(Parameters):
    """Parameters that say what mistakes cost."""

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
    """What positives and negatives weigh by a learner's parameters `p`, and whether that is shared among their rows."""
    if p.objective == "sum":
        return p.eta_p, p.eta_n, True
    return p.c_p, p.c_n, False


@fragment
def imbalance(price_p: float, price_n: float, shared: bool, classes: Counts) -> float:
    """rho, by which a row of class 1 counts more than one of class 0. Shapes: classes i8[2], each >= 1.

    Where a class shares its weight, each of its rows has the less of it the more there are.
    """
    if shared:
        return price_p * float(classes[0]) / (price_n * float(classes[1]))
    return price_p / price_n

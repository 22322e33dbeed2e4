"""Passive-aggressive learning of one class, shared by `pa_uniclass`, `pa1_uniclass`, `pa2_uniclass`.

The model is a ball. A row inside teaches nothing; a row outside pulls the centre, as far as the learner allows. To
learn the radius too, the centre has one more coordinate, its height h above the space of the rows: a ball of radius
`eps_max` around it intersects that space in a ball of radius sqrt(eps_max^2 - h^2), and every pull lowers h.
"""

import math
from typing import Any, NamedTuple

from driftway.learners.contract import Array, Counts, Parameters, UpdateRule, field, fragment, scratch
from driftway.learners.engine.number_or_keyword import AUTO, positive_or
from driftway.learners.linear.passive_aggressive import PassiveAggressiveNumbers, tau

LEARNED = "learned"
"""Value of `eps` for a radius that starts at 0 and grows up to `eps_max`."""


class UniclassState(NamedTuple):
    """State of a one-class learner."""

    centre: Array = field("f8[c]", "c = d, or d + 1 where the radius is learned: sqrt(eps_max^2 - centre[d]^2)")
    learned: Counts = field("i8[1]", "labelled rows so far; the first becomes the centre")
    skipped: Counts = field("i8[1]", "labelled rows whose distance was not finite")
    apart: Array = scratch("f8[1]", "how far the row is from the centre")


class UniclassParameters(Parameters):
    """Parameters shared by the family."""

    eps: float | str = positive_or(
        AUTO,
        LEARNED,
        text="Radius, in units of the features; `auto` = sqrt(d), the usual length of a standardised row; `learned`: "
        "it starts at 0 and grows.",
    )
    eps_max: float | str = positive_or(AUTO, text="Upper bound of a learned radius; `auto` = 2 sqrt(d).")


def towards_rows(cap: float, ridge: float, p: Any, n_features: int) -> UpdateRule:
    """The rule of a learner whose parameters are `UniclassParameters`; cap and ridge as for two classes."""
    given = PassiveAggressiveNumbers(cap, ridge, radius_of(p.eps, p.eps_max, n_features))
    return UpdateRule(depth, learn, given, UniclassState, {"c": n_features + (p.eps == LEARNED)}, uses_weight=True)


def radius_of(eps: float | str, eps_max: float | str, n_features: int) -> float:
    """Radius of the ball that the rule works with: eps, or eps_max if the radius is learned."""
    if eps == LEARNED:
        return 2.0 * math.sqrt(n_features) if eps_max == AUTO else float(eps_max)
    return math.sqrt(n_features) if eps == AUTO else float(eps)


@fragment
def distance(x: Array, centre: Array) -> float:
    """Distance from the centre to the row, which has height 0, even if squares would overflow or vanish.

    Shapes: x f8[d], centre f8[d] or f8[d + 1].
    """
    d: int = x.shape[0]
    height = 0.0
    if centre.shape[0] > d:
        height = centre[d]
    squared = 0.0
    for j in range(d):
        squared += (x[j] - centre[j]) * (x[j] - centre[j])
    squared += height * height
    if not 1e-280 < squared < math.inf:
        largest = abs(height)
        for j in range(d):
            largest = max(largest, abs(x[j] - centre[j]))
        squared = (height / largest) ** 2 if largest > 0.0 else 0.0
        for j in range(d):
            squared += ((x[j] - centre[j]) / largest) ** 2 if largest > 0.0 else 0.0
        return largest * math.sqrt(squared)
    return math.sqrt(squared)


@fragment
def depth(x: Array, p: PassiveAggressiveNumbers, memory: UniclassState) -> float:
    """The score: how far inside the ball the row is, or 0 before the first row. Shapes: x f8[d]."""
    memory.apart[0] = distance(x, memory.centre)
    return p.eps - memory.apart[0] if memory.learned[0] > 0 else 0.0


@fragment
def learn(x: Array, _y: float, omega: float, _s: float, p: PassiveAggressiveNumbers, memory: UniclassState) -> None:
    """Pull the centre towards a row outside the ball.

    Shapes: x f8[d]. docs/algorithms/linear.md#linear-learners. The centre never moves past the row, so it stays
    finite. The first row becomes the centre, at height eps_max if the radius is learned.
    """
    d: int = x.shape[0]
    centre, apart = memory.centre, memory.apart[0]
    memory.learned[0] += 1
    if memory.learned[0] == 1:
        for j in range(d):
            centre[j] = x[j]
        if centre.shape[0] > d:
            centre[d] = p.eps
        return
    loss = apart - p.eps
    if not math.isfinite(apart):
        memory.skipped[0] += 1
    elif loss > 0.0:
        share = tau(loss, 1.0, omega, p) / apart  # fraction of the distance to the row
        for j in range(d):
            centre[j] += share * (x[j] - centre[j])
        if centre.shape[0] > d:
            centre[d] -= share * centre[d]

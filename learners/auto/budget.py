"""Which experts a row's budget has room for, by the count of their multiplications: never by a clock."""

PER_STEP = 0.25e-3
"""Microseconds that a multiplication and an addition are taken to take, with what belongs to them."""


def affordable(budget: float, *steps: int) -> list[bool]:
    """Which of several are taken, one after the other, each if so many multiplications fit into what is left."""
    left, taken = budget / PER_STEP, list[bool]()
    for cost in steps:
        taken.append(cost <= left)
        left -= cost if cost <= left else 0.0
    return taken

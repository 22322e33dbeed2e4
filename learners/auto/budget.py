"""Which experts a row's budget has room for, by the count of their multiplications: never by a clock."""

PER_STEP = 0.25e-3
"""Microseconds that a multiplication and an addition are taken to take, with what belongs to them."""


def affordable(budget: float, *families: tuple[int, float]) -> list[bool]:
    """Which of several families of experts are taken; each is its multiplications, and what it is worth.

    The one worth most for its cost comes first, of equals the one named first, and the first that does not fit ends
    it. The order knows nothing of the budget, so that with more budget no family is ever lost.
    """
    room, spent, taken = budget / PER_STEP, 0, [False] * len(families)
    for place in sorted(range(len(families)), key=lambda i: families[i][0] / families[i][1]):
        spent += families[place][0]
        if spent > room:
            break
        taken[place] = True
    return taken

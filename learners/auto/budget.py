"""Selection of the experts that fit in the budget per row, by their number of multiplications, not by a clock."""

PER_STEP = 0.25e-3
"""Assumed microseconds per multiplication and addition, overhead included."""


def affordable(budget: float, *families: tuple[int, float]) -> list[bool]:
    """Select families of experts, each given as (multiplications, value).

    Families are taken in the order of value per cost, ties in the order given, up to the first that does not fit. The
    order does not depend on the budget, so a larger budget never drops a family.
    """
    limit, spent, selected = budget / PER_STEP, 0, [False] * len(families)
    for place in sorted(range(len(families)), key=lambda i: families[i][0] / families[i][1]):
        spent += families[place][0]
        if spent > limit:
            break
        selected[place] = True
    return selected

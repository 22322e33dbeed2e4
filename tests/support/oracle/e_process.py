"""docs/decisions/0050: capital of a side, start by start and stake by stake, from the full history."""

from __future__ import annotations

import mpmath

STAKES = [mpmath.mpf(2) ** -k for k in range(1, 9)]


def of_starts(won: list[bool]) -> list[mpmath.mpf]:
    """Capital of each start, the first row's first, if it began with 1 there and had an equal part with each stake."""
    found, stretch = [], [mpmath.mpf(1)] * len(STAKES)
    for right in reversed(won):
        stretch = [c * (1 + s if right else 1 - s) for c, s in zip(stretch, STAKES, strict=True)]
        found.append(sum(stretch) / len(STAKES))
    return found[::-1]


def capital(won: list[bool]) -> mpmath.mpf:
    """The e-value of a side after rows that it won, or lost."""
    with mpmath.workdps(40):
        shares = [1 / mpmath.sqrt(i + 1) - 1 / mpmath.sqrt(i + 2) for i in range(len(won))]
        begun = zip(shares, of_starts(won), strict=True)
        return sum((share * one for share, one in begun), 1 / mpmath.sqrt(len(won) + 1))

"""Select which cases of a long parametrised test run by default; the others are marked slow."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest


def slow_but(taken: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """`cases` as parameters, all marked slow except those in `taken`."""
    return [pytest.param(case, marks=[] if case in taken else [pytest.mark.slow]) for case in cases]


def slow_but_each_once(*axes: Sequence[Any], most: int | None = None) -> list[Any]:
    """Every combination of the axes as parameters, all marked slow except enough to contain each value, or `most`.

    The first of these has the first value of each axis, the second the second values, and so on; shorter axes repeat.
    """
    lengths = [len(axis) for axis in axes]
    taken = {tuple(i % length for length in lengths) for i in range(most or max(lengths))}
    return [
        pytest.param(
            *(axis[i] for axis, i in zip(axes, places, strict=True)),
            marks=[] if places in taken else [pytest.mark.slow],
        )
        for places in itertools.product(*map(range, lengths))
    ]

"""Rows/s of some learners, compared with a plain numba loop of the same update; see the package's docstring."""

from __future__ import annotations

import os

import pytest

from driftway.learners.registry import LEARNERS, find
from tests.bench.handwritten import FAMILIES, NOT_COMPARED, PLAIN
from tests.bench.river import NEAREST
from tests.bench.speed import FEWER, SIZES, measured

LEAST = 0.8


def family(name: str) -> str:
    """Return a learner's folder: `linear` for driftway.learners.linear.pa1."""
    return find(name).__module__.split(".")[2]


def test_every_family_is_compared_or_named_as_not_compared() -> None:
    for name, module in FAMILIES.items():
        assert [family(learner) for learner in module.PLAIN] == [name] * len(module.PLAIN)
    assert {family(name) for name in LEARNERS} == FAMILIES.keys() | set(NOT_COMPARED)
    assert not FAMILIES.keys() & set(NOT_COMPARED)
    assert FEWER.keys() | NEAREST.keys() <= PLAIN.keys()


@pytest.mark.slow
@pytest.mark.parametrize(("d", "n"), SIZES)
def test_kernels_are_nearly_as_fast_as_a_plain_loop(d: int, n: int, capsys: pytest.CaptureFixture[str]) -> None:
    slow = {}
    with capsys.disabled():
        print(f"\nrows/s {'':13} {'d':>4} {'kernel':>14} {'whole call':>14} {'plain loop':>14} {'kernel / plain':>14}")
        for name in PLAIN:
            speed = measured(name, d, n)
            ratio = speed.kernel / speed.plain
            if ratio < LEAST:
                slow[name] = round(ratio, 2)
            print(f"{name:20} {d:4} {speed.kernel:14,.0f} {speed.call:14,.0f} {speed.plain:14,.0f} {ratio:14.2f}")
    if os.environ.get("DRIFTWAY_BENCH"):
        assert slow == {}

"""Rows/s of each learner beside a plain numba loop of the same update; see the package's docstring."""

from __future__ import annotations

import os

import pytest

from driftway.learners.registry import LEARNERS
from tests.bench.handwritten import PLAIN
from tests.bench.speed import SIZES, measured

pytestmark = pytest.mark.slow

LEAST = 0.8


@pytest.mark.parametrize(("d", "n"), SIZES)
def test_kernels_are_nearly_as_fast_as_a_plain_loop(d: int, n: int, capsys: pytest.CaptureFixture[str]) -> None:
    lacking = [name for name in LEARNERS if name not in PLAIN]
    slow = {}
    with capsys.disabled():
        print(f"\nrows/s {'':13} {'d':>4} {'kernel':>14} {'whole call':>14} {'plain loop':>14} {'kernel / plain':>14}")
        for name in PLAIN:
            speed = measured(name, d, n)
            ratio = speed.kernel / speed.plain
            if ratio < LEAST:
                slow[name] = round(ratio, 2)
            print(f"{name:20} {d:4} {speed.kernel:14,.0f} {speed.call:14,.0f} {speed.plain:14,.0f} {ratio:14.2f}")
        if lacking:
            print(f"without a plain loop: {', '.join(lacking)}")
    if os.environ.get("DRIFTWAY_BENCH"):
        assert slow == {}
        assert lacking == []

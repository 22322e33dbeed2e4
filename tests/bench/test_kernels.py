"""Rows/s of each learner beside a plain numba loop of the same update; see the package's docstring."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np
import pytest

from learners.registry import LEARNERS, find
from tests.bench.plain import PLAIN

pytestmark = pytest.mark.slow

LEAST = 0.8
ROUNDS = 9
"""Alternating; the best of each counts: what disturbs a kernel can only make it slower."""


def stream(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a noisy linear rule: learners that only learn from mistakes do not fall idle."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + np.sqrt(d) * rng.normal(size=n) > 0).astype(np.float64)
    return X, y


def seconds(run: Callable[[], None]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def rows_per_second(name: str, d: int, n: int) -> tuple[float, float]:
    """Of the learner as the worker calls it, and of its plain loop."""
    X, y = stream(n, d)
    with_ones = np.hstack([X, np.ones((n, 1))])
    score, plain_score = np.empty((n, 1)), np.empty((n, 1))
    learner = find(name)(d)
    loop, make = PLAIN[name]
    state = make(d + 1)
    mine, theirs = [], []
    for _ in range(ROUNDS + 1):  # the first compiles
        mine.append(seconds(lambda: learner.predict_then_update(X, y, score)))
        theirs.append(seconds(lambda: loop(with_ones, y, plain_score, *state)))
    return n / min(mine[1:]), n / min(theirs[1:])


@pytest.mark.parametrize(("d", "n"), [(8, 20_000), (100, 2_000)])
def test_learners_are_nearly_as_fast_as_a_plain_loop(d: int, n: int, capsys: pytest.CaptureFixture[str]) -> None:
    lacking = [name for name in LEARNERS if name not in PLAIN]
    ratios = {}
    with capsys.disabled():
        print(f"\n{'learner':20} {'d':>4} {'rows/s':>14} {'plain loop':>14} {'ratio':>6}")
        for name in PLAIN:
            mine, theirs = rows_per_second(name, d, n)
            ratios[name] = mine / theirs
            print(f"{name:20} {d:4} {mine:14,.0f} {theirs:14,.0f} {ratios[name]:6.2f}")
        if lacking:
            print(f"without a plain loop: {', '.join(lacking)}")
    if os.environ.get("DRIFTWAY_BENCH"):
        assert {name: ratio for name, ratio in ratios.items() if ratio < LEAST} == {}
        assert lacking == []

"""Rows/s of each learner beside a plain numba loop of the same update; see the package's docstring."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

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
    """Processor time of this thread: what else the machine does is not counted, as far as it can be told apart."""
    started = time.thread_time()
    run()
    return time.thread_time() - started


class Speed(NamedTuple):
    """Rows/s of the kernel alone, of the whole call that checks and appends the intercept, of the plain loop."""

    kernel: float
    call: float
    plain: float


def measured(name: str, d: int, n: int) -> Speed:
    X, y = stream(n, d)
    learner, (loop, make) = find(name)(d), PLAIN[name]
    rows, state = np.hstack([X, np.ones((n, 1))]), make(d + 1)
    score, plain_score = np.empty((n, 1)), np.empty((n, 1))
    learner.predict_then_update(X, y, score)
    loop(rows, y, plain_score, *state)
    assert np.allclose(score, plain_score, rtol=1e-6, atol=1e-6), f"{name}: the plain loop is another update"
    runs: tuple[Callable[[], None], ...] = (
        lambda: learner._run(rows if learner.width > d else X, y, score),
        lambda: learner.predict_then_update(X, y, score),
        lambda: loop(rows, y, plain_score, *state),
    )
    times = [[seconds(run) for run in runs] for _ in range(ROUNDS)]
    return Speed(*(n / min(column) for column in zip(*times, strict=True)))


# In one call each, and so many rows that what a call costs, some microseconds, does not count: no_change takes 0.2 ns
# a row. More than a worker has in a batch; `whole call` has the copy of the rows in it, which then leaves the caches.
@pytest.mark.parametrize(("d", "n"), [(8, 200_000), (100, 10_000)])
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

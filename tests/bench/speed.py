"""Rows per second of a kernel, compared with a plain numba loop of the same update."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftway.learners.learner import CLASSIFICATION
from driftway.learners.registry import find
from tests.bench.handwritten import PLAIN

SIZES = ((8, 200_000), (100, 10_000))
"""d, and rows per call: so many that the cost of a call, some microseconds, does not matter (no_change takes 0.2 ns a
row). More than a worker has in a batch; `whole call` includes the copy of the rows, which then exceeds the caches."""
ROUNDS = 9
"""Rounds, in alternation; the best of each counts, because disturbances only make a kernel slower."""

FEWER = {"knn_win": 10, "kernel_norma": 10}
"""Divisors of the number of rows for learners that need microseconds per row."""
COMPARED = 2_000
"""Rows on which kernel and plain loop must agree; later, a learner whose covariance collapses magnifies rounding."""


def stream(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a linear rule, noisy so that learners that only learn from mistakes keep learning."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=d) + np.sqrt(d) * rng.normal(size=n) > 0).astype(np.float64)
    return X, y


def seconds(run: Callable[[], None]) -> float:
    """Return the CPU time of this thread, which excludes most of the machine's other load."""
    started = time.thread_time()
    run()
    return time.thread_time() - started


class Speed(NamedTuple):
    """Rows/s of the kernel alone, of the whole call (which checks and appends the intercept), of the plain loop."""

    kernel: float
    call: float
    plain: float


def measured(name: str, d: int, n: int) -> Speed:
    """Time the three in alternation, with the learner's default parameters."""
    n //= FEWER.get(name, 1)
    X, y = stream(n, d)
    kind, (loop, make) = find(name), PLAIN[name]
    learner = kind(d, task=CLASSIFICATION)
    rows = learner._prepare(X).copy()  # with the intercept; in an ensemble, that of its base
    state, score, plain_score = make(rows.shape[1]), np.empty((n, 1)), np.empty((n, 1))
    learner.predict_then_update(X, y, score)
    loop(rows, y, plain_score, *state)
    same = np.allclose(score[:COMPARED], plain_score[:COMPARED], rtol=1e-6, atol=1e-6)
    assert same, f"{name}: the plain loop is another update"
    runs: tuple[Callable[[], None], ...] = (
        lambda: learner._run(rows, y, score),
        lambda: learner.predict_then_update(X, y, score),
        lambda: loop(rows, y, plain_score, *state),
    )
    times = [[seconds(run) for run in runs] for _ in range(ROUNDS)]
    return Speed(*(n / min(column) for column in zip(*times, strict=True)))

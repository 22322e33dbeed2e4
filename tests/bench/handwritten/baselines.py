"""A baseline, written by hand."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from tests.bench.handwritten.loop import Loop


@kernel
def no_change(rows, y, score, last):
    for t in range(len(y)):
        score[t, 0] = 2.0 * last[0] - 1.0
        last[0] = y[t]


PLAIN: dict[str, Loop] = {"no_change": (no_change, lambda d: (np.ones(1),))}

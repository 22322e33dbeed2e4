"""The k-th smallest of some numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric.selection import kth_smallest


@kernel
def chosen(values, k):
    return kth_smallest(values, k)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 101])
@pytest.mark.parametrize("kind", ["distinct", "tied", "equal", "ascending", "descending", "infinite"])
def test_kth_smallest_is_that_of_the_sorted_numbers(n, kind):
    values = np.random.default_rng(n).normal(size=n)
    values = {
        "distinct": values,
        "tied": np.round(values),
        "equal": np.zeros(n),
        "ascending": np.sort(values),
        "descending": -np.sort(values),
        "infinite": np.where(values > 0.0, math.inf, values),
    }[kind]
    for k in range(n):
        changed = values.copy()
        assert chosen(changed, k) == np.sort(values)[k]
        assert (np.sort(changed) == np.sort(values)).all()

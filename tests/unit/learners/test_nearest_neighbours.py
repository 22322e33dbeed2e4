"""The search for the nearest rows among the last 512, which compares few of them with all others."""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners.auto.neighbours import NEAREST, WINDOW, NearestNeighbours, append, search
from driftway.learners.contract import Array
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import allocate_scratch, as_views, fields_of

N = 3


def rows_of(kind: str, n: int, seed: int) -> Array:
    """Rows all of which are different, or of few values, so that many are equally far, or all equal."""
    rows = np.random.default_rng(seed).normal(size=(n, N))
    return {"different": rows, "few values": np.round(rows), "equal": 0.0 * rows}[kind]


@pytest.mark.parametrize("kind", ["different", "few values", "equal"])
@pytest.mark.parametrize("rows", [0, 1, 4, 5, 70, WINDOW, 2 * WINDOW + 37])
def test_the_nearest_rows_are_those_of_a_full_sort(rows: int, kind: str) -> None:
    sizes, n = {"n": N, "W": WINDOW}, min(rows, WINDOW)
    state, scratch = State(fields_of(NearestNeighbours, sizes)), allocate_scratch(NearestNeighbours, sizes)
    near = as_views(NearestNeighbours, state, **scratch)
    for label, x in enumerate(rows_of(kind, rows, 1)):
        append(near, x, float(label))
    for x in rows_of(kind, 50, 2):
        search(near, x)
        distances = ((near.column[:, :n] - x[:, None]) ** 2).cumsum(axis=0)[-1]
        nearest = np.argsort(distances, kind="stable")[:NEAREST]
        assert near.least.tolist() == [*distances[nearest], *[np.inf] * (NEAREST - len(nearest))]
        assert near.who[: len(nearest)].tolist() == near.label[nearest].tolist()

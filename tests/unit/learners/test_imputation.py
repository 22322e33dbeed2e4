"""Imputed values equal plain Python, however the rows are cut, and after a restart."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from driftway.learners.preprocessing.imputation import CONSTANT, LAST, MEAN, Imputer
from tests.support.examples import examples

FAST = examples(200)
POLICIES = [(CONSTANT, -1.5), (MEAN, math.nan), (LAST, math.nan), (CONSTANT, 0.0), (MEAN, math.nan)]
WATCHED = [2, 0]
VALUES = st.one_of(st.just(math.nan), st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3).map(float))
ROWS = st.lists(st.lists(VALUES, min_size=5, max_size=5), max_size=12)


def filled(rows: list[list[float]]) -> list[list[float]]:
    """Impute in plain Python."""
    out = []
    counts, mean, last = [0] * 5, [0.0] * 5, [0.0] * 5
    for row in rows:
        filled_row = []
        for j, (value, (kind, constant)) in enumerate(zip(row, POLICIES, strict=True)):
            if math.isnan(value):
                filled_row.append({CONSTANT: constant, MEAN: mean[j], LAST: last[j]}[kind])
                continue
            filled_row.append(value)
            counts[j], last[j] = counts[j] + 1, value
            moved = mean[j] + (value - mean[j]) / counts[j]
            mean[j] = moved if math.isfinite(moved) else mean[j]
        out.append(filled_row + [float(math.isnan(row[j])) for j in WATCHED])
    return out


def new_imputer() -> Imputer:
    return Imputer(POLICIES, WATCHED)


def matrix(rows: list[list[float]]) -> np.ndarray:
    return np.array(rows, float).reshape(-1, 5)


@FAST
@given(ROWS, st.lists(st.integers(0, 12), max_size=4))
@example([[1e308] * 5, [-1e308] * 5, [math.nan] * 5], [1])
@example([[math.nan] * 5, [-0.0] * 5, [math.nan] * 5], [])
def test_imputed_values_equal_plain_python_however_batches_are_cut(rows: list[list[float]], cuts: list[int]) -> None:
    whole, cut, again = new_imputer(), new_imputer(), new_imputer()
    expected = np.array(filled(rows)).reshape(-1, 7).tobytes()
    assert whole.transform(matrix(rows)).tobytes() == expected
    places = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
    parts = [matrix(rows[a:b]) for a, b in pairwise(places)]
    assert b"".join(cut.transform(part).tobytes() for part in parts) == expected
    assert cut.state.memory.tobytes() == whole.state.memory.tobytes()
    found = b""
    for part in parts:  # a restart before each part
        fresh = new_imputer()
        fresh.state.memory[:] = again.state.memory
        again = fresh
        found += again.transform(part).tobytes()
    assert found == expected


def test_input_rows_are_not_changed() -> None:
    rows = matrix([[math.nan, 1, math.nan, 2, 3]])
    before = rows.tobytes()
    new_imputer().transform(rows)
    assert rows.tobytes() == before


def test_width_and_size_of_the_state_are_as_declared() -> None:
    filling = new_imputer()
    assert filling.width == 7
    assert filling.state.memory.nbytes == 3 * 8 * 5


@pytest.mark.parametrize("watched", [[], [0, 1, 2, 3, 4]])
def test_indicators_come_after_all_columns(watched: list[int]) -> None:
    rows = matrix([[math.nan, 1, math.nan, 2, 3], [0, math.nan, 0, 0, 0]])
    out = Imputer(POLICIES, watched).transform(rows)
    assert out[:, 5:].tolist() == [[float(np.isnan(row[j])) for j in watched] for row in rows]
    assert not np.isnan(out).any()

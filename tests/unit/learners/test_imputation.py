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
from tests.support.oracle.standardize import Feature

FAST = examples(200)
POLICIES = [(CONSTANT, -1.5), (MEAN, math.nan), (LAST, math.nan), (CONSTANT, 0.0), (MEAN, math.nan)]
WATCHED = [2, 0]
VALUES = st.one_of(st.just(math.nan), st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 3).map(float))
ROWS = st.lists(st.lists(VALUES, min_size=5, max_size=5), max_size=12)


def filled(rows: list[list[float]]) -> list[list[float]]:
    """Impute in plain Python."""
    out = []
    columns, last = [Feature() for _ in POLICIES], [0.0] * len(POLICIES)
    for row in rows:
        filled_row = []
        for j, (value, (kind, constant)) in enumerate(zip(row, POLICIES, strict=True)):
            if math.isnan(value):
                filled_row.append({CONSTANT: constant, MEAN: columns[j].all.mean, LAST: last[j]}[kind])
                continue
            filled_row.append(value)
            last[j] = value
            columns[j].learn(value)
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


def test_means_of_many_rows_equal_plain_python() -> None:
    """Outliers, a change of unit, values missing at random and in a row: all rules of the standardiser apply."""
    rng = np.random.default_rng(3)
    rows = rng.normal(3.0, 2.0, (5000, 5))
    rows[rng.random(rows.shape) < 0.01] = 1e9
    rows[4, 1] = rows[20, 4] = -1e6
    rows[2500:, 1] *= 1000
    rows[2500:, 4] /= 1000
    rows[rng.random(rows.shape) < 0.1] = math.nan
    rows[700:1500, 4] = math.nan
    imputer = new_imputer()
    parts = [imputer.transform(part) for part in np.split(rows, [1, 31, 1024, 1025])]
    assert np.concatenate(parts).tobytes() == np.array(filled(rows.tolist())).tobytes()


def mean_of(values: np.ndarray) -> float:
    """Return what fills in a missing value after these."""
    imputer = Imputer([(MEAN, math.nan)], [])
    imputer.transform(values.reshape(-1, 1))
    return float(imputer.transform(np.array([[math.nan]]))[0, 0])


@pytest.mark.parametrize("row", [0, 3, 50, 3000, 59_000])
def test_an_outlier_does_not_move_a_mean(row: int) -> None:
    values = np.random.default_rng(5).normal(2.0, 1.0, 60_000)
    values[row] = 1e6
    assert abs(mean_of(values) - 2.0) < 0.1
    assert abs(mean_of(values[: row + 600]) - 2.0) < 0.3


@pytest.mark.parametrize(("mean", "factor"), [(5.0, 1000.0), (0.05, 0.001)])
def test_a_mean_follows_a_change_of_unit(mean: float, factor: float) -> None:
    values = np.random.default_rng(6).normal(mean, 1.0, 12_000)
    values[10_000:] *= factor
    assert abs(mean_of(values) / factor - mean) < 0.3


def test_merged_statistics_are_those_of_all_values() -> None:
    values = np.random.default_rng(7).normal(2.0, 3.0, (3000, 1))
    ours, theirs, whole = (Imputer([(MEAN, math.nan)], []) for _ in range(3))
    ours.transform(values[:1000])
    theirs.transform(values[1000:])
    whole.transform(values)
    ours.update(theirs)
    for name in ("seen", "mean", "squares", "last"):
        np.testing.assert_allclose(ours.state[name], whole.state[name], rtol=1e-12)
    ours.transform(np.full((1, 1), 1e9))
    np.testing.assert_allclose(ours.state["mean"], whole.state["mean"], rtol=1e-12)


@pytest.mark.parametrize("columns", [None, [0, 1]])
def test_a_column_that_had_no_mean_begins_anew_with_one(columns: list[int] | None) -> None:
    before, after = Imputer([(LAST, math.nan)] * 2, []), Imputer([(MEAN, math.nan)] * 2, [])
    before.transform(np.full((50, 2), 7.0))
    after.continue_from(before, columns)
    assert not after.state.memory.any()
    before.continue_from(after, columns)
    assert not before.state.memory.any()


def test_input_rows_are_not_changed() -> None:
    rows = matrix([[math.nan, 1, math.nan, 2, 3]])
    before = rows.tobytes()
    new_imputer().transform(rows)
    assert rows.tobytes() == before


def test_width_and_size_of_the_state_are_as_declared() -> None:
    filling = new_imputer()
    assert filling.width == 7
    assert filling.state.memory.nbytes == 8 * 8 * 5
    assert Imputer([(LAST, math.nan), (CONSTANT, 0.0)], WATCHED).state.memory.nbytes == 3 * 8 * 2


@pytest.mark.parametrize("watched", [[], [0, 1, 2, 3, 4]])
def test_indicators_come_after_all_columns(watched: list[int]) -> None:
    rows = matrix([[math.nan, 1, math.nan, 2, 3], [0, math.nan, 0, 0, 0]])
    out = Imputer(POLICIES, watched).transform(rows)
    assert out[:, 5:].tolist() == [[float(np.isnan(row[j])) for j in watched] for row in rows]
    assert not np.isnan(out).any()

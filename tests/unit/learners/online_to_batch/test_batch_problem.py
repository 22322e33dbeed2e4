"""Collecting a stream's blocks into a training set."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from driftway.learners.online_to_batch import training_set as problem_module
from driftway.learners.online_to_batch.training_set import collect


def blocks(n=500, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1e-3, 1.0, 1e6, 5.0] + [0.0, 1e3, -1e6, 0.5]
    X[:, 3] = 2.5
    return np.ascontiguousarray(X), (rng.random(n) < 0.4).astype(float)


def cut(X, y, edges):
    return [(X[a:b], y[a:b]) for a, b in itertools.pairwise([0, *edges, len(X)])]


def test_rows_are_standardised_over_the_whole_set():
    X, y = blocks()
    before = X.copy()
    problem = collect([(X, y)])
    deviation = X.std(axis=0)
    expected = (X - X.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    assert problem.rows[:, :3] == pytest.approx(expected[:, :3], rel=1e-9, abs=1e-9)
    assert (problem.rows[:, 3] == 0.0).all()
    assert (problem.rows[:, 4] == 1.0).all()
    assert problem.deviation[3] == 0.0
    assert problem.mean == pytest.approx(X.mean(axis=0))
    assert problem.deviation[:3] == pytest.approx(deviation[:3])
    assert np.array_equal(problem.y, y)
    assert np.array_equal(X, before)
    assert (problem.n, problem.n_features) == (500, 4)


def test_the_reported_scaling_gives_the_same_bits():
    """A worker that scales with `mean` and `deviation` sees the rows that were learned from."""
    X, y = blocks()
    problem = collect([(X, y)])
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(problem.deviation > 0.0, (X - problem.mean) / problem.deviation, 0.0)
    assert z.tobytes() == problem.rows[:, :-1].tobytes()


@pytest.mark.parametrize("rows", [None, 500, 7, 2000])
@pytest.mark.parametrize("edges", [(), (1, 2, 3), (250, 250), tuple(range(1, 500))])
def test_neither_blocks_nor_the_allocated_size_change_a_bit(rows, edges, monkeypatch):
    monkeypatch.setattr(problem_module, "FIRST_ROOM", 3)
    X, y = blocks()
    whole = collect([(X, y)])
    got = collect(cut(X, y, edges), rows)
    assert got.rows.flags.c_contiguous
    assert got.rows.shape == (500, 5)
    assert got.digest == whole.digest
    for name in ("rows", "y", "mean", "deviation"):
        assert getattr(got, name).tobytes() == getattr(whole, name).tobytes()


def test_problems_with_other_rows_or_labels_have_other_digests():
    X, y = blocks()
    other = y.copy()
    other[17] = 1.0 - other[17]
    assert len({collect([(X, y)]).digest, collect([(X, other)]).digest, collect([(X[:-1], y[:-1])]).digest}) == 3


def broken(row, column, value):
    X, y = blocks()
    (y if column is None else X[:, column])[row] = value
    return cut(X, y, (100, 200))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "there are no rows"),
        ([(np.empty((0, 3)), np.empty(0))], "there are no rows"),
        (broken(150, 1, np.nan), "row 150 has a feature that is not finite"),
        (broken(499, 2, -np.inf), "row 499 has a feature that is not finite"),
        (broken(201, None, 2.0), "row 201 has the label 2;"),
        (broken(0, None, np.nan), "row 0 has the label nan;"),
        (broken(3, 1, 1e200), "feature 1 has values too large"),
        ([(np.zeros((2, 3)), np.zeros(2)), (np.zeros((2, 4)), np.zeros(2))], "row 2 has 4 features, those before it 3"),
    ],
)
def test_unusable_rows_are_refused_with_the_reason(given, message):
    with pytest.raises(ValueError, match=message):
        collect(given)

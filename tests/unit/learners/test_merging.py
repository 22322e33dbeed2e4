"""Learners of several partitions made one (ALGORITHMS.md 15.1)."""

from __future__ import annotations

import numpy as np
import pytest

import learners
from learners.learner import REGRESSION
from learners.merging import Part
from learners.symmetric import inverse

D, WORKERS, SYNCS = 5, 4, 5


def drawn(n, seed=5):
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(n, D))
    return X, X @ np.arange(1.0, D + 1.0) + chance.normal(size=n)


def fed(learner, X, y):
    learner.predict_then_update(X, y, np.empty((len(X), 1)))
    return learner


def test_least_squares_of_several_workers_are_those_of_one():
    whole, *group = (learners.create("rls", D, task=REGRESSION) for _ in range(WORKERS + 1))
    X, y = drawn(1000)
    start = 0
    for _ in range(SYNCS):
        common, parts = group[0].shared(), []
        for k, worker in enumerate(group):
            rows = slice(start, start + 20 + 15 * k)
            start = rows.stop
            parts.append(Part(fed(worker, X[rows], y[rows]).shared(), rows.stop - rows.start))
            fed(whole, X[rows], y[rows])
        assert [worker.merge(common, parts) for worker in group] == [True] * WORKERS
        for worker in group:
            assert worker.state["weight"] == pytest.approx(whole.state["weight"], rel=1e-10)
            assert worker.state["P"] == pytest.approx(whole.state["P"], rel=1e-10, abs=1e-14)
            assert (worker.state["P"] == worker.state["P"].T).all()


def test_weights_are_averaged_by_rows():
    common = learners.create("pa1", D).shared()
    parts = [Part({"weight": np.full(D + 1, value)}, rows) for value, rows in ((1.0, 3), (5.0, 1), (9.0, 0))]
    learner = learners.create("pa1", D)
    assert learner.merge(common, parts)
    assert (learner.state["weight"] == 2.0).all()


def test_least_squares_are_averaged_where_rounding_leaves_no_positive_definite_sum():
    learner = fed(learners.create("rls", D, task=REGRESSION), *drawn(50))
    common = fed(learners.create("rls", D, task=REGRESSION), *drawn(90, seed=6)).shared()
    parts = [Part(learners.create("rls", D, task=REGRESSION).shared(), rows) for rows in (1, 2, 3)]
    assert learner.merge(common, parts)
    fresh = learners.create("rls", D, task=REGRESSION)
    assert learner.state["P"] == pytest.approx(fresh.state["P"], abs=1e-15)
    assert (learner.state["weight"] == 0.0).all()


@pytest.mark.parametrize(("rows", "weight"), [(0, 1.0), (5, np.inf), (5, np.nan)])
def test_what_teaches_nothing_or_is_not_finite_changes_nothing(rows, weight):
    learner = learners.create("pa1", D)
    before = learner.state.memory.copy()
    assert not learner.merge(learner.shared(), [Part({"weight": np.full(D + 1, weight)}, rows)])
    assert (learner.state.memory == before).all()


@pytest.mark.parametrize("name", ["d_odm", "ova:pa1"])
def test_a_learner_that_shares_nothing_learns_alone(name):
    learner = learners.create(name, D)
    assert learner.shared() == {}
    assert not learner.merge({}, [Part({}, 10)])


def test_the_inverse_is_symmetric_and_refuses_what_is_not_positive_definite():
    A = np.random.default_rng(1).normal(size=(30, 8))
    P, L, R = A.T @ A, np.empty((8, 8)), np.empty((8, 8))
    assert inverse(P, L, R)
    assert np.allclose(R @ P, np.eye(8), rtol=0.0, atol=1e-12)
    assert (R == R.T).all()
    P[3, 3] = -1.0
    assert not inverse(P, L, R)

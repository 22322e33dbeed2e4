"""Factorisation of non-negative rows: documented figures, known parts, rows with negative features.

See docs/algorithms/reference-results.md#learners-for-other-tasks.
"""

from __future__ import annotations

import numpy as np
import pytest

from driftway.learners.spec import Spec


def learner_of(text, d):
    return Spec.parse(text).create(d, task="regression", standardize=True)


def errors(learner, X, y=None):
    """Return the squared error of each row."""
    score = np.empty((len(X), 1))
    learner.predict_then_update(np.ascontiguousarray(X, float), np.zeros(len(X)) if y is None else y, score)
    return -score[:, 0]


@pytest.mark.parametrize(
    ("name", "rows", "rank", "expected", "within"),
    [("keystroke", 1600, 4, 0.148, 0.01), ("spam500", 2500, 10, 0.482, 0.005)],
)
def test_errors_are_those_of_the_specification(real_streams, name, rows, rank, expected, within):
    X, _ = real_streams.rows(name, rows)
    assert errors(learner_of(f"online_nmf:rank={rank}", X.shape[1]), X).sum() / (X**2).sum() == pytest.approx(
        expected, abs=within
    )


def test_known_parts_are_recovered():
    rng = np.random.default_rng(0)
    parts = np.kron(np.eye(3), np.ones(4)) * rng.uniform(0.5, 2.0, 12)
    X = rng.exponential(size=(1500, 3)) @ parts
    learner = learner_of("online_nmf:rank=3", 12)
    share = errors(learner, X)[1000:].sum() / (X[1000:] ** 2).sum()
    assert share < 1e-3
    likeness = learner.state["D"] @ (parts / np.linalg.norm(parts, axis=1)[:, None]).T
    assert (likeness.max(axis=0) > 0.97).all()


def test_a_row_with_a_negative_feature_is_scored_only():
    X = np.random.default_rng(1).exponential(size=(50, 4))
    learner = learner_of("online_nmf:rank=2", 4)
    errors(learner, X)
    before = {name: learner.state[name].copy() for name in learner.state}
    (found,) = errors(learner, [[1.0, -1e-9, 2.0, 0.0]])
    assert 0.0 < found < 5.0
    assert learner.state["skipped"][0] == before.pop("skipped")[0] + 1
    assert all(np.array_equal(learner.state[name], array) for name, array in before.items())


def test_targets_are_ignored():
    X = np.random.default_rng(2).exponential(size=(50, 4))
    first, second = learner_of("online_nmf", 4), learner_of("online_nmf", 4)
    assert errors(first, X).tobytes() == errors(second, X, np.arange(50.0)).tobytes()
    assert first.state.memory.tobytes() == second.state.memory.tobytes()

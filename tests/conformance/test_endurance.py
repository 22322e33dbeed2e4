"""Learners stay finite, and matrices symmetric, for as long as a stream may last."""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.registry import LEARNERS, find
from tests.conformance.rows import rows
from tests.conformance.table import ROWS, Case

BLOCK = 100_000


def endure(learner, X, y, blocks):
    """Learn the same block repeatedly, checking the state after each pass; return the last scores."""
    score = np.empty((len(X), 1))
    for _ in range(blocks):
        learner.predict_then_update(X, y, score)
        P = learner.state["P"]
        assert np.isfinite(P).all()
        assert np.isfinite(learner.state["weight"]).all()
        assert P.tobytes() == np.ascontiguousarray(P.T).tobytes()
        assert (np.diag(P) > 0).all()
        assert np.isfinite(score).all()
    return score


@pytest.mark.parametrize("mu", [0.01, 0.2])
def test_weights_stay_finite_over_ten_million_rows(mu):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((BLOCK, 3))
    y = (X @ np.array([1.0, -2.0, 0.5]) + 0.2 > 0).astype(float)
    learner = learners.create("dfop", 3, mu=mu)
    score = endure(learner, X, y, 100)
    assert ((score[:, 0] >= 0) == y).mean() > (0.9 if mu < 0.1 else 0.8)
    assert learner.state["skipped"][0] == 0


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("rls", {}), ("dfop", {"mu": 0.001}), ("dfop", {"mu": 0.01}), ("dfop", {"mu": 0.05}), ("dfop", {"mu": 0.5})],
)
def test_states_stay_sound_over_a_million_rows_with_a_constant_and_a_duplicate(name, parameters):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((BLOCK, 5))
    X[:, 1], X[:, 2] = 3.7, X[:, 0]
    y = (X[:, 0] + X[:, 3] > 0).astype(float)
    learner = learners.create(name, 5, **parameters)
    score = endure(learner, X, y, 10)
    assert learner.state["skipped"][0] == 0
    assert ((score[:, 0] >= 0) == y).mean() > 0.7


def test_rows_of_one_direction_do_not_cause_wind_up():
    learner = learners.create("dfop", 4, mu=0.05, p_max=100.0, intercept=False)
    X = np.zeros((BLOCK, 4))
    X[:, 0] = np.random.default_rng(3).standard_normal(BLOCK)
    endure(learner, X, (X[:, 0] > 0).astype(float), 2)
    assert np.diag(learner.state["P"]).max() <= 100.0 * (1.0 + 1e-9)


@pytest.mark.parametrize("mu", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_weights_equal_the_discounted_batch_solution(mu, task):
    rng = np.random.default_rng(4)
    n, d, delta = 300, 4, 2.0
    X, y = rng.standard_normal((n, d)), rng.integers(0, 2, n).astype(float)
    learner = learners.create("dfop", d, task=task, mu=mu, delta=delta, intercept=False)
    learner.predict_then_update(X, y, np.empty((n, 1)))
    weigh = (1.0 - mu) ** np.arange(n - 1, -1, -1)
    target = 2 * y - 1 if task == "classification" else y
    R = (X * weigh[:, None]).T @ X + delta * (1.0 - mu) ** n * np.eye(d)
    np.testing.assert_allclose(
        learner.state["weight"], np.linalg.solve(R, X.T @ (weigh * target)), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("standardize", [False, True])
def test_dfop_without_forgetting_is_rls(standardize):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((500, 4)), rng.integers(0, 2, 500).astype(float)
    results = []
    for name, parameters in [("rls", {}), ("dfop", {"mu": 0.0})]:
        score = np.empty((500, 1))
        learners.create(name, 4, standardize=standardize, **parameters).predict_then_update(X, y, score)
        results.append(score.tobytes())
    assert results[0] == results[1]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_is_finite_after_ten_million_rows(name):
    """Two columns are equal, one is constant; the concept changes every 50,000 rows."""
    learner = Case(ROWS[name], find(name).tasks[-1]).make(4)
    X, y = rows(learner.kind, BLOCK, 4)
    X[:, 1], X[:, 2] = X[:, 0], 3.7
    X = ROWS[name].formed(X)
    score = np.empty((BLOCK, learner.n_scores))
    for _ in range(100):
        learner.predict_then_update(X, y, score)
        assert np.isfinite(score).all()
        for field in learner.state:
            assert np.isfinite(learner.state[field].astype(float)).all(), field

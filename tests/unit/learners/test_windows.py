"""Windowed learners: the optimum of the dual, weights as sums over the window, and what a window forgets."""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from tests.conformance.checks import scores

SVMS = ("svm_win", "svm_fix", "svm_ada")


def stream(n, d=3, seed=41):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n) > 0).astype(float)
    return X, y


def primal_and_dual(w, X, y, C, alpha=None):
    """Return |w|^2 / 2 + C sum of hinge losses and, given coefficients, their sum less |w|^2 / 2."""
    primal = w @ w / 2 + C * np.maximum(0.0, 1.0 - (2 * y - 1) * (X @ w)).sum()
    return primal, None if alpha is None else alpha.sum() - w @ w / 2


def test_enough_sweeps_close_the_gap_between_primal_and_dual():
    X, y = stream(130)
    learner = learners.create("svm_win", 3, window=100, C=0.7, tol=1e-10, max_sweeps=20_000, intercept=False)
    scores(learner, X, y)
    w, alpha = learner.state["weight"], learner.state["alpha"]
    primal, dual = primal_and_dual(w, X[-100:], y[-100:], 0.7, alpha)
    assert (alpha >= 0).all()
    assert (alpha <= 0.7).all()
    assert primal == pytest.approx(dual, rel=1e-6)


def test_trained_on_the_same_rows_all_svms_find_the_same_optimum():
    X, y = stream(100)
    exact = {"tol": 1e-10, "max_sweeps": 20_000}
    sizes = {
        "svm_win": {"window": 100, "retrain_every": 100},
        "svm_fix": {"window": 100, "batch": 100, "spread": 1},
        "svm_ada": {"batch": 100, "max_batches": 1, "spread": 1},
    }
    found = []
    for name in SVMS:
        learner = learners.create(name, 3, **sizes[name], **exact)
        scores(learner, X, y)
        found.append(learner.state["weight"].copy())
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], atol=1e-6)


def test_weights_stay_the_sum_of_the_window_after_wild_rows():
    X, y = stream(3000)
    X[::97] *= 1e9
    learner = learners.create("svm_win", 3, window=40, intercept=False)
    for start in range(0, 3000, 500):
        scores(learner, X[start : start + 500], y[start : start + 500])
        s = learner.state
        made = ((s["alpha"] * s["ring.Y"])[:, None] * s["ring.X"]).sum(axis=0)
        np.testing.assert_allclose(s["weight"], made, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", SVMS)
def test_rows_of_zero_or_infinite_norm_do_not_enter_the_window(name):
    learner = learners.create(name, 2, intercept=False)
    scores(learner, np.array([[0.0, 0.0], [1e200, 1.0], [1e-200, 0.0]]), np.ones(3))
    assert learner.state["skipped"][0] == 3
    assert learner.state["ring.taken"][0] == 0


BATCHES = (("svm_fix", {"window": 120, "batch": 50}), ("svm_ada", {"max_batches": 3, "batch": 50}))


@pytest.mark.parametrize("spread", [1, 8, 50])
@pytest.mark.parametrize(("name", "parameters"), BATCHES)
def test_the_model_changes_only_at_trainings(name, parameters, spread):
    X, y = stream(449)
    learner = learners.create(name, 3, **parameters, spread=spread)
    changes = []
    for t in range(449):
        before = learner.state["weight"].copy()
        scores(learner, X[t : t + 1], y[t : t + 1])
        if (learner.state["weight"] != before).any():
            changes.append(t + 1)
    assert [change // 50 for change in changes] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert max(change % 50 for change in changes) == spread - 1


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize(("name", "parameters"), BATCHES)
def test_spread_training_equals_training_at_once(name, parameters, kernel):
    X, y = stream(500)
    at_once = learners.create(name, 3, **parameters, kernel=kernel, spread=1)
    late = learners.create(name, 3, **parameters, kernel=kernel, spread=13)
    expected, got = np.empty((50, 1)), np.empty((50, 1))
    scores(late, X[:12], y[:12])
    for end in range(50, 451, 50):
        scores(at_once, X[end - 50 : end], y[end - 50 : end])
        at_once.predict(X[:50], expected)
        scores(late, X[end - 38 : end + 12], y[end - 38 : end + 12])
        late.predict(X[:50], got)
        if kernel == "linear":
            assert got.tobytes() == expected.tobytes()
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_no_row_does_more_than_its_share_of_a_training():
    X, y = stream(500)
    learner = learners.create("svm_fix", 3, window=200, batch=100, spread=40, tol=1e-12)
    visited = []
    for t in range(500):
        scores(learner, X[t : t + 1], y[t : t + 1])
        s = learner.state
        visited.append(int(s["course.sweeps"][0] * 200 + s["course.place"][0]) if s["course.rows"][0] else 0)
    # 10 sweeps over 200 rows in 40 parts of 50 visits, starting at the last row of the batch.
    assert visited[399:440] == [*range(50, 2000, 50), 0, 0]
    assert not any(visited[440:499])


@pytest.mark.parametrize("name", SVMS)
def test_the_gaussian_kernel_learns_a_circle(name):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 2))
    y = ((X**2).sum(axis=1) < 1.4).astype(float)
    right = {}
    for kernel in ("linear", "gaussian"):
        score = scores(learners.create(name, 2, kernel=kernel), X, y)[500:, 0]
        right[kernel] = ((score >= 0) == y[500:]).mean()
    assert right["linear"] < 0.7
    assert right["gaussian"] > 0.93


def test_enough_sweeps_close_the_gap_with_a_kernel():
    X, y = stream(130)
    exact = {"tol": 1e-10, "max_sweeps": 20_000}
    learner = learners.create("svm_win", 3, window=100, kernel="gaussian", gamma=0.4, C=0.7, intercept=False, **exact)
    scores(learner, X, y)
    X, y = X[-100:], y[-100:]
    score = np.empty((100, 1))
    learner.predict(X, score)
    alpha = learner.state["alpha"]
    signed = alpha * learner.state["ring.Y"]
    squared_norm = signed @ learner.state["ring.block"] @ signed
    primal = squared_norm / 2 + 0.7 * np.maximum(0.0, 1.0 - (2 * y - 1) * score[:, 0]).sum()
    assert primal == pytest.approx(alpha.sum() - squared_norm / 2, rel=1e-6)


def test_kernel_values_stay_the_sum_of_the_window():
    X, y = stream(3000)
    learner = learners.create("svm_win", 3, window=40, kernel="gaussian")
    for start in range(0, 3000, 490):
        scores(learner, X[start : start + 490], y[start : start + 490])
        s = learner.state
        made = s["ring.block"] @ (s["alpha"] * s["ring.Y"])
        np.testing.assert_allclose(s["value"], made, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("svm_fix", {"batch": 5}, "spread must be <= batch = 5, got 10"),
        ("svm_ada", {"kernel": "gaussian", "max_batches": 50}, "kernel = gaussian is for at most 5000 rows"),
        ("svm_win", {"kernel": "gaussian", "window": 5001}, "this window has 5001"),
    ],
)
def test_conflicting_parameters_are_refused(name, parameters, message):
    with pytest.raises(ParameterError, match=message):
        learners.create(name, 3, **parameters)


def test_svm_ada_forgets_what_the_newest_batch_contradicts():
    X, y = stream(1100)
    y[1000:] = 1.0 - y[1000:]
    right = {}
    for name, parameters in (("svm_ada", {"spread": 1}), ("svm_fix", {"spread": 1, "window": 1000})):
        learner = learners.create(name, 3, **parameters)
        scores(learner, X, y)
        score = np.empty((100, 1))
        learner.predict(X[1000:], score)
        right[name] = ((score[:, 0] >= 0) == y[1000:]).mean()
    assert right["svm_ada"] > 0.8
    assert right["svm_fix"] < 0.2


def test_a_nearest_neighbour_is_scored_by_both_distances():
    learner = learners.create("knn_win", 1)
    X = np.array([[0.0], [4.0], [1.0], [4.0], [2.0]])
    score = scores(learner, X, np.array([0.0, 1.0, np.nan, np.nan, np.nan]))[:, 0]
    # No row yet; class 0 only; at distance 1 from class 0 and 3 from class 1; on a row of class 1; in the middle.
    np.testing.assert_allclose(score, [0.0, -1.0, (1 - 3) / 4, 1.0, 0.0], atol=1e-15)


def test_scores_of_several_classes_are_shares_of_the_neighbours():
    learner = learners.create("knn_win", 1, 4)
    scores(learner, np.array([[0.0], [3.0], [7.0]]), np.array([0.0, 1.0, 2.0]))
    got = np.empty((1, 4))
    learner.predict(np.array([[1.0]]), got)
    near = np.array([1.0, 1 / 2, 1 / 6, 0.0])
    np.testing.assert_allclose(got[0], near / near.sum())


def test_of_rows_equally_far_the_newest_counts():
    X, y = np.array([[1.0], [1.0], [-1.0], [1.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    learner = learners.create("knn_win", 1, k=2)
    scores(learner, X, y)
    got = np.empty((1, 1))
    learner.predict(np.zeros((1, 1)), got)
    assert got[0, 0] == 1.0


def test_knn_win_forgets_rows_outside_its_window():
    learner = learners.create("knn_win", 1, window=2)
    scores(learner, np.array([[0.0], [5.0], [6.0]]), np.array([1.0, 0.0, 0.0]))
    got = np.empty((1, 1))
    learner.predict(np.zeros((1, 1)), got)
    assert got[0, 0] == -1.0


def test_more_neighbours_than_rows_are_refused():
    with pytest.raises(ParameterError, match="k must be <= window = 5, got 6"):
        learners.create("knn_win", 3, window=5, k=6)

"""Sparse learners against their definitions: the objective of a step, special cases, and zero weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from tests.support.learning import learned, scores

NAMES = ("truncated_gradient", "fobos_l1", "rda_l1", "ftrl_proximal")


def nonzero(learner):
    """Return the number of features with a weight, not counting the intercept."""
    d = learner.n_features
    if learner.name == "ftrl_proximal":
        return np.count_nonzero(abs(learner.state["z"][:d]) > learner.parameters.l1)
    return np.count_nonzero(learner.state["weight"][:d])


def data(n=400, d=4, seed=31):
    """Return rows in which every other feature matters."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, ::2].sum(axis=1) + 0.3 + 0.5 * rng.standard_normal(n) > 0).astype(float)


def slope(s, y):
    """Return the derivative of the logistic loss by the score."""
    sign = 2.0 * y - 1.0
    return -sign / (1.0 + math.exp(sign * s))


def test_truncation_at_every_row_without_bound_is_the_clipped_subgradient_step():
    X, y = data()
    eta, gravity = 0.2, 0.05
    learner, _ = learned("truncated_gradient", X, y, eta=eta, gravity=gravity, theta=0.0, K=1, intercept=False)
    w = np.zeros(4)
    for x, label in zip(X, y, strict=True):
        u = w - eta * slope(w @ x, label) * x
        w = u - eta * gravity * np.sign(u)
        w[w * u < 0.0] = 0.0  # crossed zero
    np.testing.assert_allclose(learner.state["weight"], w, rtol=1e-9, atol=1e-12)


def test_gravity_above_theta_equals_rounding():
    X, y = data()
    pulled, score = learned("truncated_gradient", X, y, gravity=1.0, eta=0.1, K=10, theta=0.05)
    rounded, expected = learned("truncated_gradient", X, y, mode="round", eta=0.1, K=10, theta=0.05)
    assert score.tobytes() == expected.tobytes()
    assert 0 < nonzero(pulled) == nonzero(rounded) < 4


def test_gravity_acts_at_every_kth_row_only():
    X, y = data(n=29)
    for rows in (9, 10, 29):
        pulled, _ = learned("truncated_gradient", X[:rows], y[:rows], gravity=0.5, intercept=False)
        free, _ = learned("ogd_logistic", X[:rows], y[:rows], schedule="const", eta=0.1, intercept=False)
        assert (pulled.state["weight"] == free.state["weight"]).all() == (rows < 10)


def test_rounding_needs_a_bound():
    with pytest.raises(ParameterError, match="theta must be > 0 in mode round"):
        learners.create("truncated_gradient", 3, mode="round", theta=0.0)


@pytest.mark.parametrize(
    ("name", "parameters", "free"),
    [
        ("truncated_gradient", {"gravity": 0.0, "eta": 0.3}, {"schedule": "const", "eta": 0.3}),
        ("fobos_l1", {"lam": 0.0}, {}),
        ("fobos_l1", {"eta_half_factor": 0.0, "schedule": "inv_t", "eta": 2.0}, {"schedule": "inv_t", "eta": 2.0}),
    ],
)
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_without_a_penalty_sparse_learners_are_gradient_descent(name, parameters, free, loss):
    X, y = data()
    _, score = learned(name, X, y, loss=loss, **parameters)
    _, expected = learned(f"ogd_{loss}", X, y, **free)
    assert score.tobytes() == expected.tobytes()


def aside(w, rng):
    """Yield points around a minimum, some of them on the axes."""
    for size in (1.0, 0.1, 1e-3):
        for _ in range(40):
            step = size * rng.standard_normal(len(w))
            yield w + step
            yield np.where(rng.random(len(w)) < 0.5, w, w + step)
            yield np.where(rng.random(len(w)) < 0.5, 0.0, w + step)


@pytest.mark.parametrize("lam", [0.01, 0.3])
def test_fobos_minimises_distance_and_penalty(lam):
    X, y = data(60)
    rng = np.random.default_rng(32)
    learner = learners.create("fobos_l1", 4, schedule="const", eta=0.5, lam=lam, eta_half_factor=0.7, intercept=False)
    score, zeros = np.empty((1, 1)), 0
    for x, label in zip(X, y, strict=True):
        before = learner.state["weight"].copy()
        learner.predict_then_update(x[None], np.array([label]), score)
        u = before - 0.5 * slope(before @ x, label) * x

        def objective(w, u=u):
            return 0.5 * ((w - u) ** 2).sum() + 0.7 * 0.5 * lam * abs(w).sum()

        least = objective(learner.state["weight"])
        assert all(objective(w) >= least - 1e-12 for w in aside(learner.state["weight"], rng))
        zeros += 4 - nonzero(learner)
    assert zeros > 0


@pytest.mark.parametrize("decay", [0.0, 0.05])
def test_rda_minimises_over_the_average_gradient(decay):
    X, y = data(60)
    rng = np.random.default_rng(33)
    learner = learners.create("rda_l1", 4, gamma=2.0, lam=0.1, decay=decay, intercept=False)
    score, gradients, zeros = np.empty((1, 1)), [], 0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        gradients.append(slope(learner.state["weight"] @ x, label) * x)
        learner.predict_then_update(x[None], np.array([label]), score)
        average, memory = np.mean(gradients, axis=0), t
        if decay and t > 1.0 / decay:
            memory = 1.0 / decay
            weigh = np.where(np.arange(t) < memory, 1.0 / memory, decay)  # the first rows equally
            weigh *= (1.0 - decay) ** np.minimum(t - memory, t - 1 - np.arange(t))
            average = weigh @ np.array(gradients)
        np.testing.assert_allclose(learner.state["average"], average, rtol=1e-9, atol=1e-12)

        def objective(w, average=average, memory=memory):
            return average @ w + 0.1 * abs(w).sum() + 2.0 / (2.0 * math.sqrt(memory)) * w @ w

        least = objective(learner.state["weight"])
        assert all(objective(w) >= least - 1e-12 for w in aside(learner.state["weight"], rng))
        zeros += 4 - nonzero(learner)
    assert zeros > 0


def test_ftrl_scores_with_the_weights_of_its_sums():
    X, y = data()
    alpha, beta, l1, l2 = 0.5, 0.7, 1.5, 0.1
    learner = learners.create("ftrl_proximal", 4, alpha=alpha, beta=beta, l1=l1, l2=l2)
    rows, score, zeros = np.hstack([X, np.ones((400, 1))]), np.empty((1, 1)), 0
    expected_z, expected_n = np.zeros(5), np.zeros(5)
    for x, row, label in zip(X, rows, y, strict=True):
        z, n = learner.state["z"].copy(), learner.state["n"].copy()
        threshold = np.array([l1] * 4 + [0.0])
        w = np.where(abs(z) <= threshold, 0.0, -(z - np.sign(z) * threshold) / ((beta + np.sqrt(n)) / alpha + l2))
        zeros += int((w[:4] == 0.0).sum())
        assert nonzero(learner) == np.count_nonzero(w[:4])
        learner.predict_then_update(x[None], np.array([label]), score)
        assert score[0, 0] == pytest.approx(w @ row, rel=1e-12, abs=1e-14)
        g = (1.0 / (1.0 + math.exp(-(w @ row))) - label) * row
        expected_z += g - (np.sqrt(expected_n + g * g) - np.sqrt(expected_n)) / alpha * w
        expected_n += g * g
        np.testing.assert_allclose(learner.state["z"], expected_z, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(learner.state["n"], expected_n, rtol=1e-12)
    assert 0 < zeros < 1600


def test_ftrl_continues_learning_after_a_large_gradient():
    learner = learners.create("ftrl_proximal", 1, intercept=False)
    X, y, score = np.array([[1e9], [1.0]]), np.array([1.0, 0.0]), np.empty((2, 1))
    learner.predict_then_update(X[:1], y[:1], score[:1])
    z, n = learner.state["z"][0], learner.state["n"][0]
    learner.predict_then_update(X[1:], y[1:], score[1:])
    g = 1.0 / (1.0 + math.exp(-score[1, 0]))
    w = score[1, 0]
    sigma = g * g / (0.1 * 2.0 * math.sqrt(n))  # 0 if computed as the difference of the roots
    assert math.sqrt(n + g * g) - math.sqrt(n) == 0.0
    assert learner.state["z"][0] == pytest.approx(z + g - sigma * w, rel=1e-15)


@pytest.mark.parametrize(
    ("name", "parameter", "values"),
    [
        ("truncated_gradient", "gravity", (0.0, 0.02, 0.3, 100.0)),
        ("fobos_l1", "lam", (0.0, 0.02, 0.3, 100.0)),
        ("rda_l1", "lam", (0.0, 0.02, 0.2, 100.0)),
        ("ftrl_proximal", "l1", (0.0, 5.0, 20.0, 1e9)),
    ],
)
def test_a_larger_penalty_leaves_fewer_weights_and_the_intercept(name, parameter, values):
    X, y = data(2000, 20)
    X[:, 10:] = 0.0 * X[:, 10:]  # features that never occur
    y[:] = (X[:, 0] + X[:, 2] > -1.0).astype(float)
    every_row = {"theta": 0.0, "K": 1} if name == "truncated_gradient" else {}
    counts, found = [], []
    for value in values:
        learner, score = learned(name, X, y, **{parameter: value, **every_row})
        counts.append(nonzero(learner))
        found.append(score)
    assert counts[0] == 10
    assert counts == sorted(counts, reverse=True)
    assert 0 < counts[2] < 10
    assert counts[3] == 0
    assert (found[3][1000:] > 0.0).all(), "of the intercept alone, which is not penalised"


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_would_overflow_are_counted_and_change_nothing(name):
    X, y = data(52, 2)
    learner, _ = learned(name, X, y, intercept=False)
    for key in {"weight", "average", "z"} & set(learner.state):
        learner.state[key][:] = 1e10
    before = {key: learner.state[key].copy() for key in learner.state if key not in ("learned", "skipped")}
    assert scores(learner, [[1e308, 1e308], [1e308, -1e308]], [0.0, 1.0]).tolist() == [0.0, 0.0]
    assert learner.state["skipped"][0] == 2
    assert all((learner.state[key] == values).all() for key, values in before.items())


def test_ftrl_skips_gradients_whose_square_overflows():
    learner = learners.create("ftrl_proximal", 2, intercept=False)
    learner.predict_then_update(np.array([[1.0, 1e200]]), np.ones(1), np.empty((1, 1)))
    assert learner.state["skipped"][0] == 1
    assert not learner.state["z"].any()
    assert not learner.state["n"].any()

"""Bayesian learners against the posteriors they represent."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from driftway import learners
from tests.support.learning import learned, scores


def data(n=300, d=4, seed=41):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n) > 0).astype(float)


def test_beta_bernoulli_is_the_conjugate_posterior():
    y = np.random.default_rng(42).integers(0, 2, 500).astype(float)
    y[::7] = math.nan
    learner, _ = learned("beta_bernoulli", np.zeros((500, 1)), y, a0=2.0, b0=0.5)
    ones, zeros = 2.0 + np.nansum(y), 0.5 + np.nansum(1.0 - y)
    assert [learner.state["a"][0], learner.state["b"][0]] == [ones, zeros]
    log_odds = scores(learner, np.zeros((1, 1)), [math.nan])[0]
    assert 1.0 / (1.0 + math.exp(-log_odds)) == pytest.approx(ones / (ones + zeros))


def test_beta_bernoulli_decays_to_its_prior_and_follows_a_drift():
    decay, y = 0.9, np.concatenate([np.ones(200), np.zeros(200)])
    learner, score = learned("beta_bernoulli", np.zeros((400, 1)), y, a0=3.0, b0=2.0, decay=decay)
    assert learner.state["a"][0] == pytest.approx(3.0)
    assert learner.state["b"][0] == pytest.approx(2.0 + 1.0 / (1.0 - decay))
    assert ((score >= 0.0) == y)[220:].all()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_bayes_linear_without_a_random_walk_is_least_squares(task):
    X, y = data()
    _, score = learned("bayes_linear", X, y, task, noise_var=3.0, prior_var=0.5)
    _, expected = learned("rls", X, y, task, delta=6.0)
    np.testing.assert_allclose(score, expected, rtol=1e-9, atol=1e-9)
    _, score = learned("bayes_linear", X, y, task)
    _, expected = learned("rls", X, y, task)
    assert score.tobytes() == expected.tobytes()


def test_bayes_linear_is_the_gaussian_posterior():
    X, y = data()
    learner, _ = learned("bayes_linear", X, y, "regression", noise_var=0.3, prior_var=2.0, intercept=False)
    covariance = np.linalg.inv(np.eye(4) / 2.0 + X.T @ X / 0.3)
    np.testing.assert_allclose(learner.state["P"], covariance, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(learner.state["weight"], covariance @ X.T @ y / 0.3, rtol=1e-8, atol=1e-12)


def test_bayes_linear_with_a_random_walk_is_the_posterior_of_the_last_weights():
    X, y = data(40, 2)
    q, noise, prior = 0.05, 0.3, 2.0
    learner, _ = learned("bayes_linear", X, y, "regression", noise_var=noise, prior_var=prior, q=q, intercept=False)
    # Condition on all rows at once: the target of row i and the weights after row n share the walk up to row i.
    i, n = np.arange(40), 40
    shared = prior + q * np.minimum.outer(i, i)
    targets = shared * (X @ X.T) + noise * np.eye(n)
    cross = (prior + q * i)[:, None] * X  # cov(y_i, w_n)
    mean = cross.T @ np.linalg.solve(targets, y)
    covariance = (prior + q * n) * np.eye(2) - cross.T @ np.linalg.solve(targets, cross)
    np.testing.assert_allclose(learner.state["weight"], mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(learner.state["P"], covariance, rtol=1e-8, atol=1e-10)


def test_bayes_linear_has_a_predictive_variance():
    X, y = data()
    learner, _ = learned("bayes_linear", X[:20], y[:20], noise_var=0.3, q=1e-2)
    before = learner.state.memory.tobytes()
    got = learner.predictive_variance(X[20:])
    assert learner.state.memory.tobytes() == before
    rows = np.hstack([X[20:], np.ones((280, 1))])
    np.testing.assert_allclose(got, [0.3 + x @ learner.state["P"] @ x for x in rows], rtol=1e-12)
    with pytest.raises(ValueError, match="X has shape"):
        learner.predictive_variance(X[:, :2].copy())


def test_bayes_linear_errors_match_the_predictive_variance():
    rng = np.random.default_rng(43)
    n, q, noise = 4000, 1e-3, 0.5
    X = rng.standard_normal((n, 3))
    w = rng.standard_normal(3) + np.cumsum(math.sqrt(q) * rng.standard_normal((n, 3)), axis=0)
    y = (X * w).sum(axis=1) + math.sqrt(noise) * rng.standard_normal(n)
    learner = learners.create("bayes_linear", 3, task="regression", noise_var=noise, q=q, intercept=False)
    score, variance = np.empty((n, 1)), np.empty(n)
    for i in range(n):
        variance[i] = learner.predictive_variance(X[i : i + 1])[0]
        learner.predict_then_update(X[i : i + 1], y[i : i + 1], score[i : i + 1])
    assert ((y - score[:, 0]) ** 2 / variance).mean() == pytest.approx(1.0, abs=0.08)  # 3.5 standard errors


@pytest.mark.parametrize("p_max", [0.0, 5.0])
def test_bayes_linear_bounds_the_variance_of_a_feature_that_is_always_0(p_max):
    X, y = data(20_000, 3)
    X[:, 2] = 0.0
    learner, _ = learned("bayes_linear", X, y, q=1e-2, p_max=p_max)
    P = learner.state["P"]
    assert P.tobytes() == np.ascontiguousarray(P.T).tobytes()
    assert P[2, 2] == pytest.approx(p_max or 1.0 + 20_000 * 1e-2)
    assert np.diag(P)[:2].max() < 1.0
    assert learner.state["skipped"][0] == 0


def posterior(x, y, mean, covariance, beta):
    """Integrate N(w; mean, covariance) Phi(y w.x / beta) over two weights; return mass, mean and covariance."""
    nodes = np.linspace(-9.0, 9.0, 181)
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    w = mean + grid @ np.linalg.cholesky(covariance).T
    prior = np.exp(-0.5 * (grid**2).sum(axis=1)) / (2.0 * math.pi) * (nodes[1] - nodes[0]) ** 2
    joint = prior * np.array([0.5 * math.erfc(u) for u in -y * (w @ x) / (beta * math.sqrt(2.0))])
    mass = joint.sum()
    mu = joint @ w / mass
    return mass, mu, (w - mu).T @ ((w - mu) * joint[:, None]) / mass


@pytest.mark.parametrize("cov", ["full", "diag"])
def test_bayes_probit_matches_the_moments_of_the_posterior(cov):
    rng = np.random.default_rng(44)
    for _ in range(25):
        A = rng.standard_normal((2, 2))
        sigma = A @ A.T + 0.1 * np.eye(2) if cov == "full" else np.diag(rng.uniform(0.1, 2.0, 2))
        sigma = (sigma + sigma.T) / 2.0
        x, y, mu = rng.standard_normal(2), float(rng.integers(0, 2)), rng.standard_normal(2)
        beta = rng.uniform(0.7, 2.0)
        learner = learners.create("bayes_probit", 2, beta=beta, q=0.0, cov=cov, intercept=False)
        learner.state["weight"][:] = mu
        learner.state["covariance"][:] = sigma if cov == "full" else np.diag(sigma)
        score = np.empty((1, 1))
        learner.predict_then_update(x[None], np.array([y]), score)
        mass, mean, covariance = posterior(x, 2.0 * y - 1.0, mu, sigma, beta)
        np.testing.assert_allclose(learner.state["weight"], mean, rtol=1e-8, atol=1e-8)
        expected = covariance if cov == "full" else np.diag(covariance)
        np.testing.assert_allclose(learner.state["covariance"], expected, rtol=1e-8, atol=1e-8)
        assert NormalDist().cdf((2.0 * y - 1.0) * score[0, 0]) == pytest.approx(mass, abs=1e-8), (
            "the probability of the label"
        )


def moved(u, cov):
    """Return mean and variance of one weight, variance 1 before, after a row of class 1 with margin u deviations."""
    learner = learners.create("bayes_probit", 1, q=0.0, cov=cov, intercept=False)
    learner.state["weight"][:] = u * math.sqrt(2.0)
    learner.predict_then_update(np.ones((1, 1)), np.ones(1), np.empty((1, 1)))
    assert learner.state["skipped"][0] == 0
    return learner.state["weight"][0], learner.state["covariance"].ravel()[0]


@pytest.mark.parametrize("cov", ["full", "diag"])
def test_bayes_probit_is_accurate_far_in_either_tail(cov):
    inside, outside = moved(-30.0 + 1e-9, cov), moved(-30.0 - 1e-9, cov)
    assert inside == pytest.approx(outside, rel=2e-3), "no step where the asymptotic form takes over"
    for u in (-40.0, -1e3, -1e150):
        mean, variance = moved(u, cov)
        assert mean == pytest.approx(u * math.sqrt(2.0) / 2.0, rel=1e-2), "half way, as the variance is"
        assert 0.5 - 1e-9 <= variance < 0.51
    for u in (40.0, 1e3, 1e150):
        assert moved(u, cov) == (u * math.sqrt(2.0), 1.0), "sure and right: nothing to learn"


@pytest.mark.parametrize("cov", ["full", "diag"])
def test_bayes_probit_variance_grows_back_up_to_the_prior(cov):
    X, y = data(400, 2)
    frozen, _ = learned("bayes_probit", X, y, cov=cov, q=0.0, prior_var=2.0)
    alive, _ = learned("bayes_probit", X, y, cov=cov, q=1e-2, prior_var=2.0)

    def variances(learner):
        covariance = learner.state["covariance"]
        return np.diag(covariance).copy() if cov == "full" else covariance.copy()

    assert (variances(frozen) < variances(alive)).all()
    before = alive.state.memory.tobytes()
    scores(alive, X, np.full(400, math.nan))
    assert alive.state.memory.tobytes() == before
    for _ in range(3):
        scores(alive, X * 1e-9, y)  # only the intercept learns
    assert variances(alive)[:2].tolist() == pytest.approx([2.0, 2.0])
    assert variances(alive).max() <= 2.0


@pytest.mark.parametrize("cov", ["full", "diag"])
def test_bayes_probit_counts_rows_that_cannot_be_learned(cov):
    X, y = data(100, 2)
    learner, _ = learned("bayes_probit", X, y, cov=cov, q=0.0, intercept=False)
    before = {key: learner.state[key].copy() for key in learner.state}
    scores(learner, [[0.0, 0.0], [1e308, 1e308]], [0.0, 1.0])
    assert learner.state["skipped"][0] == before["skipped"][0] + 2
    assert all((learner.state[key] == before[key]).all() for key in before if key != "skipped")

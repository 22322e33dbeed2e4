"""Covariances per class: optimal and tight steps, sound matrices, drift, and special cases.

See docs/algorithms/second_order.md#second-order-learners and docs/algorithms/multiclass.md#multiclass-learners.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.parameters import ParameterError
from tests.conformance.rows import hostile

NAMES = ("mc_cw", "mc_cw_stdev", "mc_arow", "mc_nherd", "mc_scw1", "mc_scw2")
FORMS = ("full", "diag")
d = 3


def covariance(rng, n=d):
    A = rng.standard_normal((n, n))
    P = A @ A.T + 0.1 * np.eye(n)
    return (P + P.T) / 2


def stepped(name, K=4, n=200, **parameters):
    """Yield (rng, row, label, best wrong class, mean and covariance before, and after) from random states."""
    rng = np.random.default_rng(51)
    for _ in range(n):
        learner = learners.create(name, d, K, intercept=False, cov="full", **parameters)
        weight, sigma = learner.state["weight"], learner.state["covariance"]
        weight[:] = rng.standard_normal(weight.shape)
        for c in range(K):
            sigma[c] = covariance(rng)
        x, label = rng.standard_normal(d), int(rng.integers(0, K))
        before = weight.copy(), sigma.copy()
        score = np.empty((1, learner.n_scores))
        learner.predict_then_update(x[None], np.array([float(label)]), score)
        S = before[0] @ x
        rival = max((c for c in range(K) if c != label), key=lambda c: S[c])
        yield rng, x, label, rival, before, (weight, sigma)


@pytest.mark.parametrize("name", NAMES)
def test_one_row_moves_two_classes_apart(name):
    moved = 0
    for _, x, label, rival, (mu, sigma), (mean, narrowed) in stepped(name):
        others = [c for c in range(4) if c not in (label, rival)]
        assert (mean[others] == mu[others]).all()
        assert (narrowed[others] == sigma[others]).all()
        if (mean == mu).all():
            assert (narrowed == sigma).all()
            continue
        moved += 1
        assert mean[label] @ x > mu[label] @ x
        assert mean[rival] @ x < mu[rival] @ x
        for c in (label, rival):
            assert (narrowed[c] == narrowed[c].T).all()
            assert x @ narrowed[c] @ x < x @ sigma[c] @ x
    assert 20 < moved <= 200


def joint(mu, sigma, x, label, rival):
    """Return the two classes as one binary problem: phi = (x, -x), the mean, and a block-diagonal covariance."""
    blocks = np.zeros((2 * d, 2 * d))
    blocks[:d, :d], blocks[d:, d:] = sigma[label], sigma[rival]
    return np.concatenate([x, -x]), np.concatenate([mu[label], mu[rival]]), blocks


@pytest.mark.parametrize("name", NAMES)
def test_the_step_equals_the_binary_one_on_the_difference_of_two_classes(name):
    """The means are equal, and the covariances except for the block between the two classes."""
    for _, x, label, rival, (mu, sigma), (mean, narrowed) in stepped(name, n=60):
        phi, both, blocks = joint(mu, sigma, x, label, rival)
        two = learners.create(name.removeprefix("mc_"), 2 * d, intercept=False, cov="full")
        two.state["weight"][:], two.state["covariance"][:] = both, blocks
        two.predict_then_update(phi[None], np.ones(1), np.empty((1, 1)))
        np.testing.assert_allclose(
            np.concatenate([mean[label], mean[rival]]), two.state["weight"], rtol=1e-9, atol=1e-12
        )
        for c, block in ((label, slice(0, d)), (rival, slice(d, 2 * d))):
            np.testing.assert_allclose(narrowed[c], two.state["covariance"][block, block], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "power"), [("mc_arow", 2), ("mc_scw1", 1), ("mc_scw2", 2)])
def test_means_minimise_divergence_and_loss(name, power):
    """Given the variance after the joint step, the means are optimal: no nearby means cost less."""
    quantile = 0.0 if name == "mc_arow" else NormalDist().inv_cdf(0.75)
    for rng, x, label, rival, (mu, sigma), (mean, _) in stepped(name, n=30):
        phi, both, blocks = joint(mu, sigma, x, label, rival)
        two = learners.create(name.removeprefix("mc_"), 2 * d, intercept=False, cov="full")
        two.state["weight"][:], two.state["covariance"][:] = both, blocks
        two.predict_then_update(phi[None], np.ones(1), np.empty((1, 1)))
        deviation = math.sqrt(phi @ two.state["covariance"] @ phi)
        inverse, target = np.linalg.inv(blocks), 1.0 if name == "mc_arow" else quantile * deviation
        weigh = 0.5 if name == "mc_arow" else 1.0

        def cost(w, both=both, phi=phi, inverse=inverse, target=target, weigh=weigh):
            loss = max(0.0, target - w @ phi)
            return 0.5 * (w - both) @ inverse @ (w - both) + weigh * loss**power

        found = np.concatenate([mean[label], mean[rival]])
        least = cost(found)
        for size in (0.3, 1e-2, 1e-4):
            for _ in range(40):
                assert cost(found + size * rng.standard_normal(2 * d)) >= least - 1e-10


@pytest.mark.parametrize("task", [2, 5])
@pytest.mark.parametrize("q", [0.0, 1e-3])
def test_diagonal_mc_arow_is_diagonal_arowa(q, task):
    rng = np.random.default_rng(52)
    X, y, got = rng.standard_normal((400, 4)), rng.integers(0, task, 400).astype(float), []
    for name, form in (("mc_arow", {"cov": "diag"}), ("arowa", {"form": "diag"}), ("aroma", {})):
        score = np.empty((400, 1 if task == 2 else task))
        learners.create(name, 4, task, q=q, r=0.7, **form).predict_then_update(X, y, score)
        got.append(score.tobytes())
    assert got[0] == got[1] == got[2]


@pytest.mark.parametrize("cov", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_covariances_stay_valid_on_hostile_rows(name, cov):
    for q in (0.0, 1e-3):
        X, y = hostile("multiclass", 2000, 14, 4)
        learner = learners.create(name, 14, 4, cov=cov, q=q)
        learner.predict_then_update(X, y, np.empty((2000, 4)))
        for sigma in learner.state["covariance"]:
            assert np.isfinite(sigma).all()
            assert (sigma == sigma.T).all()
            assert ((np.diag(sigma) if cov == "full" else sigma) > 0).all()


@pytest.mark.parametrize("cov", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_rows_that_cannot_be_learned_are_counted(name, cov):
    learner = learners.create(name, 2, 3, cov=cov, intercept=False)
    score = np.empty((2, 3))
    learner.predict_then_update(np.array([[1.0, -2.0], [2.0, 0.5]]), np.array([1.0, 0.0]), score)
    learner.state["weight"][:] = 1e200
    before = {key: learner.state[key].copy() for key in learner.state}
    learner.predict_then_update(np.array([[0.0, 0.0], [1e308, 1e308]]), np.array([0.0, 2.0]), score)
    assert not score.any()
    assert learner.state["skipped"][0] == 2
    assert all((learner.state[key] == before[key]).all() for key in before if key != "skipped")


@pytest.mark.parametrize("cov", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_with_drift_the_variances_of_all_classes_grow_back(name, cov):
    rng = np.random.default_rng(53)
    X, y, score = rng.standard_normal((400, 2)), rng.integers(0, 3, 400).astype(float), np.empty((400, 3))
    learner = learners.create(name, 2, 3, cov=cov, a=2.0, q=1e-3)
    learner.predict_then_update(X, y, score)
    sigma = learner.state["covariance"]
    before = sigma.copy()
    learner.predict_then_update(np.zeros((400, 2)), np.full(400, math.nan), score)
    assert (sigma == before).all(), "rows without a label give nothing back"
    for _ in range(20):
        learner.predict_then_update(X * 1e-9, y, score)  # only the intercept learns
    for c in range(3):
        variances = np.diag(sigma[c]) if cov == "full" else sigma[c]
        assert variances[:2].tolist() == pytest.approx([2.0, 2.0])
        assert variances.max() <= 2.0


# arowa


def factored_rows(name, n=60):
    """Yield (rng, state, p, z, label as a sign, mean and factors before) for one row each from random states."""
    rng = np.random.default_rng(54)
    for _ in range(n):
        if name == "arowa":
            learner = learners.create(name, d, 4, intercept=False, form="factored", r=0.7)
        else:
            learner = learners.create(name, 4 + d, d1=4, intercept=False, form="factored", r=0.7)
        s = learner.state
        s["weight"][:] = rng.standard_normal((4, d))
        s["of_rows"][:], s["of_columns"][:] = covariance(rng, 4), covariance(rng, d)
        before = s["weight"].copy(), s["of_rows"].copy(), s["of_columns"].copy()
        z, label = rng.standard_normal(d), int(rng.integers(0, 4 if name == "arowa" else 2))
        if name == "arowa":
            S = before[0] @ z
            rival = max((c for c in range(4) if c != label), key=lambda c: S[c])
            p, sign = np.eye(4)[label] - np.eye(4)[rival], 1.0
            row, score = z, np.empty((1, 4))
        else:
            p, sign = rng.standard_normal(4), 2.0 * label - 1.0
            row, score = np.concatenate([p, z]), np.empty((1, 1))
        learner.predict_then_update(row[None], np.array([float(label)]), score)
        yield rng, s, p, z, sign, before


@pytest.mark.parametrize("name", ["arowa", "arowa_pair"])
def test_factored_step_is_optimal_in_each_factor(name):
    """The mean minimises KL + [1 - m]+^2 / 2r, and each factor KL + v / 2r with the other one fixed."""
    moved = 0
    for _, s, p, z, sign, (W, R, F) in factored_rows(name):
        if sign * p @ W @ z >= 1.0:
            assert (s["weight"] == W).all()
            assert (s["of_rows"] == R).all()
            continue
        moved += 1
        # Stationary points of the three objectives, with covariance R x F of the weights.
        gap = 1.0 - sign * p @ s["weight"] @ z
        np.testing.assert_allclose(
            np.linalg.inv(R) @ (s["weight"] - W) @ np.linalg.inv(F),
            gap * sign * np.outer(p, z) / 0.7,
            rtol=1e-6,
            atol=1e-9,
        )
        gained = np.linalg.inv(s["of_rows"]) - np.linalg.inv(R)
        np.testing.assert_allclose(gained, z @ F @ z / (0.7 * d) * np.outer(p, p), rtol=1e-6, atol=1e-7)
        gained = np.linalg.inv(s["of_columns"]) - np.linalg.inv(F)
        np.testing.assert_allclose(gained, p @ R @ p / (0.7 * 4) * np.outer(z, z), rtol=1e-6, atol=1e-7)
        assert (s["of_rows"] == s["of_rows"].T).all()
        assert (s["of_columns"] == s["of_columns"].T).all()
    assert moved > 20


def test_pairs_with_a_single_column_are_arow():
    """If the second item is a single column of 1, p'W z is linear in p."""
    rng = np.random.default_rng(55)
    P, y, got = rng.standard_normal((500, 4)), rng.integers(0, 2, 500).astype(float), []
    for name, X, given in (
        ("arowa_pair", np.hstack([P, np.ones((500, 1))]), {"d1": 4}),
        ("arow", P, {"cov": "diag"}),
    ):
        score = np.empty((500, 1))
        learner = learners.create(name, X.shape[1], intercept=False, q=1e-4, **given)
        learner.predict_then_update(X, y, score)
        got.append(score)
    np.testing.assert_allclose(got[0], got[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", ["diag", "factored"])
def test_pairs_learn_whether_items_are_alike(form):
    rng = np.random.default_rng(56)
    P, Z = rng.standard_normal((4000, 4)), rng.standard_normal((4000, 4))
    y = ((P * Z).sum(axis=1) > 0).astype(float)
    X, score = np.ascontiguousarray(np.hstack([P, Z])), np.empty((4000, 1))
    learners.create("arowa_pair", 8, form=form, q=1e-4).predict_then_update(X, y, score)
    assert ((score[2000:, 0] >= 0) == y[2000:]).mean() > 0.9
    linear = np.empty((4000, 1))
    learners.create("arow", 8).predict_then_update(X, y, linear)
    assert ((linear[2000:, 0] >= 0) == y[2000:]).mean() < 0.6


def test_a_row_is_split_into_the_two_items_of_a_pair():
    shapes = {}
    for n, given in ((5, {}), (6, {}), (6, {"d1": 2}), (1, {}), (6, {"d1": 6}), (6, {"d1": 2, "intercept": False})):
        shapes[n, *given.values()] = learners.create("arowa_pair", n, **given).state["weight"].shape
    assert list(shapes.values()) == [(4, 3), (4, 4), (3, 5), (2, 1), (7, 1), (2, 4)]
    for n, given in ((6, {"d1": 7}), (6, {"d1": 6, "intercept": False}), (1, {"intercept": False})):
        with pytest.raises(ParameterError, match=rf"d1 = \d of {n} columns leave none for the second item"):
            learners.create("arowa_pair", n, **given)

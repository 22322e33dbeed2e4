"""Second-order learners against their definitions: optimal steps, tight constraints, and known hazards.

See docs/algorithms/second_order.md#second-order-learners.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from driftway import learners
from tests.support.examples import repetitions

NAMES = ("scw1", "scw2", "cw", "cw_stdev", "sop", "nherd", "narow", "iellip", "arow_regressor")
DRIFTING = tuple(name for name in NAMES if name != "iellip")
FORMS = ("full", "diag")


def stepped(name, x, y, weight, covariance, **parameters):
    """Return mean and covariance after one row, from a given state."""
    learner = learners.create(name, len(x), intercept=False, cov="full", **parameters)
    learner.state["weight"][:], learner.state["covariance"][:] = weight, covariance
    learner.predict_then_update(x[None], np.array([(1.0 + y) / 2.0]), np.empty((1, 1)))
    return learner.state["weight"], learner.state["covariance"]


def states(n, d=3):
    """Yield random rows, labels, means and covariances."""
    rng = np.random.default_rng(21)
    for _ in range(n):
        A = rng.standard_normal((d, d))
        P = A @ A.T + 0.1 * np.eye(d)
        yield rng, rng.standard_normal(d), float(rng.choice([-1.0, 1.0])), rng.standard_normal(d), (P + P.T) / 2


@pytest.mark.parametrize(("name", "power"), [("cw", 1.0), ("cw_stdev", 0.5)])
def test_constraint_is_tight_after_a_row(name, power):
    phi, moved = NormalDist().inv_cdf(0.9), 0
    for _, x, y, mu, sigma in states(200):
        m, v = y * mu @ x, x @ sigma @ x
        mean, covariance = stepped(name, x, y, mu, sigma, eta=0.9)
        if m >= phi * v**power:
            assert (mean == mu).all()
            assert (covariance == sigma).all()
            continue
        moved += 1
        assert y * mean @ x == pytest.approx(phi * (x @ covariance @ x) ** power, rel=1e-9, abs=1e-12)
    assert 20 < moved < 200


def divergence(mean, root, mu, sigma):
    """Return KL(N(mean, root root') || N(mu, sigma)) without its constant."""
    inverse, covariance = np.linalg.inv(sigma), root @ root.T
    apart = mu - mean
    return 0.5 * (np.trace(inverse @ covariance) + apart @ inverse @ apart) - np.linalg.slogdet(root)[1]


@pytest.mark.random_cases
@pytest.mark.parametrize(("name", "power"), [("scw1", 1), ("scw2", 2)])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_soft_steps_minimise_divergence_and_loss(name, power, C):
    phi = NormalDist().inv_cdf(0.75)

    def objective(mean, root):
        loss = max(0.0, phi * math.sqrt(x @ root @ root.T @ x) - y * mean @ x)
        return divergence(mean, root, mu, sigma) + C * loss**power

    for rng, x, y, mu, sigma in states(30):
        mean, covariance = stepped(name, x, y, mu, sigma, C=C)
        root = np.linalg.cholesky(covariance)
        least = objective(mean, root)
        assert least <= objective(mu, np.linalg.cholesky(sigma)) + 1e-12
        for size in (0.3, 1e-2, 1e-4):
            for _ in range(repetitions(60)):
                aside = objective(
                    mean + size * rng.standard_normal(3), root + size * np.tril(rng.standard_normal((3, 3)))
                )
                assert aside >= least - 1e-12


def test_cw_computes_its_root_without_cancellation():
    phi = NormalDist().inv_cdf(0.7)
    mean, _ = stepped("cw", np.ones(1), 1.0, np.zeros(1), np.array([[1e-11]]))
    assert mean[0] == pytest.approx(phi * 1e-11, rel=1e-9)  # the printed formula is 5e-6 off


@pytest.mark.parametrize("cov", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_rows_that_cannot_be_learned_are_counted(name, cov):
    learner = learners.create(name, 2, cov=cov, intercept=False)
    score = np.empty((2, 1))
    learner.predict_then_update(np.array([[1.0, -2.0], [2.0, 0.5]]), np.array([1.0, 0.0]), score)
    learner.state["weight"][:] = 1e200
    before = {key: learner.state[key].copy() for key in learner.state}
    huge = np.full((2, 2), 1e308)
    learner.predict_then_update(np.vstack([np.zeros((1, 2)), huge[:1]]), np.array([0.0, 0.0]), score)
    assert score[:, 0].tolist() == [0.0, 0.0]
    assert learner.state["skipped"][0] == 2
    assert all((learner.state[key] == before[key]).all() for key in before if key != "skipped")


def variances(learner):
    """Return the variances, in either form."""
    covariance = learner.state["covariance"]
    return np.diag(covariance) if covariance.ndim == 2 else covariance


@pytest.mark.parametrize("cov", FORMS)
@pytest.mark.parametrize("name", DRIFTING)
def test_with_drift_the_variance_grows_back_up_to_its_start(name, cov):
    rng = np.random.default_rng(22)
    a = 0.5 if name == "sop" else 2.0  # the covariance of sop starts at 1/a
    X, y, score = rng.standard_normal((400, 2)), rng.integers(0, 2, 400).astype(float), np.empty((400, 1))
    frozen, alive = (learners.create(name, 2, cov=cov, a=a, q=q) for q in (0.0, 1e-3))
    for learner in (frozen, alive):
        learner.predict_then_update(X, y, score)
    assert (variances(frozen) <= variances(alive)).all()
    before = variances(alive).copy()
    alive.predict_then_update(np.zeros((400, 2)), np.full(400, math.nan), score)
    assert (variances(alive) == before).all(), "rows without a label give nothing back"
    for _ in range(20):
        alive.predict_then_update(X * 1e-9, y, score)  # only the intercept learns
    assert variances(alive)[:2].tolist() == pytest.approx([2.0, 2.0])
    assert variances(alive).max() <= 2.0


@pytest.mark.parametrize("cov", FORMS)
def test_sop_weight_follows_its_covariance(cov):
    rng = np.random.default_rng(23)
    X, y = rng.standard_normal((3000, 5)), rng.integers(0, 2, 3000).astype(float)
    learner = learners.create("sop", 5, cov=cov, q=1e-3)
    learner.predict_then_update(X, y, np.empty((3000, 1)))
    s = learner.state
    expected = s["covariance"] @ s["vec"] if cov == "full" else s["covariance"] * s["vec"]
    np.testing.assert_allclose(s["weight"], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cov", FORMS)
def test_narow_continues_learning_where_common_implementations_stop(cov):
    x = np.array([[0.5, 0.5]])  # variance 0.5, below 1/b
    for variant, learns in (("hybrid", True), ("arow", False)):
        learner = learners.create("narow", 2, cov=cov, variant=variant, intercept=False)
        covariance = learner.state["covariance"].copy()
        learner.predict_then_update(x, np.ones(1), np.empty((1, 1)))
        assert (learner.state["covariance"] == covariance).all()
        assert learner.state["weight"].any() == learns
        assert learner.state["skipped"][0] == 0


@pytest.mark.parametrize("cov", FORMS)
def test_iellip_cuts_by_mistakes_and_inflates_within_bounds(cov):
    rng = np.random.default_rng(24)
    X, y = rng.standard_normal((4000, 3)), rng.integers(0, 2, 4000).astype(float)
    X[:, 2] = 0.0  # never excited
    score = np.empty((4000, 1))
    unexcited = []
    for parameters in ({}, {"b": 1.0, "c": 0.5}):
        learner = learners.create("iellip", 3, cov=cov, intercept=False, **parameters)
        learner.predict_then_update(X, y, score)
        mistakes = int(((2 * y - 1) * score[:, 0] <= 0).sum())
        expected = 0.1 * 0.3**mistakes if not parameters else 0.5
        assert learner.state["ct"][0] == pytest.approx(expected)
        unexcited.append(variances(learner)[2])
    assert unexcited[0] == pytest.approx(math.prod(1.0 / (1.0 - 0.1 * 0.3**i) for i in range(60)))
    assert unexcited[1] == pytest.approx(1e6), "wound up"


def test_iellip_weights_do_not_depend_on_the_start():
    rng = np.random.default_rng(25)
    X, y = rng.standard_normal((300, 3)), rng.integers(0, 2, 300).astype(float)
    got = []
    for a in (1.0, 4.0):
        score = np.empty((300, 1))
        learners.create("iellip", 3, a=a).predict_then_update(X, y, score)
        got.append(score.tobytes())
    assert got[0] == got[1]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_arow_regressor_is_least_squares(task):
    rng = np.random.default_rng(26)
    X, y = rng.standard_normal((400, 4)), rng.integers(0, 2, 400).astype(float)
    score, expected = np.empty((400, 1)), np.empty((400, 1))
    learners.create("arow_regressor", 4, task=task, r=3.0, a=2.0).predict_then_update(X, y, score)
    learners.create("rls", 4, task=task, delta=1.5).predict_then_update(X, y, expected)
    np.testing.assert_allclose(score, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*NAMES, "acog", "arow"])
@pytest.mark.parametrize("weight", [(1e308, 1e308), (1e308, -1e308)], ids=["infinite", "nan"])
def test_a_row_without_a_finite_score_changes_nothing(name, form, weight):
    """Its step may be finite all the same: that of `acog` and of the diagonal `sop` does not contain the score."""
    if name == "narow" and "weight" not in learners.create(name, 2).state:
        pytest.skip("has no weights")
    learner = learners.create(name, 2, intercept=False, cov=form)
    learner.state["weight"][:] = weight
    before = learner.state["weight"].copy(), learner.state["covariance"].copy()
    for y in (0.0, 1.0):
        score = np.empty((1, 1))
        learner.predict_then_update(np.array([[10.0, 10.0]]), np.array([y]), score)
        assert score[0, 0] == 0.0, "a score that is not finite is reported as 0"
        np.testing.assert_array_equal(learner.state["weight"], before[0])
        np.testing.assert_array_equal(learner.state["covariance"], before[1])
    assert learner.state["skipped"][0] == 2

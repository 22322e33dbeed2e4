"""Kernel learners: equality while the budget lasts, invariants of projecting and merging, and kernel widths."""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.jit import kernel
from driftway.learners.kernel_methods.bandwidth import prefer
from driftway.learners.kernel_methods.tvm import merge_nearest
from driftway.learners.numeric.symmetric import diagonalise
from tests.conformance.checks import same
from tests.support.learning import scores
from tests.support.oracle import kernel_budgets, kernel_classes, kernel_merging, kernel_methods

FIXED = {"width": "dimension"}


def stream(n, d=4, seed=5, noise=0.05):
    """Return rows inside and outside a ball, with some labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = ((X**2).sum(axis=1) > d - 0.5).astype(float)
    flip = rng.random(n) < noise
    return X, np.where(flip, 1.0 - y, y)


def gram(learner, n):
    """Return the Gaussian kernel matrix of the first n stored rows."""
    Z = learner.state["expansion.column"][:, :n].T
    gamma = learner.state["expansion.gamma"][0] or 1.0 / learner.n_features
    return np.exp(-gamma * ((Z[:, None] - Z[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("rbp", {}),
        ("forgetron", {}),
        ("budget_perceptron", {}),
        ("kernel_perceptron", {"overflow": "stop"}),
        ("kernel_alma_zero_margin", {"alpha": 1.0, "B": 1e6}),
        ("kernel_norma_zero_margin", {"alpha": 1.0, "lam": 0.0}),
    ],
)
def test_until_the_budget_is_full_learners_equal_the_kernel_perceptron(name, parameters):
    X, y = stream(400)
    parent = learners.create("kernel_perceptron", 4, budget=400, **FIXED)
    expected = scores(parent, X, y)
    stored = int(parent.state["expansion.used"][0])
    assert 50 < stored < 400
    learner = learners.create(name, 4, budget=stored, **FIXED, **parameters)
    np.testing.assert_allclose(scores(learner, X, y), expected, rtol=1e-12, atol=1e-12)
    smaller = learners.create(name, 4, budget=stored // 2, **FIXED, **parameters)
    assert np.abs(scores(smaller, X, y) - expected).max() > 0.1, "the budget has no effect"


@pytest.mark.parametrize(
    ("name", "linear", "parameters"),
    [
        ("kernel_perceptron", "perceptron", {}),
        ("kernel_norma", "norma", {"alpha": 0.2, "lam": 0.02, "rho": 0.7}),
        ("kernel_alma", "alma", {"alpha": 0.2, "B": 2.0, "rho": 0.7}),
    ],
)
def test_with_a_linear_kernel_learners_equal_the_linear_ones(name, linear, parameters):
    X, y = stream(600)
    plain = learners.create(linear, 4, **parameters)
    learner = learners.create(name, 4, kernel="linear", budget=600, **parameters)
    np.testing.assert_allclose(scores(learner, X, y), scores(plain, X, y), rtol=1e-9, atol=1e-9)


def test_the_quadratic_kernel_is_the_quadratic_perceptron():
    X, y = stream(500)
    plain = learners.create("quadratic_perceptron", 4)
    learner = learners.create("kernel_perceptron", 4, kernel="poly", budget=500)
    np.testing.assert_allclose(scores(learner, X, y), scores(plain, X, y), rtol=1e-9, atol=1e-9)


def test_the_incremental_norm_equals_the_recomputed_one():
    X, y = stream(2000)
    learner = learners.create("kernel_alma", 4, budget=40)
    for start in range(0, 2000, 250):
        scores(learner, X[start : start + 250], y[start : start + 250])
        a = learner.state["expansion.scale"][0] * learner.state["expansion.coefficient"]
        assert learner.state["squared"][0] == pytest.approx(a @ gram(learner, 40) @ a, rel=1e-9)


def test_projections_are_within_eta_of_their_rows():
    X, y = stream(300)
    exact = scores(learners.create("kernel_perceptron", 4, budget=300, **FIXED), X, y)
    nothing_lost = learners.create("projectron", 4, budget=300, eta=0.0, **FIXED)
    np.testing.assert_allclose(scores(nothing_lost, X, y), exact, atol=1e-6)
    eta = 0.4
    learner = learners.create("projectron", 4, budget=300, eta=eta, **FIXED)
    projected = 0
    for t in range(300):
        n = int(learner.state["expansion.used"][0])
        before = learner.state["expansion.coefficient"].copy()
        (s,) = scores(learner, X[t : t + 1], y[t : t + 1])
        if n and learner.state["expansion.used"][0] == n and (2 * y[t] - 1) * s <= 0.0:
            projected += 1
            change = learner.state["expansion.coefficient"][:n] - before[:n]
            Z = learner.state["expansion.column"][:, :n].T
            k = np.exp(-((Z - X[t]) ** 2).sum(axis=1) / 4)
            lost = 1.0 - 2 * (2 * y[t] - 1) * change @ k + change @ gram(learner, n) @ change
            assert lost <= eta**2 + 1e-9, "the projection is further from the row than eta"
    assert projected > 20


def test_the_incremental_inverse_stays_accurate():
    X, y = stream(1500)
    for width in ("median", "dimension"):
        learner = learners.create("projectron", 4, budget=60, width=width)
        scores(learner, X, y)
        n = int(learner.state["expansion.used"][0])
        inverse = learner.state["inverse"][:n, :n]
        np.testing.assert_allclose(inverse @ gram(learner, n), np.eye(n), atol=1e-5)
        assert same(inverse, np.ascontiguousarray(inverse.T))


@kernel
def merge(p, memory):
    """`merge_nearest`, compiled for this test."""
    merge_nearest(p, memory)


def test_merging_keeps_the_sums_of_rows_and_duals():
    X, y = stream(60)
    learner = learners.create("tvm", 4, budget=30, C=2.0)
    scores(learner, X[:30], y[:30])
    size, alpha = learner.state["size"], learner.state["alpha"]
    n = int(learner.state["expansion.used"][0])
    assert n > 10
    assert size.sum() == n
    sums = size.sum(axis=1).copy(), alpha.sum(axis=1).copy()
    for remaining in range(n - 1, n - 6, -1):
        merge(learner._constants, learner._memory)
        assert learner.state["expansion.used"][0] == remaining
        np.testing.assert_allclose(size[:, :remaining].sum(axis=1), sums[0])
        np.testing.assert_allclose(alpha[:, :remaining].sum(axis=1), sums[1], rtol=1e-12)
        np.testing.assert_allclose(
            learner.state["expansion.coefficient"][:remaining], alpha[1, :remaining] - alpha[0, :remaining], rtol=1e-12
        )


def test_equal_rows_merge_without_loss():
    X, _ = stream(2, seed=8)
    rows, y = np.repeat(X, 40, axis=0), np.repeat([0.0, 1.0], 40)
    learner = learners.create("bsgd_merge", 4, budget=4, eta_max=0.01, **FIXED)
    roomy = learners.create("bsgd_merge", 4, budget=100, eta_max=0.01, **FIXED)
    np.testing.assert_allclose(scores(learner, rows, y), scores(roomy, rows, y), rtol=1e-6, atol=1e-9)
    assert learner.state["expansion.used"][0] == 4


def test_nogd_of_full_rank_keeps_its_scores_when_its_features_are_fixed():
    X, y = stream(400)
    learner = learners.create("nogd", 4, budget=50, rank=50, **FIXED)
    probe = stream(20, seed=9)[0]
    t, before = 0, None
    while not learner.state["settled"][0]:
        before = np.empty((20, 1))
        learner.predict(probe, before)
        scores(learner, X[t : t + 1], y[t : t + 1])
        t += 1
    a, Z = learner.state["expansion.coefficient"], learner.state["expansion.column"].T
    direct = np.exp(-((probe[:, None] - Z[None]) ** 2).sum(axis=2) / 4) @ a
    after = np.empty((20, 1))
    learner.predict(probe, after)
    np.testing.assert_allclose(after[:, 0], direct, atol=1e-4)
    assert np.abs(after - before).max() > 1e-6


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_diagonalise_equals_lapack(n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    A = A @ A.T
    D, V = np.empty((n, n)), np.empty((n, n))
    unit = diagonalise(A, D, V)
    D *= unit
    np.testing.assert_allclose(V @ V.T, np.eye(n), atol=1e-9)
    np.testing.assert_allclose((V.T * np.diag(D)) @ V, A, atol=1e-9)
    np.testing.assert_allclose(np.sort(np.diag(D)), np.linalg.eigvalsh(A), atol=1e-9)
    assert (V[np.arange(n), np.abs(V).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize("name", ["kernel_norma", "bsgd_merge", "mc_norma", "fogd"])
def test_the_width_scales_with_the_units(name):
    X, y = stream(1500, noise=0.2)
    found = []
    for unit in (1.0, 2.0**10):
        learner = learners.create(name, 4)
        scores(learner, X * unit, y)
        where = "gamma" if name == "fogd" else "expansion.gamma"
        found.append(learner.state[where][0] * unit**2)
    assert found[0] == pytest.approx(found[1], rel=0.5)
    assert found[0] > 0.0, "still the width before any row"


def stripes(rows=6000, seed=3):
    """Return classes in narrow stripes of one feature; the other feature is irrelevant."""
    X = np.random.default_rng(seed).uniform(0.0, 6.0, (rows, 2))
    return X, (np.floor(X[:, 0]) % 2).astype(float)


@pytest.mark.parametrize("name", ["kernel_norma", "duol", "mc_norma", "forgetron"])
def test_the_prequential_width_adapts_to_narrow_classes(name):
    X, y = stripes()
    found = {}
    for width in ("median", "prequential"):
        learner = learners.create(name, 2, width=width, budget=100)
        found[width] = ((scores(learner, X, y) >= 0) == y)[2000:].mean()
        assert (learner.state["expansion.tried"][0] > 0) == (width == "prequential")
    assert found["prequential"] > found["median"] + 0.1


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("kernel_norma", kernel_methods.KernelNORMA),
        ("kernel_alma", kernel_methods.KernelALMA),
        ("budget_perceptron", kernel_budgets.BudgetPerceptron),
        pytest.param("tvm", kernel_merging.TVM, marks=pytest.mark.slow),  # an oracle of four seconds
        ("projectron", kernel_budgets.Projectron),
        ("mc_norma", kernel_classes.MCNORMA),
    ],
)
def test_a_new_width_recomputes_all_derived_values(name, oracle):
    X, y = stripes(900)
    given = {"width": "prequential", "budget": 40}
    learner, naive = learners.create(name, 2, **given), oracle(2, 2, "binary", **given)
    found = scores(learner, X, y)
    assert learner.state["expansion.tried"][0] > 0
    for row, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        assert naive.score(x)[0] == pytest.approx(found[row], rel=1e-6, abs=1e-6), row
        naive.learn(x, label)


def test_the_width_returns_when_classes_are_wide_again():
    X, y = stripes()
    learner = learners.create("kernel_norma", 2)
    scores(learner, X, y)
    assert learner.state["expansion.tried"][0] > 0
    X, y = stripes(20_000, seed=4)
    flipped = np.random.default_rng(5).uniform(size=len(y)) < 0.3
    scores(learner, X, np.where(flipped, X[:, 0] < 3.0, X[:, 0] >= 3.0).astype(float))
    assert learner.state["expansion.tried"][0] == 0


def test_another_width_needs_a_lead_of_eight_rows():
    right, lead, tried, gamma = np.array([0.0, 1.0, 0.0, 0.0]), np.zeros(4), np.zeros(1, np.int64), np.array([0.5])
    for _ in range(8):
        assert not prefer(right, lead, tried, gamma)
    assert lead[1] < 8.0
    assert prefer(right, lead, tried, gamma)
    assert (tried[0], gamma[0]) == (1, 2.0)
    assert not lead.any()


def test_a_given_width_never_changes():
    X, y = stream(300)
    X *= 3.0
    for name in ("kernel_norma", "fogd"):
        found = [scores(learners.create(name, 4, **p), X, y) for p in ({"gamma": 0.25}, FIXED, {}, {"gamma": 0.5})]
        assert same(found[0], found[1])
        assert not same(found[0], found[2])
        assert not same(found[0], found[3])


def test_label_noise_harms_the_budget_perceptron_more_than_kernel_norma():
    X, y = stream(3000, noise=0.1)
    learner = learners.create("budget_perceptron", 4, budget=30)
    hits = (scores(learner, X, y) >= 0) == y
    clean = (scores(learners.create("kernel_norma", 4, budget=30), X, y) >= 0) == y
    assert hits[1000:].mean() < clean[1000:].mean()

"""First-order multiclass learners equal the binary ones with two classes, and their steps are optimal with more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.multiclass import margins
from tests.conformance.rows import rows
from tests.support.learning import learned

PERCEPTRONS = ("mc_perceptron_max", "mc_perceptron_uniform", "mc_perceptron_sim")
NAMES = (*PERCEPTRONS, "mc_ogd", "mc_softmax", "mc_pa", "mc_pa1", "mc_pa2", "mc_romma", "mc_aromma")


def stepped(name, W, x, label, mu=1.0, **parameters):
    """Return the weights after one row, from a given state."""
    learner = learners.create(name, len(x), len(W), intercept=False, **parameters)
    learner.state["weight"][:] = W
    if "mu" in learner.state:
        learner.state["mu"][0] = mu
    learner.predict_then_update(x[None], np.array([float(label)]), np.empty((1, learner.n_scores)))
    return learner.state["weight"].copy()


def states(n, K=4, d=3):
    """Yield random weights, rows and labels, with the best wrong class."""
    rng = np.random.default_rng(31)
    for _ in range(n):
        W, x, label = rng.standard_normal((K, d)), rng.standard_normal(d), int(rng.integers(0, K))
        S = W @ x
        S[label] = -math.inf
        yield rng, W, x, label, int(S.argmax())


def parted(W, x, label, rival, step):
    moved = W.copy()
    moved[label] += step * x
    moved[rival] -= step * x
    return moved


@pytest.mark.parametrize(
    ("multiclass", "binary"),
    [
        (("mc_pa", {}), ("pa", {})),
        (("mc_pa1", {"C": 0.3}), ("pa1", {"C": 0.6})),
        (("mc_pa2", {"C": 0.3}), ("pa2", {"C": 0.6})),
        (("mc_ogd", {"eta": 0.7}), ("ogd_hinge", {"eta": 1.4})),
        (("mc_ogd", {"eta": 0.7, "schedule": "inv_t"}), ("ogd_hinge", {"eta": 1.4, "schedule": "inv_t"})),
    ],
)
def test_two_classes_have_the_bits_of_the_binary_learner(multiclass, binary):
    X, y = rows("binary", 400, 4, unlabelled=0.1)
    (_, got), (_, expected) = (learned(name, X, y, **parameters) for name, parameters in (multiclass, binary))
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("multiclass", "binary"),
    [
        (("mc_softmax", {"eta": 0.7}), ("ogd_logistic", {"eta": 1.4})),
        (("mc_softmax", {"schedule": "const", "eta": 0.1}), ("ogd_logistic", {"schedule": "const", "eta": 0.2})),
        (("mc_romma", {}), ("romma", {})),
        (("mc_aromma", {}), ("aromma", {})),
    ],
)
def test_two_classes_score_as_the_binary_learner(multiclass, binary):
    X, y = rows("binary", 200, 4, unlabelled=0.1)
    X, y = X[:100].copy(), y[:100].copy()  # before `romma` rescales its weights, whose length differs
    (learner, got), (_, expected) = (learned(name, X, y, **parameters) for name, parameters in (multiclass, binary))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    if "mu" in learner.state:
        assert learner.state["mu"][0] == 1.0


@pytest.mark.parametrize("name", ["mc_romma", "mc_aromma"])
def test_rescaled_weights_predict_as_those_of_the_binary_learner(name):
    X, y = rows("binary", 1500, 4)
    (learner, got), (other, expected) = learned(name, X, y), learned(name.removeprefix("mc_"), X, y)
    assert max(learner.state["mu"][0], other.state["mu"][0]) < 1.0
    assert ((got >= 0.0) == (expected >= 0.0)).all()


def test_perceptrons_learn_exactly_the_wrong_predictions():
    x = np.ones((1, 2))
    for name in PERCEPTRONS:
        for K in (2, 3):  # the first arg-max is class 0
            for label in range(K):
                assert learned(name, x, [label], n_classes=K)[0].state["weight"].any() == (label > 0)


@pytest.mark.parametrize("name", [*PERCEPTRONS, "mc_romma"])
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_one_class_alone_is_learned_in_twenty_passes(name, kind):
    X, _ = rows(kind, 240, 5, 4, 0.2)
    K = 2 if kind == "binary" else 4
    for label in range(1 if K == 2 and name in PERCEPTRONS else 0, K):  # see their docstrings on ties of two classes
        learner, score = learned(name, np.tile(X, (20, 1)), np.full(20 * len(X), label), n_classes=K)
        assert (predicted_class(score.reshape(len(score), -1), learner.kind)[-len(X) :] == label).all()


def test_ties_go_to_the_lowest_wrong_class_and_count_as_mistakes():
    S = np.array([2.0, 5.0, 5.0, 1.0, 5.0])
    assert [margins.best_wrong.py_func(S, label) for label in range(5)] == [1, 2, 1, 1, 1]
    assert [margins.best_wrong.py_func(np.zeros(3), label) for label in range(3)] == [1, 0, 0]
    mistaken = [margins.mistaken.py_func(S, r, margins.best_wrong.py_func(S, r)) for r in range(5)]
    assert mistaken == [True, False, True, True, True]


def test_perceptrons_divide_the_step_among_wrong_classes_as_documented():
    W, x = np.array([[3.0], [1.0], [2.0], [0.5], [1.0]]), np.ones(1)
    expected = {
        "mc_perceptron_max": [-1.0, 1.0, 0.0, 0.0, 0.0],
        "mc_perceptron_uniform": [-1 / 3, 1.0, -1 / 3, 0.0, -1 / 3],  # class 4 ties with class 1
        "mc_perceptron_sim": [-2 / 3, 1.0, -1 / 3, 0.0, 0.0],
    }
    for name, steps in expected.items():
        assert (stepped(name, W, x, 1) - W).ravel().tolist() == pytest.approx(steps)
    level = np.zeros((4, 1))
    assert stepped("mc_perceptron_sim", level, x, 3).ravel().tolist() == pytest.approx([-1 / 3, -1 / 3, -1 / 3, 1.0])


@pytest.mark.parametrize("name", NAMES)
def test_steps_sum_to_zero_over_the_classes(name):
    X, y = rows("multiclass", 300, 4, 5, unlabelled=0.1)
    weight = learned(name, X, y, n_classes=5)[0].state["weight"]
    assert weight.any()
    assert abs(weight.sum(axis=0)).max() < 1e-9 * abs(weight).max()


def test_hinge_step_is_the_gradient_of_the_margin():
    passive = 0
    for _, W, x, label, rival in states(100):
        m = (W @ x)[label] - (W @ x)[rival]
        passive += m >= 1.0
        expected = W if m >= 1.0 else parted(W, x, label, rival, 0.25)
        np.testing.assert_allclose(stepped("mc_ogd", W, x, label, eta=0.25), expected, rtol=1e-14)
    assert 5 < passive < 95


def test_softmax_step_is_the_gradient_of_the_log_loss():
    def log_loss(W):
        S = W @ x
        return math.log(np.exp(S - S.max()).sum()) + S.max() - S[label]

    h = 1e-5
    for _, W, x, label, _ in states(20):
        gradient = np.empty_like(W)
        for place in np.ndindex(*W.shape):
            aside = np.zeros_like(W)
            aside[place] = h
            gradient[place] = (log_loss(W + aside) - log_loss(W - aside)) / (2 * h)
        np.testing.assert_allclose(stepped("mc_softmax", W, x, label, eta=0.5), W - 0.5 * gradient, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "parameters", "price"),
    [
        ("mc_pa1", {"C": 0.05}, lambda loss: 0.05 * loss),
        ("mc_pa1", {"C": 2.0}, lambda loss: 2.0 * loss),
        ("mc_pa2", {"C": 0.3}, lambda loss: 0.3 * loss * loss),
    ],
)
def test_soft_steps_minimise_distance_and_loss(name, parameters, price):
    def objective(V):
        loss = max(0.0, 1.0 - (V[label] - V[rival]) @ x)
        return 0.5 * ((V - W) ** 2).sum() + price(loss)

    for rng, W, x, label, rival in states(30):
        best = stepped(name, W, x, label, **parameters)
        least = objective(best)
        for size in (1.0, 0.1, 1e-3):
            for _ in range(40):
                assert objective(best + size * rng.standard_normal(W.shape)) >= least - 1e-12
        for step in np.linspace(-0.5, 0.5, 41):  # along the step
            assert objective(parted(best, x, label, rival, step)) >= least - 1e-12


def test_pa_takes_the_shortest_step_to_a_margin_of_one():
    for _, W, x, label, rival in states(100):
        moved = stepped("mc_pa", W, x, label)
        m = (W[label] - W[rival]) @ x
        if m >= 1.0:
            assert (moved == W).all()
            continue
        assert (moved[label] - moved[rival]) @ x == pytest.approx(1.0)
        phi = parted(np.zeros_like(W), x, label, rival, 1.0)
        assert ((moved - W) ** 2).sum() == pytest.approx((1.0 - m) ** 2 / (phi**2).sum())


@pytest.mark.parametrize("name", ["mc_romma", "mc_aromma"])
def test_romma_takes_the_shortest_weights_in_two_half_spaces(name):
    mu, passive, past_binds, past_does_not = 0.7, 0, 0, 0
    for rng, direction, x, label, rival in states(200):
        W = rng.choice([0.01, 1.0]) * direction
        m = (W[label] - W[rival]) @ x
        moved = stepped(name, W, x, label, mu)
        if m > 0.0 if name == "mc_romma" else m >= mu:
            passive += 1
            assert (moved == W).all()
            continue
        phi = parted(np.zeros_like(W), x, label, rival, 1.0)
        assert (moved * phi).sum() == pytest.approx(mu)
        # Karush-Kuhn-Tucker: the shortest point is a non-negative combination of the normals.
        normals = np.stack([W.ravel(), phi.ravel()], axis=1)
        c, e = np.linalg.lstsq(normals, moved.ravel(), rcond=None)[0]
        np.testing.assert_allclose(normals @ [c, e], moved.ravel(), atol=1e-12)
        assert e >= 0.0
        if c > 1e-9:
            past_binds += 1
            assert (moved * W).sum() == pytest.approx((W * W).sum())
            others = [r for r in range(len(W)) if r not in (label, rival)]
            np.testing.assert_allclose(moved[others], c * W[others], rtol=1e-9)
        else:
            past_does_not += 1
            assert abs(c) < 1e-12
            assert (moved * W).sum() > (W * W).sum()
    assert passive > 10
    assert past_binds > 20
    assert past_does_not > 5 or name == "mc_romma"  # there the past always binds


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("K", [2, 3])
def test_rows_that_cannot_be_learned_are_counted(name, K):
    X = np.array([[1.0, -2.0], [2.0, 0.5]])
    learner, _ = learned(name, X, [1.0, 0.0], n_classes=K, intercept=False)
    learner.state["weight"][0] = 1e200
    before = learner.state["weight"].copy()
    score = np.empty((2, learner.n_scores))
    learner.predict_then_update(np.full((2, 2), 1e308), np.array([0.0, 1.0]), score)
    assert learner.state["skipped"][0] == 2
    assert (learner.state["weight"] == before).all()
    assert score[0, 0] == 0.0
    assert np.isfinite(score).all()

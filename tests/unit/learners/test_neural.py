"""`lol` takes optimal steps; `hbp` descends on the weighted losses of its classifiers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.metrics.prequential import predicted_class
from tests.conformance.checks import scores

PARTS = ("first", "deep", "bias", "shallow", "head", "offset")
"""Fields of `hbp` that a row updates, besides the weights of its classifiers."""


def predicted(learner, x):
    score = np.empty((1, learner.n_scores))
    learner.predict(x[None], score)
    return score[0]


def accuracy(name, X, y, K=2, **given):
    learner = learners.create(name, X.shape[1], K, standardize=True, **given)
    return (predicted_class(scores(learner, X, y), learner.kind) == y).mean()


def chequered(n, seed=5):
    """Return two classes that no line separates."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, 2))
    return X, (X[:, 0] * X[:, 1] > 0.0).astype(float)


def local(rng, d=3, m=4, **given):
    """Return a `lol` in the middle of a stream."""
    learner = learners.create("lol", d, prototypes=m, **given)
    for name in ("prototype", "common", "own"):
        learner.state[name][:] = rng.standard_normal(learner.state[name].shape)
    learner.state["used"][0], learner.state["rows"][:] = m, 50
    return learner


@pytest.mark.parametrize(("lam", "C"), [(1.0, 0.1), (0.2, 3.0), (7.0, 0.5)])
def test_lol_takes_the_optimal_step(lam, C):
    """The step satisfies the conditions for a minimum of the convex lam / 2 |dw|^2 + |du|^2 / 2 + C loss."""
    rng, cases = np.random.default_rng(3), set()
    for _ in range(60):
        learner, x, label = local(rng, lam=lam, C=C), rng.standard_normal(3), float(rng.integers(0, 2))
        w, u = learner.state["common"].copy(), learner.state["own"].copy()
        j, full = int(((learner.state["prototype"].T - x) ** 2).sum(axis=1).argmin()), np.append(x, 1.0)
        (score,) = scores(learner, x[None], np.array([label]))[0]
        assert score == pytest.approx((w + u[j]) @ full)
        assert np.delete(learner.state["own"] - u, j, axis=0).any() == 0
        y, dw, du = 2 * label - 1, learner.state["common"] - w, learner.state["own"][j] - u[j]
        tau = y * du @ full / (full @ full)
        np.testing.assert_allclose(du, tau * y * full, atol=1e-12)
        np.testing.assert_allclose(lam * dw, tau * y * full, atol=1e-12)
        margin = y * (w + dw + u[j] + du) @ full
        case = "none" if abs(tau) < 1e-12 else "most" if abs(tau - C) < 1e-12 else "some"
        cases.add(case)
        assert {"none": margin >= 1 - 1e-9, "most": margin <= 1 + 1e-9, "some": abs(margin - 1) < 1e-9}[case]
        assert -1e-12 <= tau <= C + 1e-12
    assert cases >= {"none", "some"}


@pytest.mark.parametrize(("lam", "C", "alone"), [(1e12, 0.3, True), (1e-12, 0.3e-12, False)])
def test_lol_lies_between_one_hyperplane_for_all_and_one_for_each(lam, C, alone):
    rng = np.random.default_rng(4)
    side = rng.integers(0, 2, 300)
    X = rng.standard_normal((300, 2)) + 20.0 * side[:, None] - 10.0
    y = (X @ [1.0, -0.7] + rng.standard_normal(300) > 0).astype(float)
    learner = learners.create("lol", 2, prototypes=2, lam=lam, C=C)
    learner.state["prototype"][:] = [[-10.0, 10.0], [-10.0, 10.0]]
    learner.state["used"][0] = 2
    got = scores(learner, X, y)
    for rows in [side == 0, side == 1] if alone else [slice(None)]:
        expected = scores(learners.create("pa1", 2, C=0.3), X[rows], y[rows])
        np.testing.assert_allclose(got[rows], expected, atol=1e-6)


def test_lol_takes_the_first_distinct_rows_as_prototypes_and_updates_them():
    learner = learners.create("lol", 2, prototypes=2)
    X = np.array([[1.0, 2.0], [9.0, 9.0], [1.0, 2.0], [5.0, -4.0], [1.0, 4.0]])
    scores(learner, X, np.array([1.0, math.nan, 1.0, 0.0, 1.0]))
    assert learner.state["prototype"].T.tolist() == [[1.0, 2.0 + 2.0 / 3.0], [5.0, -4.0]]
    assert learner.state["rows"].tolist() == [3, 1]
    learner.state["rows"][1] = 5000
    scores(learner, np.array([[6.0, -4.0]]), np.ones(1))
    assert learner.state["prototype"][0, 1] == pytest.approx(5.001), "the mean of the last thousand rows or so"


def test_lol_skips_rows_that_cannot_be_learned():
    learner = learners.create("lol", 2, intercept=False)
    scores(learner, np.array([[0.0, 0.0], [1e200, 1.0]]), np.ones(2))
    assert learner.state["skipped"][0] == 2
    assert learner.state["used"][0] == 0


def test_lol_and_hbp_learn_classes_that_no_hyperplane_separates():
    X, y = chequered(4000)
    assert accuracy("pa1", X, y) < 0.6
    assert accuracy("lol", X, y) > 0.85
    assert accuracy("hbp", X, y) > 0.93


def network(K, alpha=(0.5, 0.3, 0.2), **given):
    """Return a small `hbp` in the middle of a stream, a row and its label."""
    rng = np.random.default_rng(6)
    learner = learners.create("hbp", 3, K, width=4, **given)
    for name in PARTS:
        learner.state[name][:] = rng.standard_normal(learner.state[name].shape)
    learner.state["alpha"][:] = alpha
    return learner, rng.standard_normal(3), 0


def losses(learner, x, label):
    """Return the log loss of each classifier, measured with all weight on it."""
    alpha, found = learner.state["alpha"].copy(), []
    for one in np.eye(len(alpha)):
        learner.state["alpha"][:] = one
        S = predicted(learner, x)
        S = np.array([0.0, S[0]]) if len(S) == 1 else S
        found.append(np.log(np.exp(S).sum()) - S[label])
    learner.state["alpha"][:] = alpha
    return np.array(found)


@pytest.mark.parametrize("K", [2, 3])
def test_hbp_descends_on_the_weighted_losses_of_its_classifiers(K):
    learner, x, label = network(K, eta=1.0, clip=1e6)
    gradient = {name: np.zeros_like(learner.state[name]) for name in PARTS}
    for name in PARTS:
        array = learner.state[name]
        for place in np.ndindex(array.shape):
            sides = []
            for step in (1e-6, -1e-6):
                array[place] += step
                sides.append(losses(learner, x, label) @ learner.state["alpha"])
                array[place] -= step
            gradient[name][place] = (sides[0] - sides[1]) / 2e-6
    before = {name: learner.state[name].copy() for name in PARTS}
    scores(learner, x[None], np.array([float(label)]))
    for name in PARTS:
        np.testing.assert_allclose(before[name] - learner.state[name], gradient[name], atol=1e-7)


@pytest.mark.parametrize("K", [2, 3])
def test_hbp_steps_no_farther_than_eta_clip(K):
    moves = []
    for clip in (1e6, 0.01):
        learner, x, label = network(K, eta=0.5, clip=clip)
        before = np.concatenate([learner.state[name].ravel() for name in PARTS])
        scores(learner, x[None], np.array([float(label)]))
        moves.append(np.concatenate([learner.state[name].ravel() for name in PARTS]) - before)
    free, cut = moves
    assert np.linalg.norm(cut) == pytest.approx(0.5 * 0.01)
    np.testing.assert_allclose(cut / np.linalg.norm(cut), free / np.linalg.norm(free), atol=1e-9)


def test_hbp_weights_classifiers_by_their_losses():
    learner, x, label = network(3, alpha=(0.9, 0.06, 0.04), beta=0.5, smooth=0.15)
    loss = np.minimum(losses(learner, x, label), 1.0)
    assert loss.min() < 1.0 == loss.max(), "larger losses count as 1"
    expected = np.maximum(np.array([0.9, 0.06, 0.04]) * 0.5**loss, 0.05)
    scores(learner, x[None], np.array([float(label)]))
    np.testing.assert_allclose(learner.state["alpha"], expected / expected.sum(), rtol=1e-12)


def test_hbp_weights_the_classifiers_that_separate_the_classes():
    X, y = chequered(4000)
    learner = learners.create("hbp", 2, smooth=0.0)
    scores(learner, X, y)
    assert learner.state["alpha"][0] < 0.01
    assert learner.state["alpha"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("K", [2, 3])
def test_hbp_neither_scores_nor_learns_where_a_classifier_overflows(K):
    learner, x, _ = network(K)
    learner.state["shallow"][0, 0] = 1e300  # of one class alone
    before = learner.state.memory.tobytes()
    assert predicted(learner, np.array([1e10, 0.0, 0.0])).tolist() == [0.0] * learner.n_scores
    scores(learner, np.array([[1e10, 0.0, 0.0]]), np.ones(1))
    assert learner.state["skipped"][0] == 1
    learner.state["skipped"][0] = 0
    assert learner.state.memory.tobytes() == before
    assert predicted(learner, x).any()


@pytest.mark.parametrize("K", [2, 4])
def test_hbp_recovers_from_a_block_of_extreme_rows(K):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((3000, 4))
    y = (X @ rng.standard_normal((4, K))).argmax(axis=1).astype(float)
    learner = learners.create("hbp", 4, K)
    scores(learner, X[:1000], y[:1000])
    wild = rng.standard_normal((200, 4)) * 10.0 ** rng.choice([150.0, 300.0], (200, 1))
    assert np.isfinite(scores(learner, wild, y[:200])).all()
    assert 0 < learner.state["skipped"][0] < 200, "those whose squares overflow"
    skipped = learner.state["skipped"][0]
    got = scores(learner, X[1000:], y[1000:])
    assert learner.state["skipped"][0] == skipped
    assert (predicted_class(got, learner.kind) == y[1000:])[1000:].mean() > 0.9


@pytest.mark.parametrize(("stream", "rows"), [("keystroke", 1_600), ("4CRE-V1", 20_000), ("5CVT", 20_000)])
def test_hbp_at_its_defaults_is_as_accurate_as_the_better_linear_learner(real_streams, stream, rows):
    X, y = real_streams.rows(stream, rows)
    K = int(y.max()) + 1
    assert accuracy("hbp", X, y, K) >= max(accuracy("mc_softmax", X, y, K), accuracy("mc_arow", X, y, K))

"""State-space learners against their definitions: exact filtering, the posterior, and resampling."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from driftway import learners


def learn(learner, y, X=None):
    """Return the scores of a run; the default rows are zeros."""
    score = np.empty((len(y), learner.n_scores))
    learner.predict_then_update(np.zeros((len(y), learner.n_features)) if X is None else X, np.asarray(y, float), score)
    return score


def tables(learner):
    A, B = learner.state["transitions"], learner.state["emissions"]
    return A / A.sum(axis=1, keepdims=True), B / B.sum(axis=1, keepdims=True)


def test_hmm_filter_agrees_with_the_sum_over_all_paths():
    labels, m = [0, 2, 1, 1, 0, 2], 3
    learner = learners.create("hmm_filter", 1, 3, states=m, stay=1.0, own=3.0)
    used = []
    for t, label in enumerate(labels):
        used.append(tables(learner))
        score = learn(learner, [label])[0]
        expected, ends = np.zeros(3), np.zeros(m)
        for path in itertools.product(range(m), repeat=t + 2):  # the state before the first row, then one per row
            weight = 1.0 / m
            for i, (A, B) in enumerate(used[:-1]):
                weight *= A[path[i], path[i + 1]] * B[path[i + 1], labels[i]]
            A, B = used[-1]
            weight *= A[path[-2], path[-1]]
            expected += weight * B[path[-1]]
            ends[path[-1]] += weight * B[path[-1], label]
        assert score == pytest.approx(expected / expected.sum(), rel=1e-12)
        assert learner.state["belief"] == pytest.approx(ends / ends.sum(), rel=1e-12)


def test_hmm_filter_counts_a_row_once():
    learner = learners.create("hmm_filter", 1, 3, states=5, decay=1.0)
    before = learner.state["transitions"].sum(), learner.state["emissions"].sum()
    learn(learner, np.arange(200) % 3)
    assert learner.state["transitions"].sum() == pytest.approx(before[0] + 200)
    assert learner.state["emissions"].sum() == pytest.approx(before[1] + 200)
    still = learners.create("hmm_filter", 1, 3, learn_A=False)
    A = still.state["transitions"].copy()
    learn(still, np.arange(200) % 3)
    assert still.state["transitions"] == pytest.approx(A)


def test_hmm_filter_counts_decay_towards_their_start_and_stay_there():
    learner = learners.create("hmm_filter", 1, 2, decay=0.5)
    learn(learner, [1.0] * 500)
    assert (learner.state["transitions"] >= 1.0).all()
    assert learner.state["emissions"].sum() == pytest.approx(2 * 2 + 2 * 100.0 + 2.0)  # 1 / (1 - decay) rows


@pytest.mark.parametrize("parameters", [{"own": 1e12, "stay": 1e12}, {"own": 0.0, "stay": 0.0}, {"decay": 1e-9}])
def test_hmm_filter_is_finite_at_extremes(parameters):
    rng = np.random.default_rng(31)
    learner = learners.create("hmm_filter", 1, states=4, **parameters)
    score = learn(learner, rng.integers(0, 2, 3000))
    assert np.isfinite(score).all()
    assert learner.state["belief"].sum() == pytest.approx(1.0)
    assert (learner.state["transitions"] > 0.9).all()


def test_hmm_filter_learns_a_cycle():
    y = np.arange(1500) % 5
    score = learn(learners.create("hmm_filter", 1, 5), y)
    assert (score.argmax(axis=1) == y)[500:].all()


@pytest.mark.parametrize(
    ("name", "n_classes", "expected"), [("keystroke", 4, 29.62), ("5CVT", 5, 33.03), ("4CR", 4, 24.34)]
)
def test_multiclass_accuracy_of_hmm_filter_is_the_documented_one(real_streams, name, n_classes, expected):
    X, y = real_streams.rows(name, 20_000)
    score = learn(learners.create("hmm_filter", X.shape[1], n_classes), y, X)
    assert 100 * (score.argmax(axis=1) == y).mean() == pytest.approx(expected, abs=0.3)


def test_hmm_filter_predicts_the_next_hour(real_streams):
    X, y = real_streams.rows("powersupply", 20_000)
    score = learn(learners.create("hmm_filter", X.shape[1], 24), y, X)
    assert 100 * (score.argmax(axis=1) == y).mean() == pytest.approx(98.56, abs=0.3)


def test_particle_filter_approaches_the_posterior():
    rng = np.random.default_rng(32)
    X = rng.standard_normal((30, 1))
    y = (rng.random(30) < 1.0 / (1.0 + np.exp(-1.5 * X[:, 0]))).astype(float)
    learner = learners.create("particle_filter", 1, particles=20_000, q=0.0, prior_var=4.0, intercept=False)
    score = learn(learner, y, X)[:, 0]
    w = np.linspace(-12.0, 12.0, 4001)  # quadrature over the one weight
    density = np.exp(-w * w / 8.0)
    for t in range(30):
        likelihood = 1.0 / (1.0 + np.exp(-w * X[t, 0]))
        expected = (density * likelihood).sum() / density.sum()
        assert 1.0 / (1.0 + math.exp(-score[t])) == pytest.approx(expected, abs=0.02)
        density *= likelihood if y[t] else 1.0 - likelihood


def drawn(trust):
    """Resample particles with the given weights; return each one's number of copies, and the learner."""
    n = len(trust)
    learner = learners.create("particle_filter", 1, particles=n, q=0.0, intercept=False)
    learner.state["particle"][:, 0] = np.arange(n)
    learner.state["log_likelihood"][:] = np.log(trust) - np.log(trust).max()
    learn(learner, [1.0])  # a zero row is no evidence about any weight
    return np.bincount(learner.state["particle"][:, 0].astype(int), minlength=n), learner


def test_particle_filter_resamples_systematically():
    rng = np.random.default_rng(33)
    for _ in range(20):
        trust = rng.dirichlet(np.full(50, 0.2))
        times, learner = drawn(trust)
        assert 1.0 / (trust**2).sum() < 25
        assert (np.abs(times - 50 * trust) < 1.0 + 1e-9).all()
        assert (learner.state["log_likelihood"] == 0.0).all()


def test_particle_filter_does_not_resample_while_enough_particles_are_effective():
    trust = np.r_[np.full(30, 1.0), np.full(20, 0.1)]
    times, learner = drawn(trust / trust.sum())
    assert (times == 1).all()
    assert learner.state["log_likelihood"].max() == 0.0
    assert learner.state["log_likelihood"].min() == pytest.approx(math.log(0.1))


def test_particle_filter_noise_has_its_variance():
    learner = learners.create("particle_filter", 3, particles=5000, q=0.25)
    before = learner.state["particle"].copy()
    assert before.std() == pytest.approx(1.0, abs=0.03)
    learn(learner, [1.0], np.zeros((1, 3)))
    moved = learner.state["particle"] - before  # one label changes the trust, not the particles
    assert moved.mean() == pytest.approx(0.0, abs=0.02)
    assert moved.std() == pytest.approx(0.5, abs=0.02)


def test_particle_filter_counts_rows_that_overflow():
    learner = learners.create("particle_filter", 2, particles=10, intercept=False)
    learner.state["particle"][:] = 1e200
    before = learner.state["particle"].copy()
    assert learn(learner, [1.0], np.full((1, 2), 1e300)).tolist() == [[0.0]]
    assert learner.state["skipped"][0] == 1
    assert (learner.state["particle"] == before).all()

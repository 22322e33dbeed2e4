"""The standardiser: one buffer, statistics of earlier labelled rows, inner learner attached."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.learner import SnapshotMismatch
from driftway.learners.preprocessing.standardizer import OnlineStandardizer, standardize, statistics_in
from tests.support.oracle.standardize import Standardize


def test_the_first_rows_are_scaled_to_0():
    learner = learners.create("perceptron", 2, standardize=True)
    X = np.array([[5.0, 1.0], [7.0, 1.0], [6.0, 1.0], [1e9, 1.0]])
    score = np.empty((4, 1))
    learner.predict_then_update(X, np.array([0.0, 1.0, 1.0, math.nan]), score)
    assert learner.state["standardize.rows"].tolist() == [3]
    assert learner.state["standardize.mean"].tolist() == [6.0, 1.0]
    assert learner.state["standardize.squares"].tolist() == [2.0, 0.0]
    # The first rows scale to 0, so only the intercept was learned: -1 (tie), then +1.
    assert score[:3, 0].tolist() == [0.0, -1.0, 0.0]


def test_state_is_one_buffer_that_holds_the_inner_learner():
    learner = learners.create("dfop", 3, standardize=True)
    assert isinstance(learner, OnlineStandardizer)
    inner = learner.inner.state
    assert np.shares_memory(inner.memory, learner.state.memory)
    assert learner.state.nbytes == inner.nbytes + (1 + 3 + 3 + 1 + 3 + 3 + 3 + 1 + 1) * 8
    learner.state["weight"][0] = 4.0
    assert inner["weight"][0] == 4.0
    arena = np.zeros(learner.state.nbytes, np.uint8)
    learner.move_state_to(arena)
    assert np.shares_memory(learner.inner.state.memory, arena)
    assert learner.inner.state["weight"][0] == 4.0


def test_a_standardised_learner_has_the_attributes_of_its_inner_learner():
    learner = learners.create("no_change", 3, standardize=True)
    assert learner.name == "no_change"
    assert not isinstance(learner, OnlineStandardizer)
    learner = learners.create("rls", 3, task="regression", standardize=True)
    face = (learner.name, learner.kind, learner.task, learner.n_features, learner.n_scores, learner.width)
    assert face == ("rls", "regression", "regression", 3, 1, 4)
    assert learner.identity()["standardize"] is True
    learner.compile_kernels()
    assert not learner.state["standardize.rows"][0]
    with pytest.raises(ValueError, match="ignores features"):
        OnlineStandardizer(learners.create("majority_class", 3))


def test_plain_and_standardised_snapshots_do_not_mix():
    plain = learners.create("pa1", 3)
    standardised = learners.create("pa1", 3, standardize=True)
    for one, other in [(plain, standardised), (standardised, plain)]:
        with pytest.raises(SnapshotMismatch):
            one.restore(other.snapshot())


def test_statistics_that_would_overflow_are_skipped_and_counted():
    learner = learners.create("pa1", 2, standardize=True)
    X = np.array([[1.0, 2.0], [1e300, 3.0], [2.0, 4.0]])
    learner.predict_then_update(X, np.zeros(3), np.empty((3, 1)))
    assert learner.state["standardize.skipped"][0] == 1
    assert np.isfinite(learner.state["standardize.squares"]).all()


def test_accuracy_does_not_depend_on_units():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4))
    y = (X @ np.array([1.0, 2.0, -1.0, 0.0]) > 0).astype(float)
    got = []
    for scale, shift in [(1.0, 0.0), (1024.0, 0.0)]:
        score = np.empty((2000, 1))
        learners.create("pa1", 4, standardize=True).predict_then_update(X * scale + shift, y, score)
        got.append(score)
    assert got[0].tobytes() == got[1].tobytes()


class Sum:
    """An oracle whose score is the sum of the features."""

    def score(self, x):
        return sum(x)

    def learn(self, x, y):
        pass


def wild_rows(n):
    """Return rows with early and late wild values, a feature that changes its unit, and one that is rarely set."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0] + [0.0, 5.0, 0.0, 3.0, 0.0]
    X[2] = 1e9
    X[[3, 40, 41, 700], 1] = 1e300, -1e300, 1e300, 1e12
    X[1500:, 3] *= 1000.0
    X[:, 4] = rng.random(n) < 0.01
    y = rng.integers(0, 2, n).astype(float)
    y[rng.random(n) < 0.2] = math.nan
    y[[2, 3, 40, 41, 700]] = 1.0
    return X, y


def test_scaled_rows_and_statistics_equal_the_oracle_bit_for_bit():
    X, y = wild_rows(4000)
    learner, oracle = learners.create("pa1", 5, standardize=True), Standardize(Sum(), 5)
    state = learner.state
    scaled = np.empty((len(X), 5))
    standardize(X, y, scaled, statistics_in(state))
    for x, label, z in zip(X.tolist(), y.tolist(), scaled.tolist(), strict=True):
        assert oracle.scaled(x) == z
        if not math.isnan(label):
            oracle.learn(x, label)
    assert [one.all.mean for one in oracle.features] == state["standardize.mean"].tolist()
    assert [one.all.q for one in oracle.features] == state["standardize.squares"].tolist()
    assert [one.recent.q for one in oracle.features] == state["standardize.recent_squares"].tolist()
    assert state["standardize.replaced"][0] >= 4
    assert state["standardize.skipped"][0] == 1


@pytest.mark.parametrize("factor", [1e-3, 1e3, 1e6])
def test_a_feature_that_changes_its_unit_is_rescaled_within_two_checks(factor):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000 + 2 * 1024, 2))
    X[20_000:] *= factor
    learner = learners.create("pa1", 2, standardize=True)
    learner.predict_then_update(X, rng.integers(0, 2, len(X)).astype(float), np.empty((len(X), 1)))
    deviation = np.sqrt(learner.state["standardize.squares"] / learner.state["standardize.rows"])
    assert (deviation > factor / 10).all()
    assert (deviation < factor * 10).all()


def test_a_value_beyond_300_deviations_counts_as_the_mean():
    rng = np.random.default_rng(0)
    learner = learners.create("pa1", 2, standardize=True)
    learner.predict_then_update(rng.standard_normal((500, 2)), np.tile([0.0, 1.0], 250), np.empty((500, 1)))
    score = np.empty((3, 1))
    mean = learner.state["standardize.mean"]
    learner.predict(np.array([[1e9, mean[1]], mean, [-1e300, mean[1]]]), score)
    assert score[0] == score[1] == score[2]

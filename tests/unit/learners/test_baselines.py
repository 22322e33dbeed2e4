"""Baselines: running mean and Gaussian naive Bayes, where the definition leaves no choice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway import learners
from driftway.learners.bayesian.gaussian_nb import FORGOTTEN, UNSEEN
from tests.conformance.checks import scores
from tests.conformance.rows import rows


def test_running_mean_predicts_the_mean_of_earlier_targets():
    y = np.array([4.0, 2.0, math.nan, 9.0, 1.0])
    learner = learners.create("running_mean", 2, task="regression", standardize=True)
    assert scores(learner, np.ones((5, 2)), y)[:, 0].tolist() == [0.0, 4.0, 3.0, 3.0, 5.0]
    assert learner.state["mean"].tolist() == [4.0]
    assert learner.state["labels"].tolist() == [4]


def test_running_mean_skips_targets_that_overflow():
    learner = learners.create("running_mean", 1, task="regression")
    score = scores(learner, np.ones((3, 1)), np.array([1.7e308, -1.7e308, 1.7e308]))
    assert score[:, 0].tolist() == [0.0, 1.7e308, 1.7e308]
    assert learner.state["skipped"].tolist() == [1]
    assert learner.state["labels"].tolist() == [2]


def test_naive_bayes_keeps_the_moments_of_each_class():
    X, y = rows("multiclass", 300, 3, unlabelled=0.1)
    learner = learners.create("gaussian_nb", 3, 4)
    scores(learner, X, y)
    for c in range(4):
        own = X[y == c]
        assert learner.state["count"][c] == len(own)
        np.testing.assert_allclose(learner.state["mean"][c], own.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(learner.state["squares"][c] / len(own), own.var(axis=0), rtol=1e-12)


def test_naive_bayes_score_is_the_logarithm_of_the_odds():
    X, y = rows("binary", 200, 2)
    learner = learners.create("gaussian_nb", 2)
    scores(learner, X, y)
    posterior = []
    for c in range(2):
        own = X[y == c]
        mean, variance = own.mean(axis=0), own.var(axis=0)
        density = np.exp(-((X - mean) ** 2) / (2.0 * variance)) / np.sqrt(2.0 * math.pi * variance)
        posterior.append(len(own) / len(X) * density.prod(axis=1))
    score = np.empty((200, 1))
    learner.predict(X, score)
    np.testing.assert_allclose(score[:, 0], np.log(posterior[1] / posterior[0]), rtol=1e-9)


def test_naive_bayes_binary_is_the_difference_of_the_multiclass_scores():
    X, y = rows("binary", 200, 3)
    binary, multiclass = (scores(learners.create("gaussian_nb", 3, k, decay=0.98), X, y) for k in (2, 3))
    both = np.arange(200) > np.argmax(y != y[0])
    assert np.array_equal(binary[both, 0], multiclass[both, 1] - multiclass[both, 0])
    assert (multiclass[:, 2] == UNSEEN).all()


@pytest.mark.parametrize(("labels", "expected"), [([1.0, 1.0], [0.0, 1.0]), ([0.0, 0.0], [0.0, -1.0])])
def test_naive_bayes_that_has_seen_one_class_scores_1_or_minus_1(labels, expected):
    assert scores(learners.create("gaussian_nb", 1), np.ones((2, 1)), np.array(labels))[:, 0].tolist() == expected


@pytest.mark.parametrize(("decay", "rows_left"), [(0.5, 332), (0.99, None)])
def test_naive_bayes_forgets_a_class_that_decayed_away(decay, rows_left):
    learner = learners.create("gaussian_nb", 2, decay=decay)
    scores(learner, np.array([[1.0, 2.0], [3.0, 5.0]]), np.zeros(2))
    count = learner.state["count"][0]
    n = rows_left or math.floor(math.log(FORGOTTEN / count, decay))
    scores(learner, np.zeros((n, 2)), np.ones(n))
    assert learner.state["count"][0] >= FORGOTTEN
    assert learner.state["mean"][0].any()
    scores(learner, np.zeros((1, 2)), np.ones(1))
    assert not learner.state["count"][0]
    assert not learner.state["mean"][0].any()
    assert not learner.state["squares"][0].any()
    assert scores(learner, np.zeros((1, 2)), np.array([math.nan]))[0, 0] == 1.0


def test_naive_bayes_row_that_overflows_is_counted_and_changes_nothing():
    learner = learners.create("gaussian_nb", 2, decay=0.9)
    scores(learner, *rows("binary", 20, 2))
    kept = {name: learner.state[name].tobytes() for name in ("count", "mean", "squares")}
    score = scores(learner, np.full((2, 2), 1e300), np.array([0.0, 1.0]))
    assert score[:, 0].tolist() == [0.0, 0.0], "it fits no class"
    assert learner.state["skipped"].tolist() == [2]
    assert {name: learner.state[name].tobytes() for name in kept} == kept

"""Forests: trees that are replaced at a drift, seeds, weights of votes, columns of trees; boosting learns residuals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from driftway import learners
from driftway.learners.engine.jit import kernel, member
from driftway.learners.engine.memory_types import pass_by_address
from tests.conformance.checks import scores

FOREST, PATCHES, BOOSTING = "adaptive_random_forest", "streaming_random_patches", "streaming_gradient_boosting"


class Pair(NamedTuple):
    """Two arrays of one type: numba has another type for tuples of such."""

    first: np.ndarray
    second: np.ndarray


@kernel
def total_of_second_row(pair):
    one = member(pair, 1)
    return one.first[0] + one.first[1] + 10.0 * one.second[0]


def test_kernels_read_a_member_whose_arrays_have_one_type():
    pass_by_address(Pair)
    assert total_of_second_row(Pair(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0], [6.0]]))) == 67.0


def turning(n, d=4):
    """An interaction of two columns whose classes are exchanged after half of the rows."""
    X = np.random.default_rng(1).uniform(-1.0, 1.0, (n, d))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(float)
    y[n // 2 :] = 1.0 - y[n // 2 :]
    return X, y


def test_trees_are_replaced_at_a_drift_and_only_there():
    X, y = turning(6000)
    learner = learners.create(FOREST, 4, trees=5)
    first = scores(learner, X[:3000], y[:3000])
    assert learner.state["members.drifts"][0] == 0
    later = scores(learner, X[3000:], y[3000:])
    assert learner.state["members.drifts"][0] >= 5
    for score, labels in ((first, y[:3000]), (later, y[3000:])):
        assert ((score[2000:, 0] >= 0) == labels[2000:]).mean() > 0.9


@pytest.mark.parametrize("name", [FOREST, PATCHES])
def test_other_seeds_grow_other_trees(name):
    X, y = turning(600)
    first, second = (scores(learners.create(name, 4, trees=2, seed=seed), X, y) for seed in (1, 2))
    assert not np.array_equal(first, second)


def test_leaves_of_a_random_patch_use_the_columns_of_their_tree():
    X, y = turning(2000, d=10)
    learner = learners.create(PATCHES, 10, trees=3, share=0.4)
    scores(learner, X, y)
    pools = {tuple(sorted(pool)) for pool in learner.state["trees.pool"][:3].tolist()}
    assert len(pools) > 1
    for t in range(3):
        for slot, owner in enumerate(learner.state["trees.nodes.owner"][t]):
            if owner >= 0:
                assert set(learner.state["trees.leaves.looked"][t, slot]) == set(learner.state["trees.pool"][t])


def test_boosting_sums_what_each_step_predicts():
    X, _ = turning(3000)
    y = 10.0 + 3.0 * (X[:, 0] > 0) * (X[:, 1] > 0)
    learner = learners.create(BOOSTING, 4, task="regression")
    score = scores(learner, X, y)[:, 0]
    assert ((score[2000:] - y[2000:]) ** 2).mean() < 0.25 * y.var()

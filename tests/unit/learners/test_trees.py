"""Hoeffding trees: splits where the concept has them, ids, full arenas, wild rows, and the oracle on columns of ids."""

from __future__ import annotations

import numpy as np
import pytest

from driftway import learners
from driftway.learners.drift.adwin import ADWINState
from driftway.learners.engine.parameters import ParameterError, TooFewFeatures
from driftway.learners.engine.state_layout import field_specs
from driftway.learners.trees.monitors import Detectors, Monitors
from tests.conformance.checks import scores
from tests.support.oracle.protocol import run
from tests.support.oracle.trees import learners as oracles

QUICK = {"grace": 20, "delta": 0.1, "tie": 0.3}


def quadrants(n):
    """Rows of an interaction that no linear learner can express."""
    X = np.random.default_rng(1).uniform(size=(n, 3))
    return X, ((X[:, 0] > 0.3) & (X[:, 1] > 0.6)).astype(float)


def with_ids(n):
    """Rows whose second column is an id: 2, 5 and 7 of 0..9 are the other class."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.standard_normal(n), rng.integers(0, 10, n)])
    return X, np.isin(X[:, 1], (2, 5, 7)).astype(float)


def inner_nodes(learner):
    """(tested column, threshold) of every inner node."""
    feature, threshold = learner.state["trees.nodes.feature"][0], learner.state["trees.nodes.threshold"][0]
    return [(int(j), float(t)) for j, t in zip(feature, threshold, strict=True) if j >= 0]


def test_first_splits_are_those_of_the_concept():
    X, y = quadrants(8000)
    learner = learners.create("hoeffding_tree", 3)
    hits = (scores(learner, X, y)[:, 0] >= 0) == y
    assert hits[4000:].mean() > 0.97
    found = inner_nodes(learner)
    assert found[0] == (1, pytest.approx(0.6, abs=0.06))
    assert any(j == 0 and abs(t - 0.3) < 0.06 for j, t in found)


def test_a_regression_tree_splits_at_a_step_of_the_targets():
    X, _ = quadrants(6000)
    y = np.where(X[:, 0] > 0.3, 5.0, 0.0) + 0.1 * X[:, 1]
    learner = learners.create("hoeffding_tree", 3, task="regression")
    score = scores(learner, X, y)
    assert ((score[3000:, 0] - y[3000:]) ** 2).mean() < 0.1
    assert inner_nodes(learner)[0] == (0, pytest.approx(0.3, abs=0.02))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_ids_are_compared_for_equality(task):
    X, y = with_ids(6000)
    learner = learners.create("hoeffding_tree", 2, task=task, nominal="1")
    score = scores(learner, X, y)[3000:, 0]
    if task == "classification":
        assert ((score >= 0) == y[3000:]).mean() > 0.99
    else:
        assert ((score - y[3000:]) ** 2).mean() < 0.01
    assert {(j, t) for j, t in inner_nodes(learner)} >= {(2 + 1, v) for v in (2.0, 5.0, 7.0)}


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_trees_with_ids_equal_the_oracle(kind):
    X, y = with_ids(300)
    X[::17, 1] += 40.0  # beyond the ids that are distinguished
    X[::13, 1] += 0.5
    y = y + (X[:, 0] > 0.5) if kind != "binary" else y
    task = "regression" if kind == "regression" else "classification"
    learner = learners.create("hoeffding_tree", 2, 3 if kind == "multiclass" else 2, task, nominal="1", **QUICK)
    oracle = oracles.HoeffdingTree(2, 3 if kind == "multiclass" else 2, kind, nominal="1", **QUICK)
    expected = np.array(run(oracle, X.tolist(), y.tolist()))
    np.testing.assert_allclose(scores(learner, X, y), expected, rtol=1e-9, atol=1e-9)
    assert any(j >= 2 for j, _ in inner_nodes(learner)), "no split by an id"


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_full_tree_removes_leaves_that_no_row_reaches(task):
    """At first x_0 < 0, with three splits there; then x_0 > 0, where a full tree has no room for one."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(6000, 1))
    X[:2000] -= 1.0
    y = (np.floor(X[:, 0] * 4) % 2).astype(float)
    learner = learners.create("hoeffding_tree", 1, task=task, max_leaves=4, **QUICK)
    scores(learner, X[:2000], y[:2000])
    assert learner.state["trees.nodes.removed"][0, 0] == 0
    first = {t for _, t in inner_nodes(learner)}
    score = scores(learner, X[2000:], y[2000:])[3000:, 0]
    assert learner.state["trees.nodes.removed"][0, 0] > 0
    assert len(inner_nodes(learner)) <= 3
    assert {t for _, t in inner_nodes(learner)} != first
    found = (score >= 0) == y[5000:] if task == "classification" else (score - y[5000:]) ** 2 < 0.25
    assert found.mean() > 0.9
    oracle = oracles.HoeffdingTree(1, 2, "binary" if task == "classification" else task, max_leaves=4, **QUICK)
    again = learners.create("hoeffding_tree", 1, task=task, max_leaves=4, **QUICK)
    some = np.r_[0:120, 2000:2240]
    expected = np.array(run(oracle, X[some].tolist(), y[some].tolist()))
    np.testing.assert_allclose(scores(again, X[some], y[some]), expected, rtol=1e-8, atol=1e-8)


def test_a_tree_of_one_leaf_never_splits():
    X, y = quadrants(2000)
    learner = learners.create("hoeffding_tree", 3, max_leaves=1, **QUICK)
    scores(learner, X, y)
    assert inner_nodes(learner) == []


def test_thresholds_stay_where_they_are_when_the_means_drift():
    X, y = quadrants(4000)
    learner = learners.create("hoeffding_tree", 3)
    scores(learner, X, y)
    before = inner_nodes(learner)
    X[:, 2] += np.linspace(0.0, 50.0, 4000)
    scores(learner, X, y)
    assert inner_nodes(learner)[: len(before)] == before or set(before) <= set(inner_nodes(learner))


@pytest.mark.parametrize("value", ["1.5", "-1", "a", "", "0/x", -2, 1.0])
def test_nominal_columns_are_validated(value):
    with pytest.raises(ParameterError, match="nominal must be column numbers separated by /, or none"):
        learners.create("hoeffding_tree", 3, nominal=value)


def test_a_nominal_column_must_exist():
    with pytest.raises(TooFewFeatures, match="nominal names column 3, and rows have 3, from 0") as caught:
        learners.create("hoeffding_tree", 3, nominal="1/3")
    assert caught.value.min_features == 4
    assert learners.create("hoeffding_tree", 4, nominal="3/1/1").parameters.nominal == "1/3"


def moving(n, kind, seed=5):
    """Rows whose concept is turned round, on one side of x_1 = 0 only, after half of them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    side, turned = X[:, 1] > 0, np.arange(n) >= n // 2
    y = ((X[:, 0] > 0) ^ (side & turned) ^ side).astype(float)
    return X, y + (0.1 * rng.standard_normal(n) if kind == "regression" else 0.0)


@pytest.mark.parametrize(
    ("kind", "rows", "drift", "leaves"), [("binary", 1600, 0.05, 16), ("regression", 2000, 0.01, 24)]
)
def test_alternates_begin_and_take_over_as_in_the_oracle(kind, rows, drift, leaves):
    X, y = moving(rows, kind)
    task = "regression" if kind == "regression" else "classification"
    given = QUICK | {"tie": 0.1, "max_leaves": leaves, "drift": drift}
    learner = learners.create("hoeffding_adaptive_tree", 2, task=task, **given)
    oracle = oracles.HoeffdingAdaptiveTree(2, 2, kind, **given)
    begun, taken = count_alternates(oracle.tree)
    expected = np.array(run(oracle, X.tolist(), y.tolist()))
    np.testing.assert_allclose(scores(learner, X, y), expected, rtol=1e-7, atol=1e-7)
    assert begun, "no alternate began"
    assert taken, "none took over"


def count_alternates(tree):
    """Lists that grow when an alternate of the oracle's tree begins, and when one takes over."""
    begun, taken, begin, take_place = [], [], tree.begin, tree.take_place

    def noted_begin(leaf, y):
        begun.extend([leaf] if leaf.parent else [])
        begin(leaf, y)

    def noted_take_place(node, of):
        taken.extend([node] if of.alternate is node else [])
        take_place(node, of)

    tree.begin, tree.take_place = noted_begin, noted_take_place
    return begun, taken


@pytest.mark.parametrize("stacked", [Monitors, Detectors])
def test_detectors_of_trees_are_declared_like_a_single_one(stacked):
    """With axes for trees and nodes in front; the kernels of the single one run on them."""
    declared = field_specs(stacked)
    for name, one in field_specs(ADWINState).items():
        assert (declared[name].dtype, declared[name].largest) == (one.dtype, one.largest)
        assert declared[name].shape.endswith(f", {one.shape}")

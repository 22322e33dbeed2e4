"""Forests of `auto` on rows with more features than a leaf observes."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from driftway.learners.auto.forests import class_forest, target_forest
from driftway.learners.auto.forests.class_forest import MODERATE, ClassForest
from driftway.learners.auto.forests.target_forest import TargetForest
from driftway.learners.auto.forests.trees import Columns
from driftway.learners.auto.second_mixture import for_classes, for_targets
from driftway.learners.engine.state import State
from driftway.learners.engine.state_layout import Sizes, allocate_scratch, as_views, fields_of, write_defaults
from driftway.learners.numeric.random import seed
from tests.support.oracle.auto import forests as oracle
from tests.unit.learners.test_auto import accuracy, noise

N = 26
F = TypeVar("F", ClassForest, TargetForest)


def created(kind: type[F], sizes: Sizes) -> F:
    state = State(fields_of(kind, sizes))
    write_defaults(kind, state)
    forest = as_views(kind, state, **allocate_scratch(kind, sizes))
    seed(forest.trees.words, np.uint64(5))
    return forest


def test_class_forests_of_wide_rows_equal_the_oracle() -> None:
    forest = created(ClassForest, {"K": 2, **for_classes.sizes(N, 2, True, False)})
    expected = oracle.ClassForest(2, 5, N, tuple(MODERATE))
    for row in np.random.default_rng(1).integers(0, class_forest.BINS, (600, N)):
        y, score = int(row[3] > 15), np.empty(2)
        class_forest.predict(forest, row.astype(float), score)
        np.testing.assert_allclose(score, expected.say(row.tolist()), rtol=1e-9)
        class_forest.learn(forest, row.astype(float), y, MODERATE)
        expected.learn(row.tolist(), y)
    assert forest.trees.gain.argmax() == 3


def test_target_forests_of_wide_rows_equal_the_oracle() -> None:
    forest = created(TargetForest, for_targets.sizes(N, True, False))
    expected = oracle.TargetForest(5, range(1, 1 + N), N)
    for row in np.random.default_rng(1).integers(0, target_forest.BINS, (600, 1 + N + for_targets.PAST)):
        y = float(row[3] > 20)
        forecast = target_forest.forecast(forest, row.astype(float))
        np.testing.assert_allclose(forecast, expected.say(row.tolist()), rtol=1e-9)
        target_forest.learn(forest, row.astype(float), y, Columns(1, N))
        expected.learn(row.tolist(), y)
    assert forest.trees.gain.argmax() == 3


def test_a_rule_on_three_of_two_hundred_features_is_learned() -> None:
    X = noise(8000, 200)
    y = ((X[:, 0] > 0.0) & (X[:, 1] > -0.5)) | (X[:, 2] > 1.0)
    assert accuracy("auto", X, y.astype(float), after=5000) > 0.97, "0.93 if leaves draw all of their features"

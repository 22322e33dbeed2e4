"""Learners beat the baselines, follow a drift, and reach the documented accuracies.

See docs/algorithms/reference-results.md#accuracy-with-the-defaults.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway import learners
from driftway.learners.learner import CLASSIFICATION
from driftway.learners.metrics.prequential import predicted_class, prequential
from driftway.learners.metrics.rolling import create_metrics
from driftway.learners.registry import find
from tests.conformance.checks import scores
from tests.conformance.rows import COLUMNS, target
from tests.conformance.table import TABLE, Case, cases

OF_FOUR_CLASSES = 75.0
"""Per cent that every learner must reach again after the labels of four classes are permuted; the least was 77.1."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{case.label}:learns", marks=case.marks)
        for case in cases()
        if "learns" not in case.row.opt_out and case.given.get("intercept", True)
    ],
)
def test_each_learner_beats_the_baselines(case):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((6000, 6))
    y = target(X, case.kind, 3, rng, 0.05)
    score = scores(case.make(6, 3), case.row.formed(X), y)
    if case.kind == "regression":
        means = np.cumsum(y)[:-1] / np.arange(1, len(y))
        assert ((score[1:, 0] - y[1:]) ** 2).mean() < 0.1 * ((means - y[1:]) ** 2).mean()
        assert ((score[1:, 0] - y[1:]) ** 2).mean() < 0.1 * ((y[:-1] - y[1:]) ** 2).mean()
        return
    metrics = create_metrics(CLASSIFICATION, case.classes(3), score.shape[1])
    metrics.observe(score, y)
    point = metrics.point()
    baseline = max(point["majority_accuracy"], point["no_change_accuracy"])
    assert point["accuracy"] > baseline + 0.2, "it learns nothing from the features; see `opt_out` for why it may not"


@pytest.mark.parametrize(
    ("row", "parameters", "floor"),
    [
        pytest.param(row, parameters, floor, id=f"{row.name}:adapts")
        for row in TABLE
        for parameters, floor in row.adapts
    ],
)
def test_each_learner_follows_a_drift(row, parameters, floor):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((7000, 6))
    y = (X @ rng.standard_normal(6) > 0).astype(float)
    y[5000:] = 1.0 - y[5000:]
    flip = rng.random(7000) < 0.05
    y[flip] = 1.0 - y[flip]
    learner = Case(row, "binary", json.dumps(dict(parameters))).make(6)
    hits = (scores(learner, row.formed(X), y)[:, 0] >= 0) == y
    assert 100 * hits[6000:].mean() > floor, "has not followed the drift after 1000 rows"


@pytest.mark.parametrize(
    ("row", "parameters"),
    [
        pytest.param(row, parameters, id=row.name)
        for row in TABLE
        for parameters, _ in row.adapts
        if "multiclass" in find(row.name).tasks
    ],
)
def test_each_multiclass_learner_follows_a_drift(row, parameters):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((7000, 6))
    y = np.argmax(X @ rng.standard_normal((6, 4)), axis=1).astype(float)
    y[5000:] = (y[5000:] + 1.0) % 4
    flip = rng.random(7000) < 0.05
    y[flip] = rng.integers(0, 4, flip.sum())
    learner = Case(row, "multiclass", json.dumps(dict(parameters))).make(6, 4)
    hits = predicted_class(scores(learner, X, y), "multiclass") == y
    assert 100 * hits[6000:].mean() > OF_FOUR_CLASSES, "has not followed the drift after 1000 rows"


@pytest.mark.parametrize(
    ("row", "parameters", "accuracies"),
    [
        pytest.param(row, parameters, accuracies, id=f"{row.name}{dict(parameters)}")
        for row in TABLE
        for parameters, accuracies in row.accuracy
    ],
)
def test_accuracy_of_the_specification(real_streams, row, parameters, accuracies):
    expected = dict(zip(COLUMNS, accuracies, strict=False))
    found = {}
    for name, rows in real_streams.present(expected):
        X, y = real_streams.rows(name, rows)
        learner = learners.create(row.name, X.shape[1], standardize=True, **parameters)
        metrics = create_metrics(CLASSIFICATION, 2, 1)
        blocks = [(X[i : i + 997], y[i : i + 997]) for i in range(0, len(X), 997)]
        for _ in prequential(learner, blocks, metrics):
            pass
        found[name, rows] = 100 * metrics.point()["accuracy"]
    assert found == pytest.approx({stream: expected[stream] for stream in found}, abs=row.tolerance)


def test_random_labels_cannot_be_predicted():
    rng = np.random.default_rng(13)
    X, y = rng.standard_normal((100_000, 5)), rng.integers(0, 2, 100_000).astype(float)
    hits = (scores(learners.create("dfop", 5, mu=0.2), X, y)[:, 0] >= 0) == y
    assert 100 * hits.mean() == pytest.approx(50.0, abs=1.0)

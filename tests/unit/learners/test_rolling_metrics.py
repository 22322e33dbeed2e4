"""The rolling metrics equal their oracle, however batches are cut."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from driftway.learners.metrics.classification import ClassificationMetrics
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.regression import RegressionMetrics
from driftway.learners.metrics.rolling import create_metrics
from tests.support.oracle import metrics as oracle

CLASSIFICATION_KEYS = [
    "labels",
    "window",
    "window_accuracy",
    "fading_accuracy",
    "accuracy",
    "kappa",
    "kappa_temporal",
    "no_change_accuracy",
    "majority_accuracy",
]
REGRESSION_KEYS = [
    *["labels", "window", "mse", "mae", "r2", "window_mse", "window_mae", "window_r2"],
    *["fading_mse", "fading_mae"],
]


def stream(kind, n, n_classes=2, seed=0):
    """Return scores and labels with runs, ties and unlabelled rows."""
    rng = np.random.default_rng(seed)
    if kind == "regression":
        y = np.cumsum(rng.standard_normal(n)) + 100.0
        score = (y + rng.standard_normal(n))[:, None]
    else:
        y = rng.integers(0, n_classes, n).astype(float)
        y[n // 3 : n // 2] = 1.0
        columns = 1 if kind == "binary" else n_classes
        score = np.round(rng.standard_normal((n, columns)), 1)
    y[rng.random(n) < 0.15] = np.nan
    return np.ascontiguousarray(score), y


def close(point, expected):
    assert list(point) == list(expected)
    for key, value in expected.items():
        if value is None:
            assert point[key] is None, key
        else:
            assert point[key] == pytest.approx(value, rel=1e-9, abs=1e-12), key


@pytest.mark.parametrize(("kind", "n_classes"), [("binary", 2), ("multiclass", 3), ("multiclass", 7)])
@pytest.mark.parametrize("window", [1, 7, 64, 65, 1000])
def test_classification_equals_oracle(kind, n_classes, window):
    score, y = stream(kind, 400, n_classes)
    metrics = ClassificationMetrics(n_classes, score.shape[1], window, 0.99)
    close(metrics.point(), oracle.classification([], n_classes, window, 0.99))
    history, start = [], 0
    for end in [1, 2, 3, 4, 10, 63, 64, 65, 130, 131, 400]:
        metrics.observe(score[start:end], y[start:end])
        history += zip(score[start:end].tolist(), y[start:end].tolist(), strict=True)
        close(metrics.point(), oracle.classification(history, n_classes, window, 0.99))
        start = end


@pytest.mark.parametrize("window", [1, 7, 100, 1000])
def test_regression_equals_oracle(window):
    score, y = stream("regression", 400)
    metrics = RegressionMetrics(window, 0.99)
    close(metrics.point(), oracle.regression([], window, 0.99))
    history, start = [], 0
    for end in [1, 2, 3, 10, 99, 100, 101, 250, 400]:
        metrics.observe(score[start:end], y[start:end])
        history += zip(score[start:end].tolist(), y[start:end].tolist(), strict=True)
        close(metrics.point(), oracle.regression(history, window, 0.99))
        start = end


@pytest.mark.parametrize(("task", "kind", "k"), [("classification", "binary", 2), ("regression", "regression", 0)])
def test_cutting_batches_changes_no_bit(task, kind, k):
    score, y = stream(kind, 500)
    states, points = [], []
    for size in (1, 3, 128, 500):
        metrics = create_metrics(task, k, 1, window=90)
        for i in range(0, 500, size):
            metrics.observe(score[i : i + size], y[i : i + size])
            if size == 3:
                metrics.point()
        states.append(metrics.state.memory.tobytes())
        points.append(metrics.point())
    assert len(set(states)) == 1
    assert all(point == points[0] for point in points)


@pytest.mark.parametrize(("task", "kind", "k"), [("classification", "binary", 2), ("regression", "regression", 0)])
def test_a_copied_state_continues_with_the_same_bits(task, kind, k):
    score, y = stream(kind, 300)
    whole, head, tail = (create_metrics(task, k, 1, window=50) for _ in range(3))
    whole.observe(score, y)
    head.observe(score[:170], y[:170])
    tail.state.memory[:] = head.state.memory
    tail.observe(score[170:], y[170:])
    assert tail.point() == whole.point()
    assert tail.state.memory.tobytes() == whole.state.memory.tobytes()


def test_unlabelled_rows_are_not_counted():
    for metrics in (create_metrics("classification", 2, 1), create_metrics("regression", 0, 1)):
        before = metrics.state.memory.tobytes()
        metrics.observe(np.ones((5, 1)), np.full(5, math.nan))
        metrics.observe(np.empty((0, 1)), np.empty(0))
        assert metrics.state.memory.tobytes() == before
        assert metrics.point()["labels"] == 0


def test_points_have_the_documented_names_and_plain_numbers():
    for metrics, keys in [
        (create_metrics("classification", 3, 3), CLASSIFICATION_KEYS),
        (create_metrics("regression", 0, 1), REGRESSION_KEYS),
    ]:
        assert list(metrics.point()) == keys
        assert all(v is None for v in list(metrics.point().values())[2:])
        metrics.observe(np.zeros((3, 3 if len(keys) == 9 else 1)), np.array([0.0, 1.0, 1.0]))
        assert {type(v) for v in metrics.point().values()} <= {int, float}
        json.dumps(metrics.point(), allow_nan=False)


def test_kappa_is_undefined_on_a_stream_of_one_class():
    """Whether the learner is right or wrong: a reference without errors leaves none to avoid."""
    metrics = create_metrics("classification", 2, 1)
    metrics.observe(np.ones((10, 1)), np.ones(10))
    assert (metrics.point()["kappa"], metrics.point()["kappa_temporal"]) == (None, None)
    metrics = create_metrics("classification", 3, 3)
    metrics.observe(np.zeros((10, 3)), np.ones(10))
    assert (metrics.point()["kappa"], metrics.point()["kappa_temporal"]) == (0.0, None)


def test_a_huge_error_leaves_the_window():
    metrics = create_metrics("regression", 0, 1, window=10)
    y = np.zeros(40)
    y[::2] = 1.0
    score = y[:, None] + 0.5
    score[5] = 1e200
    with np.errstate(over="ignore"):
        metrics.observe(score, y)
    point = metrics.point()
    assert point["mse"] is None
    assert point["window_mse"] == 0.25
    json.dumps(point, allow_nan=False)


def test_window_counts_do_not_drift():
    rng = np.random.default_rng(0)
    metrics = create_metrics("classification", 2, 1)
    for _ in range(20):
        y = rng.integers(0, 2, 50_000).astype(float)
        score = rng.standard_normal((50_000, 1))
        metrics.observe(score, y)
        hits = (score[-1000:, 0] >= 0) == y[-1000:]
        assert metrics.point()["window_accuracy"] == hits.mean()


def test_impossible_labels_are_refused():
    metrics = create_metrics("classification", 2, 1)
    before = metrics.state.memory.tobytes()
    for label in (2.0, -1.0, 0.5):
        with pytest.raises(ValueError, match="is not one of 0, 1"):
            metrics.observe(np.zeros((2, 1)), np.array([np.nan, label]))
    assert metrics.state.memory.tobytes() == before


def test_a_window_or_fading_factor_out_of_range_is_refused():
    with pytest.raises(ValueError, match="window must be >= 1"):
        create_metrics("classification", 2, 1, window=0)
    with pytest.raises(ValueError, match="fading must be"):
        RegressionMetrics(fading=0.0)


def test_predicted_class_is_that_of_the_highest_score():
    binary = predicted_class(np.array([[-0.1], [0.0], [-0.0], [2.0]]), "binary")
    assert binary.tolist() == [0, 1, 1, 1]
    many = predicted_class(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0], [0.0, -1.0, 3.0]]), "multiclass")
    assert many.tolist() == [0, 1, 2]
    assert binary.dtype == many.dtype == np.int64
    assert predicted_class(np.array([[1.5], [-2.0]]), "regression").tolist() == [1.5, -2.0]


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize(("before", "after"), [(100, 7), (100, 64), (130, 65), (65, 65), (1000, 400), (1, 1)])
def test_a_shorter_window_continues_as_if_it_had_always_been_so(kind, before, after):
    score, y = stream(kind, 400, 3)
    task = "regression" if kind == "regression" else "classification"
    whole, first = (create_metrics(task, 3, score.shape[1], window) for window in (after, before))
    whole.observe(score, y)
    first.observe(score[:250], y[:250])
    following = create_metrics(task, 3, score.shape[1], after)
    assert following.continue_from(first)
    following.observe(score[250:], y[250:])
    assert following.state.memory.tobytes() == whole.state.memory.tobytes()


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_a_longer_window_continues_until_the_shorter_one_has_dropped_a_row(kind):
    score, y = stream(kind, 400)
    task = "regression" if kind == "regression" else "classification"
    y[:200] = np.where(np.isnan(y[:200]), 1.0, y[:200])
    for rows, goes_on in ((64, True), (65, False), (200, False)):
        whole, first, following = (create_metrics(task, 2, 1, window) for window in (100, 64, 100))
        first.observe(score[:rows], y[:rows])
        new = following.state.memory.tobytes()
        assert following.continue_from(first) == goes_on
        whole.observe(score[:rows], y[:rows])
        assert following.state.memory.tobytes() == (whole.state.memory.tobytes() if goes_on else new)

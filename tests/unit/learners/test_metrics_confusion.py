"""Metrics of the confusion matrix and of margins, against River's and against explicit counts."""

from __future__ import annotations

import math
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from driftway.learners.metrics.confusion import ConfusionMetrics
from driftway.learners.metrics.margins import MarginMetrics
from driftway.learners.metrics.offline import OfflineMetrics
from driftway.learners.spec import Spec

EXACT = {"rel": 1e-12, "abs": 1e-12}
N = 900


@pytest.fixture(scope="module")
def river():
    pytest.importorskip("river")
    return SimpleNamespace(**vars(import_module("river.metrics")))


def rows(n_classes: int) -> tuple[np.ndarray, np.ndarray, list[int], list[int]]:
    """Return scores f8[n, k], labels f8[n], and labels and predictions as class indices; the last class is rare."""
    rng = np.random.default_rng(n_classes)
    y = np.minimum(rng.integers(0, n_classes + 3, N) % (n_classes + 1), n_classes - 1).astype(float)
    score = np.round(rng.standard_normal((N, 1 if n_classes == 2 else n_classes)), 2)
    if n_classes == 2:
        score[:, 0] += np.round(1.3 * y - 0.5, 2)
        predicted = (score[:, 0] >= 0).astype(int)
    else:
        score[np.arange(N), y.astype(int)] += 1.2
        predicted = score.argmax(axis=1)
    return score, y, y.astype(int).tolist(), predicted.tolist()


def fed(metric, truth, predicted):
    for y, p in zip(truth, predicted, strict=True):
        metric.update(y, p)
    return metric.get()


def measured(metrics, score, y):
    for start, end in ((0, 1), (1, 1), (1, 500), (500, N)):
        metrics.observe(np.ascontiguousarray(score[start:end]), y[start:end])
    return metrics.point()


def test_metrics_of_two_classes_equal_rivers(river):
    score, y, truth, predicted = rows(2)
    point = measured(ConfusionMetrics(2, 1), score, y)
    flags = [bool(t) for t in truth], [bool(p) for p in predicted]
    for name, metric in (
        ("precision", river.Precision), ("recall", river.Recall), ("f1", river.F1),
        ("balanced_accuracy", river.BalancedAccuracy), ("g_mean", river.GeometricMean),
    ):  # fmt: skip
        assert point[name] == pytest.approx(fed(metric(), *flags), **EXACT), name
    opposite = [[not flag for flag in one] for one in flags]
    assert point["specificity"] == pytest.approx(fed(river.Recall(), *opposite), **EXACT)
    assert point["sum_sens_spec"] == pytest.approx(point["balanced_accuracy"], **EXACT)


@pytest.mark.parametrize("n_classes", [3, 6])
def test_metrics_of_more_classes_equal_rivers(river, n_classes):
    score, y, truth, predicted = rows(n_classes)
    point = measured(ConfusionMetrics(n_classes, n_classes), score, y)
    for name, metric in (
        ("precision", river.MacroPrecision), ("recall", river.MacroRecall), ("f1", river.MacroF1),
        ("balanced_accuracy", river.BalancedAccuracy), ("g_mean", river.GeometricMean),
    ):  # fmt: skip
        assert point[name] == pytest.approx(fed(metric(), truth, predicted), **EXACT), name
    others = []
    for c in range(n_classes):
        rest = [p for t, p in zip(truth, predicted, strict=True) if t != c]
        others.append(sum(p != c for p in rest) / len(rest))
    assert point["specificity"] == pytest.approx(math.fsum(others) / n_classes, **EXACT)
    assert not {"cost", "sum_sens_spec"} & set(point)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_matrix_counts_each_labelled_row_once(n_classes):
    score, y, truth, predicted = rows(n_classes)
    y[::5] = np.nan
    point = measured(ConfusionMetrics(n_classes, score.shape[1]), score, y)
    pairs = [(t, p) for i, (t, p) in enumerate(zip(truth, predicted, strict=True)) if i % 5]
    assert point["confusion"] == [[pairs.count((t, p)) for p in range(n_classes)] for t in range(n_classes)]
    assert point["mistakes"] == sum(t != p for t, p in pairs)


def test_costs_are_those_of_misses_and_of_false_alarms():
    metrics = ConfusionMetrics(2, 1)
    metrics.observe(np.array([[-1.0], [-1.0], [1.0], [1.0], [-1.0]]), np.array([1.0, 1.0, 0.0, 1.0, 0.0]))
    point = metrics.point()
    assert point["cost"] == pytest.approx(2 * 0.95 + 0.05)
    assert point["cost_per_row"] == pytest.approx((2 * 0.95 + 0.05) / 5)
    assert (point["recall"], point["specificity"]) == (pytest.approx(1 / 3), 0.5)


def test_metrics_undefined_for_lack_of_a_class_are_none():
    empty = ConfusionMetrics(2, 1).point()
    assert empty["mistakes"] == 0
    assert empty["cost"] == 0.0
    assert {empty[name] for name in ("precision", "recall", "f1", "g_mean", "balanced_accuracy", "cost_per_row")} == {
        None
    }
    metrics = ConfusionMetrics(2, 1)
    metrics.observe(np.full((3, 1), -1.0), np.zeros(3))
    point = metrics.point()
    assert (point["specificity"], point["balanced_accuracy"]) == (1.0, 1.0)
    assert {point[name] for name in ("precision", "recall", "f1", "sum_sens_spec")} == {None}
    assert ConfusionMetrics(5, 5).point()["precision"] is None


@pytest.mark.parametrize("metrics", [ConfusionMetrics(3, 3), ConfusionMetrics(2, 1)])
def test_a_label_that_is_no_class_is_refused(metrics):
    k = 3 if metrics.kind == "multiclass" else 1
    with pytest.raises(ValueError, match="label 3 is not one of 0, 1"):
        metrics.observe(np.zeros((1, k)), np.array([3.0]))


# Margins.


@pytest.mark.parametrize("window", [5, 300, N, 2000])
def test_the_auc_equals_counted_pairs(window):
    score, y, truth, _ = rows(2)
    point = measured(MarginMetrics(window), score, y)
    last = list(zip(score[-window:, 0], truth[-window:], strict=True))
    ones, zeros = (np.array([one for one, label in last if label == wanted]) for wanted in (1, 0))
    expected = ((ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)).mean()
    assert point["window_auc"] == pytest.approx(expected, **EXACT)


def test_the_auc_equals_rivers(river):
    """Without ties, which River does not count as half."""
    score, y, truth, _ = rows(2)
    score += 1e-5 * np.random.default_rng(0).random(score.shape)
    metric = river.RollingROCAUC(window_size=400)
    for s, t in zip(score[:, 0].tolist(), truth, strict=True):
        metric.update(bool(t), s)
    assert measured(MarginMetrics(400), score, y)["window_auc"] == pytest.approx(metric.get(), **EXACT)


def test_hinge_loss_equals_its_definition():
    score, y, truth, _ = rows(2)
    y[::7] = np.nan
    losses = [max(0.0, 1.0 - (2 * t - 1) * s) for i, (s, t) in enumerate(zip(score[:, 0], truth, strict=True)) if i % 7]
    assert measured(MarginMetrics(), score, y)["hinge_loss"] == pytest.approx(math.fsum(losses) / len(losses), **EXACT)


def test_one_class_alone_has_no_auc():
    metrics = MarginMetrics(3)
    assert metrics.point() == {"hinge_loss": None, "window_auc": None}
    metrics.observe(np.array([[0.5], [2.0]]), np.ones(2))
    assert metrics.point() == {"hinge_loss": 0.25, "window_auc": None}
    metrics.observe(np.array([[0.5]]), np.zeros(1))
    assert metrics.point()["window_auc"] == 0.75
    metrics.observe(np.array([[0.1], [0.2]]), np.zeros(2))
    assert metrics.point()["window_auc"] is None


def test_the_metrics_depend_on_task_and_number_of_classes():
    def names(spec: str, classes: int) -> set[str]:
        metrics = OfflineMetrics(Spec.parse(spec).create(2, classes))
        score = np.zeros((1, 1 if classes == 2 else classes))
        metrics.observe(score, np.zeros(1))
        return set(metrics.point({"accuracy": 1.0, "majority_accuracy": 1.0}))

    two, three = names("pa1", 2), names("mc_pa1", 3)
    assert two - three == {"hinge_loss", "window_auc", "sum_sens_spec", "cost", "cost_per_row"}
    assert three < two
    assert names("gaussian_nb", 3) - three == {"log_loss", "brier"}

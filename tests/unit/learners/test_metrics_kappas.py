"""Windowed and fading kappas, against River's and against explicit sums."""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np
import pytest

from driftway.learners.metrics.classification import ClassificationMetrics
from driftway.learners.metrics.kappas import KappaMetrics
from driftway.learners.metrics.offline import OfflineMetrics
from driftway.learners.metrics.regression import RegressionMetrics
from driftway.learners.spec import Spec

EXACT = {"rel": 1e-12, "abs": 1e-12}
N, WINDOW, FADING = 700, 150, 0.99


def rows(n_classes: int, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Return scores that are mostly right, and labels with a run of one class and classes that die out."""
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, n).astype(float)
    y[n // 3 : n // 2] = 1.0
    y[n // 2 :] = np.minimum(y[n // 2 :], 1.0)
    score = rng.standard_normal((n, 1 if n_classes == 2 else n_classes))
    if n_classes == 2:
        score[:, 0] += 2.0 * y - 1.0
    else:
        score[np.arange(n), y.astype(int)] += 1.5
    return score, y


def predictions(score: np.ndarray) -> list[int]:
    return [int(s[0] >= 0) if len(s) == 1 else int(np.argmax(s)) for s in score]


def references(y: np.ndarray, n_classes: int) -> tuple[list[int], list[int]]:
    """Return the predictions of no-change and of the majority class for each row."""
    before, most, counts = [], [], [0] * n_classes
    last = 1 if n_classes == 2 else 0
    for label in y.astype(int).tolist():
        before.append(last)
        best = [c for c in range(n_classes) if counts[c] == max(counts)]
        most.append(best[-1] if n_classes == 2 else best[0])
        counts[label] += 1
        last = label
    return before, most


def share(truth, predicted, weights) -> float:
    hits = math.fsum(w for t, p, w in zip(truth, predicted, weights, strict=True) if t == p)
    return hits / math.fsum(weights)


def weighted(metric, truth, predicted, weights) -> float:
    for y, p, w in zip(truth, predicted, weights, strict=True):
        metric.update(y, p, w)
    return metric.get()


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("n", [60, N])
def test_kappas_equal_rivers(n_classes, n):
    pytest.importorskip("river")
    kappa = import_module("river.metrics").CohenKappa
    score, y = rows(n_classes, n)
    metrics = KappaMetrics(n_classes, score.shape[1], WINDOW, FADING)
    metrics.observe(score, y)
    point, truth, predicted = metrics.point(), y.astype(int).tolist(), predictions(score)
    before, most = references(y, n_classes)
    first = max(0, n - WINDOW)
    for form, weights in (
        ("window", [1.0 if t >= first else 0.0 for t in range(n)]),
        ("fading", [FADING ** (n - 1 - t) for t in range(n)]),
    ):
        used = [t for t in range(n) if weights[t] > 0.0]
        t, p, w = ([one[i] for i in used] for one in (truth, predicted, weights))
        assert point[f"{form}_kappa"] == pytest.approx(weighted(kappa(), t, p, w), **EXACT)
        p0, p_m = share(t, p, w), share(t, [most[i] for i in used], w)
        assert point[f"{form}_kappa_m"] == pytest.approx((p0 - p_m) / (1 - p_m), **EXACT)
        used = [i for i in used if i > 0]  # the first row has no row before it
        t, p, w = ([one[i] for i in used] for one in (truth, predicted, weights))
        p0, p_e = share(t, p, w), share(t, [before[i] for i in used], w)
        assert point[f"{form}_kappa_temporal"] == pytest.approx((p0 - p_e) / (1 - p_e), **EXACT)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_with_a_window_of_all_rows_or_no_fading_kappas_equal_the_overall_ones(n_classes):
    score, y = rows(n_classes)
    offline = OfflineMetrics(Spec.parse("majority_class").create(2, n_classes), window=N, fading=1.0)
    rolling = ClassificationMetrics(n_classes, score.shape[1])
    offline.observe(score, y)
    rolling.observe(score, y)
    total = rolling.point()
    point = {**total, **offline.point(total)}
    for form in ("window", "fading"):
        for name in ("kappa", "kappa_temporal", "kappa_m"):
            assert point[f"{form}_{name}"] == pytest.approx(point[name], **EXACT)


def test_cutting_batches_changes_no_bit_and_unlabelled_rows_do_not_count():
    score, y = rows(3)
    y[::7] = np.nan
    known = ~np.isnan(y)
    whole, cut, clean = (KappaMetrics(3, 3, WINDOW, FADING) for _ in range(3))
    whole.observe(score, y)
    for start, end in ((0, 1), (1, 1), (1, 340), (340, N)):
        cut.observe(np.ascontiguousarray(score[start:end]), y[start:end])
    clean.observe(np.ascontiguousarray(score[known]), y[known])
    for one in (cut, clean):
        assert one.point() == whole.point()
        for name in ("ring", "in_window", "margins", "faded", "faded_margins", "seen"):
            assert getattr(one.agreement, name).tobytes() == getattr(whole.agreement, name).tobytes()


def test_the_window_forgets_and_has_no_kappa_if_its_reference_makes_no_error():
    metrics = KappaMetrics(2, 1, window=10)
    metrics.observe(np.full((30, 1), -1.0), np.ones(30))
    assert metrics.point()["window_kappa"] == 0.0  # defined: predictions are of the other class
    assert metrics.point()["window_kappa_temporal"] is None  # no-change is always right: there is nothing to gain
    assert metrics.point()["window_kappa_m"] is None
    metrics.observe(np.ones((10, 1)), np.ones(10))
    point = metrics.point()
    assert (point["window_kappa"], point["window_kappa_temporal"], point["window_kappa_m"]) == (None, None, None)
    assert point["fading_kappa"] < 0.5
    metrics.observe(np.ones((1, 1)), np.zeros(1))
    assert None not in metrics.point().values()


@pytest.mark.parametrize("name", ["majority_class", "no_change"])
def test_all_kappas_are_none_on_a_stream_of_one_class(name):
    learner = Spec.parse(name).create(2, 2)
    X, y, score = np.zeros((40, 2)), np.ones(40), np.empty((40, 1))
    learner.predict_then_update(X, y, score)
    rolling, offline = ClassificationMetrics(2, 1, window=10), OfflineMetrics(learner, window=10)
    rolling.observe(score, y)
    offline.observe(score, y)
    point = rolling.point()
    assert point["accuracy"] == 1.0
    point |= offline.point(point)
    found = {name: value for name, value in point.items() if "kappa" in name}
    assert (len(found), set(found.values())) == (9, {None})


def test_kappas_need_one_label_and_kappa_temporal_needs_two():
    metrics = KappaMetrics(2, 1)
    assert set(metrics.point().values()) == {None}
    metrics.observe(np.ones((1, 1)), np.zeros(1))
    point = metrics.point()
    assert point["window_kappa"] == 0.0
    assert point["window_kappa_temporal"] is None
    assert point["fading_kappa_temporal"] is None


@pytest.mark.parametrize(("window", "fading"), [(0, 0.9), (10, 0.0), (10, 1.1)])
def test_a_window_or_fading_factor_out_of_range_is_refused(window, fading):
    with pytest.raises(ValueError, match="must be"):
        KappaMetrics(2, 1, window, fading)


@pytest.mark.parametrize("label", [-1.0, 0.5, 2.0])
def test_a_label_that_is_no_class_is_refused(label):
    with pytest.raises(ValueError, match="is not one of 0, 1"):
        KappaMetrics(2, 1).observe(np.zeros((1, 1)), np.array([label]))


def test_windowed_and_fading_errors_equal_explicit_sums():
    rng = np.random.default_rng(5)
    y = np.cumsum(rng.standard_normal(N))
    score = y + 0.3 * rng.standard_normal(N)
    rolling = RegressionMetrics(WINDOW)
    offline = OfflineMetrics(Spec.parse("rls").create(2, task="regression"), WINDOW)
    for start, end in ((0, 1), (1, 400), (400, N)):
        block = np.ascontiguousarray(score[start:end, None]), y[start:end]
        rolling.observe(*block)
        offline.observe(*block)
    point = offline.point(rolling.point())
    means = [math.nan, *(math.fsum(y[:t]) / t for t in range(1, N))]
    for form, weights in (
        ("window_", [1.0 if t >= N - WINDOW else 0.0 for t in range(N)]),
        ("fading_", [0.999 ** (N - 1 - t) for t in range(N)]),
    ):
        own = [w * (s - t) ** 2 for w, s, t in zip(weights, score, y, strict=True)]
        ofmean = [w * (m - t) ** 2 for w, m, t in zip(weights, means, y, strict=True)]
        nmse = math.fsum(own[1:]) / math.fsum(ofmean[1:])
        assert point[f"{form}rmse"] == pytest.approx(math.sqrt(math.fsum(own) / math.fsum(weights)), rel=1e-10)
        assert point[f"{form}nmse"] == pytest.approx(nmse, rel=1e-9)
    assert point["fading_r2"] == pytest.approx(1.0 - point["fading_nmse"], rel=1e-12)

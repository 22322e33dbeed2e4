"""Every metric equals River's on the same predictions, and the probabilities that scores represent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from driftway.learners.metrics.classification import ClassificationMetrics
from driftway.learners.metrics.offline import OfflineMetrics, robustness_ratios
from driftway.learners.metrics.probabilities import LINKS, ProbabilityMetrics, link_of
from driftway.learners.metrics.probabilities import probabilities as probabilities_of
from driftway.learners.metrics.regression import RegressionMetrics
from driftway.learners.preprocessing.maps import create_mapped
from driftway.learners.registry import LEARNERS, find
from driftway.learners.spec import Spec

EXACT = {"rel": 1e-12, "abs": 1e-12}
N = 1500


@pytest.fixture(scope="module")
def river():
    pytest.importorskip("river")
    return SimpleNamespace(**{name: import_module(f"river.{name}") for name in ("metrics", "stats")})


def labels(n_classes: int) -> np.ndarray:
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, N).astype(float)
    y[300:400] = 1.0
    return y


def scores(n_classes: int) -> np.ndarray:
    """Return moderate scores, because River computes 1 - p, which has few digits left where p is nearly 1."""
    rng = np.random.default_rng(100 + n_classes)
    score = 2.0 * rng.standard_normal((N, 1 if n_classes == 2 else n_classes))
    y = labels(n_classes)
    if n_classes == 2:
        score[:, 0] += 2.0 * y - 1.0
    else:
        score[np.arange(N), y.astype(int)] += 1.5
    return score


def predictions(score: np.ndarray) -> np.ndarray:
    return (score[:, 0] >= 0).astype(int) if score.shape[1] == 1 else score.argmax(axis=1)


def batches(score: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for start, end in ((0, 1), (1, 700), (700, 701), (701, N)):
        yield np.ascontiguousarray(score[start:end]), y[start:end]


def no_change(y: np.ndarray, first: int) -> np.ndarray:
    return np.array([first, *y[:-1]], int)


def majority(y: np.ndarray, n_classes: int, binary: bool) -> np.ndarray:
    """Predict the most frequent class so far; ties go to class 1 with two classes, else to the lowest."""
    found, counts = [], [0] * n_classes
    for label in y.astype(int):
        found.append(int(counts[1] >= counts[0]) if binary else counts.index(max(counts)))
        counts[label] += 1
    return np.array(found)


def fed(metric, truth, predicted):
    for y, p in zip(truth, predicted, strict=True):
        metric.update(y, p)
    return metric.get()


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_classification_metrics_equal_rivers(river, n_classes):
    y, score = labels(n_classes), scores(n_classes)
    rolling = ClassificationMetrics(n_classes, score.shape[1], window=400)
    for block in batches(score, y):
        rolling.observe(*block)
    point, truth, predicted = rolling.point(), y.astype(int).tolist(), predictions(score).tolist()
    accuracy = river.metrics.Accuracy
    before = no_change(y, 1 if n_classes == 2 else 0).tolist()
    most = majority(y, n_classes, n_classes == 2).tolist()
    assert point["accuracy"] == pytest.approx(fed(accuracy(), truth, predicted), **EXACT)
    assert point["kappa"] == pytest.approx(fed(river.metrics.CohenKappa(), truth, predicted), **EXACT)
    window = fed(accuracy(), truth[-400:], predicted[-400:])
    assert point["window_accuracy"] == pytest.approx(window, **EXACT)
    assert point["no_change_accuracy"] == pytest.approx(fed(accuracy(), truth, before), **EXACT)
    assert point["majority_accuracy"] == pytest.approx(fed(accuracy(), truth, most), **EXACT)
    p0, p_e = (fed(accuracy(), truth[1:], one[1:]) for one in (predicted, before))
    assert point["kappa_temporal"] == pytest.approx((p0 - p_e) / (1 - p_e), **EXACT)
    p0, p_m = (fed(accuracy(), truth, one) for one in (predicted, most))
    offline = OfflineMetrics(Spec.parse("majority_class").create(2, n_classes))
    assert offline.point(point)["kappa_m"] == pytest.approx((p0 - p_m) / (1 - p_m), **EXACT)


def test_probability_metrics_of_two_classes_equal_rivers(river):
    y, score = labels(2), scores(2)
    p = [1.0 / (1.0 + math.exp(-s)) for s in score[:, 0]]
    metrics = ProbabilityMetrics("logistic")
    for block in batches(score, y):
        metrics.observe(*block)
    truth = [bool(label) for label in y]
    assert metrics.point()["log_loss"] == pytest.approx(fed(river.metrics.LogLoss(), truth, p), **EXACT)
    assert metrics.point()["brier"] == pytest.approx(fed(river.metrics.MSE(), y.tolist(), p), **EXACT)


@pytest.mark.parametrize("n_classes", [3, 6])
def test_probability_metrics_of_more_classes_equal_rivers(river, n_classes):
    y, score = labels(n_classes), scores(n_classes)
    p = [[math.exp(s) / math.fsum(math.exp(other) for other in row) for s in row] for row in score]
    metrics = ProbabilityMetrics("softmax")
    for block in batches(score, y):
        metrics.observe(*block)
    truth = y.astype(int).tolist()
    entropy = fed(river.metrics.CrossEntropy(), truth, [dict(enumerate(row)) for row in p])
    assert metrics.point()["log_loss"] == pytest.approx(entropy, **EXACT)
    squares = [fed(river.metrics.MSE(), (y == c).astype(float).tolist(), [row[c] for row in p])
               for c in range(n_classes)]  # fmt: skip
    assert metrics.point()["brier"] == pytest.approx(math.fsum(squares), **EXACT)


def test_sure_errors_are_clamped_as_by_river(river):
    """Where scores are so large that 1 - p has no digits left, both clamp to 1e-15."""
    score, y = np.array([[800.0], [-800.0], [700.0], [-1e300]]), np.array([0.0, 1.0, 1.0, 0.0])
    metrics = ProbabilityMetrics("logistic")
    metrics.observe(score, y)
    expected = fed(river.metrics.LogLoss(), [False, True, True, False], [1.0, 0.0, 1.0, 0.0])
    assert metrics.point()["log_loss"] == pytest.approx(expected, rel=1e-3)
    assert metrics.point()["brier"] == 0.5
    metrics = ProbabilityMetrics("softmax")
    metrics.observe(np.array([[-1e300, 0.0, -1e300]]), np.array([0.0]))
    expected = fed(river.metrics.CrossEntropy(), [0], [{0: 0.0, 1: 1.0, 2: 0.0}])
    assert metrics.point()["log_loss"] == pytest.approx(expected, **EXACT)


def test_regression_metrics_equal_rivers(river):
    rng = np.random.default_rng(9)
    y = np.cumsum(rng.standard_normal(N)) + 20.0
    score = (y + rng.standard_normal(N))[:, None]
    rolling, offline = RegressionMetrics(window=400), OfflineMetrics(Spec.parse("rls").create(2, task="regression"))
    for block in batches(score, y):
        rolling.observe(*block)
        offline.observe(*block)
    point = rolling.point()
    point |= offline.point(point)
    truth, predicted = y.tolist(), score[:, 0].tolist()
    for name in ("MSE", "MAE", "RMSE"):
        expected = fed(getattr(river.metrics, name)(), truth, predicted)
        assert point[name.lower()] == pytest.approx(expected, **EXACT), name
    assert point["r2_overall"] == pytest.approx(fed(river.metrics.R2(), truth, predicted), **EXACT)
    window = fed(river.metrics.MSE(), truth[-400:], predicted[-400:])
    assert point["window_mse"] == pytest.approx(window, **EXACT)
    means = [0.0]
    mean = river.stats.Mean()
    for target in truth[:-1]:
        mean.update(target)
        means.append(mean.get())
    errors, baseline = (fed(river.metrics.MSE(), truth[1:], one[1:]) for one in (predicted, means))
    assert point["nmse"] == pytest.approx(errors / baseline, **EXACT)
    assert point["r2"] == pytest.approx(1 - errors / baseline, **EXACT)


# Without River.


def test_probit_scores_are_normal_quantiles():
    from statistics import NormalDist

    score = np.array([[-3.0], [-0.5], [0.0], [0.25], [6.0]])
    p = probabilities_of(score, "probit")
    expected = [[NormalDist().cdf(-s), NormalDist().cdf(s)] for s in score[:, 0]]
    np.testing.assert_allclose(p, expected, rtol=1e-9)


LOGISTIC = ["ogd_logistic", "restarted_ogd", "truncated_gradient", "fobos_l1", "rda_l1", "ftrl_proximal", "mc_softmax",
            "gaussian_nb", "beta_bernoulli", "hmm_filter", "particle_filter"]  # fmt: skip
BINARY = {**dict.fromkeys(LOGISTIC, "logistic"), "bayes_probit": "probit"}
MULTICLASS = {"mc_softmax": "softmax", "gaussian_nb": "softmax", "hmm_filter": "direct"}


def test_learners_whose_scores_are_probabilities_say_so():
    assert {name: find(name).link for name in BINARY} == BINARY
    assert {name: find(name).multiclass_link for name in MULTICLASS} == MULTICLASS
    for name in LEARNERS:
        one = find(name)
        assert {one.link, one.multiclass_link} - {None} <= set(LINKS), name
        assert one.link is None or "binary" in one.tasks, name
        assert one.multiclass_link is None or "multiclass" in one.tasks, name


@pytest.mark.parametrize("name", BINARY)
def test_standardisers_and_maps_keep_a_learners_probabilities(name):
    if find(name).uses_features:  # the others are neither scaled nor mapped
        maps = (Spec.parse("hashing:buckets=4,seed=1"),)
        assert link_of(create_mapped(Spec.parse(name), (), 2, standardize=True)) == BINARY[name]
        assert link_of(create_mapped(Spec.parse(name), maps, 2)) == BINARY[name]


@pytest.mark.parametrize("name", BINARY)
def test_binary_probabilities_are_calibrated(name):
    """Probabilities beat the classes' shares on rows of a logistic model, or match them without features."""
    learner = Spec.parse(name).create(2)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 2))
    probability = 1.0 / (1.0 + np.exp(-(1.5 * X[:, 0] - X[:, 1])))
    y = (rng.random(1500) < probability).astype(float)
    if not learner.uses_features or name in ("hmm_filter",):
        y = (rng.random(1500) < 0.8).astype(float)
    score = np.empty((1500, 1))
    learner.predict_then_update(X, y, score)
    metrics = ProbabilityMetrics(link_of(learner))
    metrics.observe(score[500:], y[500:])
    share = y.mean()
    entropy = -(share * math.log(share) + (1 - share) * math.log(1 - share))
    slack = 0.05 if not learner.uses_features or name == "hmm_filter" else -0.1
    assert metrics.point()["log_loss"] < entropy + slack
    assert metrics.point()["brier"] < share * (1 - share) + slack / 2


@pytest.mark.parametrize("name", MULTICLASS)
def test_multiclass_scores_are_probabilities(name):
    learner = Spec.parse(name).create(2, 4)
    rng = np.random.default_rng(4)
    y = rng.choice(4, 800, p=[0.1, 0.2, 0.3, 0.4]).astype(float)
    score = np.empty((800, 4))
    learner.predict_then_update(rng.standard_normal((800, 2)) + y[:, None], y, score)
    p = probabilities_of(score, link_of(learner))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert (p >= 0.0).all()
    metrics = ProbabilityMetrics(link_of(learner))
    metrics.observe(score[400:], y[400:])
    assert metrics.point()["log_loss"] < math.log(4)


@pytest.mark.parametrize(
    ("spec", "classes"),
    [("pa1", 2), ("dfop", 2), ("fobos_l1:loss=hinge", 2), ("mc_pa1", 3), ("ova:ogd_logistic", 2), ("rls", 0)],
)
def test_margins_have_no_probabilities(spec, classes):
    task = "classification" if classes else "regression"
    learner = Spec.parse(spec).create(2, classes or 2, task)
    assert link_of(learner) is None
    rolling = (
        ClassificationMetrics(max(classes, 2), learner.n_scores).point() if classes else RegressionMetrics().point()
    )
    assert not {"log_loss", "brier"} & set(OfflineMetrics(learner).point(rolling))


@pytest.mark.parametrize("link", ["logistic", "probit", "softmax"])
def test_cutting_batches_changes_no_bit_and_unlabelled_rows_do_not_count(link):
    score, y = scores(3 if link == "softmax" else 2), labels(3 if link == "softmax" else 2)
    y[::7] = np.nan
    whole, cut, clean = (ProbabilityMetrics(link) for _ in range(3))
    whole.observe(score, y)
    for block in batches(score, y):
        cut.observe(*block)
    known = ~np.isnan(y)
    clean.observe(np.ascontiguousarray(score[known]), y[known])
    assert whole.totals.tobytes() == cut.totals.tobytes() == clean.totals.tobytes()
    assert whole.point() == cut.point() == clean.point()


def test_metrics_are_none_before_the_first_label():
    assert ProbabilityMetrics("logistic").point() == {"log_loss": None, "brier": None}
    learner = Spec.parse("rls").create(2, task="regression")
    offline, rolling = OfflineMetrics(learner), RegressionMetrics()
    assert set(offline.point(rolling.point()).values()) == {None}
    offline.observe(np.ones((3, 1)), np.full(3, 4.0))
    rolling.observe(np.ones((3, 1)), np.full(3, 4.0))
    found = offline.point(rolling.point())
    assert (found["rmse"], found["r2_overall"]) == (3.0, None)  # constant targets


def test_robustness_ratios_are_in_units_of_the_worst():
    assert robustness_ratios([0.9, 0.6, 0.75]) == pytest.approx([1.5, 1.0, 1.25])
    assert robustness_ratios([0.5]) == [1.0]
    assert robustness_ratios([0.5, 0.0]) == [None, None]
    assert robustness_ratios([0.5, None]) == [None, None]
    assert robustness_ratios([]) == []

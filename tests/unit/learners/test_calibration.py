"""Calibrated probabilities and their metrics, compared with docs/decisions/0055 in plain Python."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from driftway.learners.engine.state import Array
from driftway.learners.metrics.calibrator import Calibrator
from driftway.learners.metrics.evidence import evidence_of
from driftway.learners.metrics.prequential import predicted_class
from driftway.learners.metrics.reliability import BINS, FIGURES, MILLION, ReliabilityMetrics
from tests.support.oracle import calibration as oracle

CASES = {
    "margin": (2, None),
    "logistic": (2, "logistic"),
    "probit": (2, "probit"),
    "margins": (5, None),
    "softmax": (5, "softmax"),
    "direct": (3, "direct"),
}
ROWS = 600


def drifting_scores(n_classes: int, link: str | None, rows: int = ROWS, seed: int = 1) -> tuple[Array, Array]:
    """Scores that say less than they seem to after half of the rows, and labels; some are unknown."""
    rng = np.random.default_rng(seed)
    k = 1 if n_classes == 2 else n_classes
    score = rng.normal(size=(rows, k)) * rng.choice([0.1, 1.0, 3.0], size=(rows, 1))
    noisy = score + rng.gumbel(size=(rows, k)) * np.where(np.arange(rows) < rows // 2, 0.5, 4.0)[:, None]
    y = predicted_class(noisy, "binary" if k == 1 else "multiclass").astype(float)
    y[rng.random(rows) < 0.1] = math.nan
    if link == "direct":
        score = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    return score, y


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_probabilities_equal_the_oracle(case: tuple[int, str | None]) -> None:
    n_classes, link = case
    score, y = drifting_scores(n_classes, link)
    found = Calibrator(n_classes, link).calibrate(score, y)
    plain, expected = oracle.Calibration(n_classes, link), []
    for scores, label in zip(score.tolist(), y.tolist(), strict=True):
        expected.append(plain.probability(scores))
        if not math.isnan(label):
            plain.learn(scores, label)
    assert np.abs(found - np.array(expected)).max() <= 1
    assert len(set(found.tolist())) > ROWS // 2


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_cutting_batches_changes_no_bit(case: tuple[int, str | None]) -> None:
    score, y = drifting_scores(*case)
    whole, cut = Calibrator(*case), Calibrator(*case)
    expected, found = whole.calibrate(score, y), np.zeros(ROWS, np.int64)
    for start, end in [(0, 1), (1, 1), (1, 7), (7, 250), (250, ROWS)]:
        found[start:end] = cut.calibrate(score[start:end], y[start:end])
    assert found.tobytes() == expected.tobytes()
    assert cut.state.memory.tobytes() == whole.state.memory.tobytes()


def test_a_copied_state_continues_with_the_same_bits() -> None:
    score, y = drifting_scores(2, None)
    one, other = Calibrator(2, None), Calibrator(2, None)
    one.calibrate(score[:301], y[:301])
    other.check_state(one.state.memory)
    other.state.memory[:] = one.state.memory
    assert other.calibrate(score[301:], y[301:]).tobytes() == one.calibrate(score[301:], y[301:]).tobytes()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_probabilities_are_finite_and_bounded_for_any_scores(case: tuple[int, str | None]) -> None:
    n_classes, link = case
    score, y = drifting_scores(n_classes, link, 900)
    rng = np.random.default_rng(3)
    hostile = np.array([math.inf, -math.inf, math.nan, 1.8e308, -1.8e308, 1e199, 5e-324, 0.0, -0.0])
    where = rng.random(score.shape) < 0.4
    score[where] = rng.choice(hostile, size=int(where.sum()))
    calibrator = Calibrator(n_classes, link)
    found = calibrator.calibrate(score, y)
    assert found.min() >= MILLION / n_classes
    assert found.max() < MILLION
    assert all(np.isfinite(values).all() for values in (calibrator.state[name] for name in calibrator.state))
    clean, labels = drifting_scores(n_classes, link, 3000, seed=4)
    right = predicted_class(clean, calibrator.kind) == labels
    after = calibrator.calibrate(clean, labels)[-500:] / MILLION
    assert abs(after.mean() - right[-500:].mean()) < 0.15, "it learns again"


def test_constant_scores_get_the_share_of_correct_predictions() -> None:
    y = (np.arange(3000) % 4 > 0).astype(float)
    for value in (0.0, 1e-300, 7.0, 1e300):
        found = Calibrator(2, None).calibrate(np.full((3000, 1), value), y)
        assert abs(found[-1] / MILLION - 0.75) < 0.05, value


def test_evidence_is_the_lead_of_the_predicted_class() -> None:
    one, several = np.array([[-2.0], [0.5]]), np.array([[1.0, 4.0, 2.0], [3.0, 3.0, 0.0]])
    assert evidence_of(one, np.array([0, 1]), None).tolist() == [2.0, 0.5]
    assert evidence_of(several, np.array([1, 0]), None).tolist() == [2.0, 0.0]
    p = np.exp(several[0]) / np.exp(several[0]).sum()
    assert evidence_of(several, np.array([1, 0]), "softmax")[0] == pytest.approx(math.log(p[1] / (1 - p[1])))


@pytest.mark.parametrize("cuts", [[], [1, 40, 41, 333]])
def test_a_delayed_label_is_learned_with_the_score_and_counted_with_the_probability_of_its_row(cuts: list[int]) -> None:
    """Labels 30 rows late, through slots that are used again and again."""
    score, y = drifting_scores(2, None)
    operations: list[tuple[int, float]] = []
    for i in range(ROWS):
        operations.append((i, math.nan))
        if i >= 30 and not math.isnan(y[i - 30]):
            operations.append((i - 30, y[i - 30]))
    row = np.array([i for i, _ in operations])
    labels, slot = np.array([label for _, label in operations]), row % 31
    waiting, calibrator = np.zeros(31, np.int32), Calibrator(2, None)
    bounds = [0, *cuts, len(row)]
    found = np.concatenate(
        [calibrator.calibrate(score[row[a:b]], labels[a:b], slot[a:b], waiting) for a, b in pairwise(bounds)]
    )
    plain, emitted = oracle.Calibration(2, None), dict[int, int]()
    for place, (i, label) in enumerate(operations):
        if math.isnan(label):
            emitted[i] = plain.probability(score[i].tolist())
        else:
            plain.learn(score[i].tolist(), label)
        assert abs(int(found[place]) - emitted[i]) <= 1
    again = Calibrator(2, None)
    again.calibrate(score, np.full(ROWS, math.nan))
    assert again.state.memory.tobytes() == Calibrator(2, None).state.memory.tobytes(), "no label, nothing learned"


@pytest.mark.parametrize("window", [1, 64, 333, 5000])
def test_metrics_equal_those_of_the_whole_history(window: int) -> None:
    rng = np.random.default_rng(window)
    millionths = rng.choice([500_000, 500_001, 549_999, 550_000, 812_345, 999_999], size=900)
    predicted, y = rng.integers(0, 2, 900), rng.integers(0, 2, 900).astype(float)
    y[rng.random(900) < 0.1] = math.nan
    metrics, history = ReliabilityMetrics(window), list[tuple[int, bool]]()
    assert set(metrics.point().values()) == {None}
    count = metrics.counter(millionths, predicted, y)
    for start, end in ((0, 1), (1, 450), (450, 900)):
        count(start, end)
        rows = zip(millionths[start:end], predicted[start:end], y[start:end], strict=True)
        history += [(int(m), c == label) for m, c, label in rows if not math.isnan(label)]
        point = metrics.point()
        for prefix, expected in (("", oracle.reliability(history)), ("window_", oracle.reliability(history, window))):
            assert [point[prefix + name] for name in FIGURES] == pytest.approx(expected)
    assert sum(rows for _, rows, _, _ in metrics.bins()) == len(history)
    assert {j for j, *_ in metrics.bins()} == {10, 11, 16, BINS - 1}


@pytest.mark.parametrize(("before", "after"), [(50, 20), (20, 50), (64, 63)])
def test_metrics_continue_with_another_window_where_possible(before: int, after: int) -> None:
    millionths, zeros = np.arange(500_000, 500_030), np.zeros(30, np.int64)
    y = (np.arange(30) % 3 == 0).astype(float)
    old, new, same = ReliabilityMetrics(before), ReliabilityMetrics(after), ReliabilityMetrics(after)
    for metrics in (old, same):
        metrics.counter(millionths, zeros, y)(0, 30)
    assert new.continue_from(old) == (min(30, after) <= before)
    if min(30, after) <= before:
        assert new.state.memory.tobytes() == same.state.memory.tobytes()


def test_a_damaged_state_is_refused() -> None:
    metrics = ReliabilityMetrics(10)
    memory = metrics.state.memory.copy()
    memory[-1] = 255
    with pytest.raises(ValueError, match="probability"):
        metrics.check_state(memory)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_a_jump_of_the_scale_is_followed_and_one_huge_score_soon_forgotten(factor: float) -> None:
    score, y = drifting_scores(2, None, 6000)
    score[3000:] *= factor
    score[500] = 1e150
    calibrator = Calibrator(2, None)
    found = calibrator.calibrate(score, y)
    right = (predicted_class(score, "binary") == y)[~np.isnan(y)]
    sure = found[~np.isnan(y)] / MILLION
    for start, end in ((800, 2600), (4400, 5400)):
        assert abs(sure[start:end].mean() - right[start:end].mean()) < 0.03
        assert np.corrcoef(sure[start:end], right[start:end])[0, 1] > 0.2, "larger scores are surer"

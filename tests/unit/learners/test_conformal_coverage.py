"""The coverage of intervals and sets, its metrics, and hostile rows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftway.learners.conformal.conformal import Conformal, classes_of, ends_of
from driftway.learners.conformal.coverage import CoverageMetrics
from driftway.learners.conformal.thresholds import HIGHEST, run_length
from tests.support.conformal import KINDS, conformal, delays_of, each_kind, each_level, learner, operations, stream


def test_metrics_equal_the_sizes_and_coverage_of_the_sets():
    score, y = stream("seven", 2500, 11)
    thresholds_of = conformal("seven", 0.9, 300)
    member = classes_of(score, thresholds_of.emit(score, y), 7)
    sizes, covered = member.sum(axis=1), member[np.arange(2500), y.astype(int)]
    rolling = np.convolve(covered, np.ones(300), "valid") / 300
    assert thresholds_of.point() == {
        "coverage": covered.mean(),
        "window_coverage": pytest.approx(covered[-300:].mean()),
        "worst_window_coverage": pytest.approx(rolling[np.abs(rolling - 0.9).argmax()]),
        "set_size": sizes.mean(),
        "window_set_size": sizes[-300:].mean(),
        "empty_sets": (sizes == 0).mean(),
        "sets_of_one": (sizes == 1).mean(),
    }


def test_metrics_equal_the_widths_and_coverage_of_the_intervals():
    score, y = stream("targets", 2500, 12)
    thresholds_of = conformal("targets", 0.9, 300)
    low, high = ends_of(score, thresholds_of.emit(score, y))
    covered, width = (low <= y) & (y <= high), high - low
    rolling = np.convolve(covered, np.ones(300), "valid") / 300
    assert thresholds_of.point() == {
        "coverage": covered.mean(),
        "window_coverage": pytest.approx(covered[-300:].mean()),
        "worst_window_coverage": pytest.approx(rolling[np.abs(rolling - 0.9).argmax()]),
        "width": pytest.approx(width[9:].mean()),
        "window_width": pytest.approx(width[-300:].mean()),
        "endless": 9,
    }


def test_metrics_are_unknown_before_the_first_label():
    assert set(conformal("targets").point().values()) == {None, 0}
    assert set(conformal("seven").point().values()) == {None}


@each_level
def test_intervals_shrink_to_constant_targets_and_widen_again(level):
    thresholds_of = conformal("targets", level)
    score, y = np.full((600, 1), 5.0), np.full(600, 5.0)
    assert thresholds_of.emit(score, y)[-1] == 0.0
    assert thresholds_of.point()["coverage"] == 1.0
    score, y = stream("targets", 1000, 13)
    low, high = ends_of(score, thresholds_of.emit(score, y))
    assert ((low <= y) & (y <= high))[200:].mean() == pytest.approx(level, abs=0.02)


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("jump", [1e6, 1e-6])
def test_a_jump_of_scale_is_followed_within_few_labels(kind, level, jump):
    """Up at once, after a run of misses; down after a run of hits whose length has a probability of 0.001."""
    score, y = stream(kind, 3000, 14, np.repeat([1.0, jump], 1500))
    thresholds_of = conformal(kind, level)
    found = thresholds_of.emit(score, y)
    old, new = np.median(found[1000:1500]), found[1500 + 100 + 2 * run_length(level) :]
    covered = thresholds_of.point()["coverage"]
    assert covered == pytest.approx(level, abs=0.05)
    assert np.median(new) == pytest.approx(jump * old, rel=0.4, abs=0.3 * jump)


@pytest.mark.parametrize("size", [1e150, 1e-150, 1e300, 5e-324])
@each_kind
def test_scores_of_any_size_are_well_defined(kind, size):
    score, y = stream(kind, 500, 15)
    thresholds_of = conformal(kind)
    with np.errstate(under="ignore"):
        found = thresholds_of.emit(score * size, y * size if kind == "targets" else y)
    assert not np.isnan(found).any()
    for name in ("place", "weight", "correction", "largest", "run_largest", "scale"):
        assert np.isfinite(thresholds_of.conformal.state[name]).all(), name
    assert thresholds_of.point()["coverage"] > 0.7


@pytest.mark.parametrize("n", [1, 5, 500])
def test_intervals_recover_after_infinite_targets(n):
    score, y = stream("targets", 2000, 16)
    y[700 : 700 + n] = math.inf
    thresholds_of = conformal("targets")
    found = thresholds_of.emit(score, y)
    assert not np.isnan(found).any()
    assert (thresholds_of.conformal.state["place"] <= HIGHEST).all()
    assert found[-1] < 100.0


@each_kind
def test_zero_scores_give_sets_of_all_classes_and_later_scores_finite_thresholds(kind):
    thresholds_of, n = conformal(kind), 300
    zeros = np.zeros((n, KINDS[kind][1]))
    thresholds_of.emit(zeros, stream(kind, n)[1])
    if kind != "targets":
        assert thresholds_of.point()["coverage"] == 1.0
    score, y = stream(kind, 3000, 17)
    found = thresholds_of.emit(score, y)
    assert np.isfinite(found).all()
    assert thresholds_of.point()["window_coverage"] == pytest.approx(0.9, abs=0.02)


PLAIN = np.ones(20_000)
DRIFTS = {
    "nothing changes": PLAIN,
    "doubles, falls to a fifth": np.repeat([1.0, 2.0, 0.2, 1.0], 5000),
    "gradually tenfold": np.exp(np.linspace(0.0, math.log(10.0), 20_000)),
    "back and forth": 1.0 + 0.9 * np.sin(np.arange(20_000) / 150.0),
}


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("drift", DRIFTS)
def test_coverage_is_kept(kind, level, drift):
    thresholds_of = conformal(kind, level)
    thresholds_of.emit(*stream(kind, 20_000, 18, DRIFTS[drift]))
    point = thresholds_of.point()
    assert point["coverage"] == pytest.approx(level, abs=0.01)
    assert point["worst_window_coverage"] == pytest.approx(level, abs=0.05)


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_coverage_is_kept_with_delayed_labels(kind, level):
    score, y = stream(kind, 20_000, 19)
    scores, labels, slot, *_ = operations(score, y, delays_of(20_000, 20))
    thresholds_of = conformal(kind, level)
    thresholds_of.emit(scores, labels, slot, thresholds_of.waiting(64))
    point = thresholds_of.point()
    assert point["coverage"] == pytest.approx(level, abs=0.01)
    assert point["worst_window_coverage"] == pytest.approx(level, abs=0.05)


def test_a_fixed_threshold_loses_coverage_under_drift():
    """The tests above detect this: split-conformal intervals, whose threshold is that of the first rows, fail them."""
    score, y = stream("targets", 20_000, 18, DRIFTS["gradually tenfold"])
    distance = np.abs(y - score[:, 0])
    assert (distance[2000:] <= np.quantile(distance[:2000], 0.95)).mean() < 0.85


def test_compiling_does_not_change_the_state():
    for kind in KINDS:
        thresholds_of = conformal(kind)
        before = thresholds_of.memory
        thresholds_of.conformal.compile_kernels()
        assert thresholds_of.memory == before


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, math.nan, 0.99999])
def test_levels_out_of_range_are_refused(level):
    with pytest.raises(ValueError, match=r"coverage must be > 0 and <= 0\.9999, got"):
        conformal("two", level)


def test_a_window_without_labels_is_refused():
    with pytest.raises(ValueError, match="window must be >= 1, got 0"):
        conformal("two", 0.9, 0)


def test_labels_that_are_no_class_are_refused():
    with pytest.raises(ValueError, match="label 7 is not one of"):
        conformal("seven").emit(np.zeros((1, 7)), np.array([7.0]))


@each_kind
def test_labels_are_counted_in_ranges_of_a_batch(kind):
    """As accuracy points need: they are taken at fixed rows within a batch."""
    score, y = stream(kind, 900)
    threshold = Conformal(learner(kind), 0.9).emit(score, y)
    whole, ranges = (CoverageMetrics(learner(kind), 0.9, 200) for _ in range(2))
    whole.observe(score, threshold, y)
    count = ranges.counter(score, threshold, y)
    for start, end in ((0, 0), (0, 1), (1, 400), (400, 900)):
        count(start, end)
    assert np.array_equal(whole.state.memory, ranges.state.memory)


@each_kind
@pytest.mark.parametrize(("before", "after", "possible"), [(300, 300, True), (300, 120, True), (300, 400, False)])
def test_metrics_continue_with_another_window_where_possible(kind, before, after, possible):
    score, y = stream(kind, 1500)
    threshold = Conformal(learner(kind), 0.9).emit(score, y)
    first, following, from_start = (CoverageMetrics(learner(kind), 0.9, w) for w in (before, after, after))
    first.observe(score[:700], threshold[:700], y[:700])
    untouched = following.state.memory.copy()
    assert following.continue_from(first) is possible
    if not possible:
        assert np.array_equal(following.state.memory, untouched)
        return
    following.observe(score[700:], threshold[700:], y[700:])
    from_start.observe(score, threshold, y)
    expected, found = from_start.point(), following.point()
    if before != after:
        del expected["worst_window_coverage"], found["worst_window_coverage"]
    assert found == expected

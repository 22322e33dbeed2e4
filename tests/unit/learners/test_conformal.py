"""Intervals and sets: their oracle, their bits, late labels, hostile rows, and the coverage that they keep."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from driftway.learners.conformal.conformal import Conformal, classes_of, ends_of
from driftway.learners.conformal.coverage import CoverageMetrics
from driftway.learners.conformal.thresholds import HIGHEST, run_length
from driftway.learners.engine.update_loop import LABEL_EXPIRED, NOT_DELAYED
from tests.support.oracle import conformal as oracle

KINDS = {"targets": (0, 1), "two": (2, 1), "seven": (7, 7)}
"""Kind -> number of classes, number of scores."""
each_kind = pytest.mark.parametrize("kind", KINDS)
each_level = pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])


def learner(kind):
    """What is asked of a learner."""
    n_classes, n_scores = KINDS[kind]
    return SimpleNamespace(task="classification" if n_classes else "regression", n_classes=n_classes, n_scores=n_scores)


class Counted:
    """Thresholds and what they covered; both states in one."""

    def __init__(self, kind, level, window):
        self.conformal, self.coverage = Conformal(learner(kind), level), CoverageMetrics(learner(kind), level, window)
        self.waiting, self.point = self.conformal.waiting, self.coverage.point

    def emit(self, score, y, *late):
        threshold = self.conformal.emit(score, y, *late)
        self.coverage.observe(score, threshold, y)
        return threshold

    @property
    def memory(self):
        return self.conformal.state.memory.tobytes() + self.coverage.state.memory.tobytes()


def conformal(kind, level=0.9, window=1000):
    return Counted(kind, level, window)


def stream(kind, n, seed=0, spread=None):
    """Scores f8[n, k] and labels f8[n]; the errors' scale is `spread` f8[n], and scores of classes grow with it."""
    random, (_n_classes, n_scores) = np.random.default_rng(seed), KINDS[kind]
    spread = np.exp(np.sin(np.arange(n) / 200.0)) if spread is None else spread
    score = random.normal(size=(n, n_scores))
    if kind == "targets":
        return score, score[:, 0] + spread * random.standard_t(3, n)
    noisy = score + 0.5 * random.normal(size=score.shape)
    y = noisy.argmax(axis=1) if n_scores > 1 else (noisy[:, 0] >= 0.0)
    return score * spread[:, None], y.astype(float)


def delays_of(n, seed, most=30):
    """When the label of each row comes, in rows; 0: with it. Every seventh never comes: -1."""
    random = np.random.default_rng(seed)
    late = np.where(random.random(n) < 0.3, 0, random.integers(1, most, n))
    late[::7] = -1
    return late


def operations(score, y, delay, slots=64):
    """Rows and late labels as entries of `Conformal.observe`, the number of each one's row, and which are rows."""
    due = {}
    for row, late in enumerate(delay.tolist()):
        due.setdefault(row + late if late > 0 else None, []).append(row)
    entries = []
    for row in range(len(y)):
        entries.append((row, True))
        entries += [(other, False) for other in due.get(row, [])]
    number = np.array([row for row, _ in entries])
    is_row = np.array([first for _, first in entries])
    labels = np.where(is_row & (delay[number] != 0), np.nan, y[number])
    slot = np.where(delay[number] == 0, NOT_DELAYED, number % slots)
    return score[number], labels, slot, number, is_row


def told(kind, level, score, y, number, is_row):
    """What the oracle says to the same rows and labels: thresholds of all entries' rows, and the oracle itself."""
    reference, emitted = oracle.Oracle(level, signed=kind != "targets"), {}
    for i, row in enumerate(number.tolist()):
        if is_row[i]:
            emitted[row] = reference.predict(row)
        if not math.isnan(y[i]):
            scores = score[i].tolist()
            found = oracle.distance(scores, y[i]) if kind == "targets" else oracle.lag(scores, int(y[i]))
            reference.label(row, found)
    return np.array([emitted[row] for row in number.tolist()]), reference


@each_kind
@each_level
def test_thresholds_equal_the_oracle(kind, level):
    score, y = stream(kind, 3000)
    made = conformal(kind, level)
    found = made.emit(score, y)
    expected, reference = told(kind, level, score, y, np.arange(3000), np.ones(3000, bool))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert made.point()["coverage"] == np.mean(reference.covered)


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_jumps_of_scale_equal_the_oracle(kind, level):
    spread = np.repeat([1.0, 1e6, 1e-6, 1.0, 1e3], 400)
    score, y = stream(kind, 2000, 1, spread)
    expected, _ = told(kind, level, score, y, np.arange(2000), np.ones(2000, bool))
    np.testing.assert_allclose(conformal(kind, level).emit(score, y), expected, rtol=1e-8, atol=1e-12)


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_late_labels_equal_the_oracle(kind, level):
    score, y = stream(kind, 2000, 2)
    scores, labels, slot, number, is_row = operations(score, y, delays_of(2000, 3))
    made = conformal(kind, level)
    found = made.emit(scores, labels, slot, made.waiting(64))
    expected, reference = told(kind, level, scores, labels, number, is_row)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert made.point()["coverage"] == np.mean(reference.covered)


@each_kind
def test_labels_that_come_with_their_rows_are_as_if_none_could_be_late(kind):
    score, y = stream(kind, 500)
    late, plain = conformal(kind), conformal(kind)
    slot = np.full(500, NOT_DELAYED)
    assert np.array_equal(late.emit(score, y, slot, late.waiting(8)), plain.emit(score, y))
    assert late.memory == plain.memory


@each_kind
def test_cuts_change_no_bit(kind):
    score, y = stream(kind, 1000, 4)
    entries = operations(score, y, delays_of(1000, 5))[:3]
    whole, cut = conformal(kind), conformal(kind)
    once, pieces = whole.waiting(64), cut.waiting(64)
    expected, n = whole.emit(*entries, once), len(entries[1])
    cuts = [0, 1, 2, 17, 400, 401, 900, n]
    found = [cut.emit(*(part[start:end] for part in entries), pieces) for start, end in itertools.pairwise(cuts)]
    assert np.concatenate(found).tobytes() == expected.tobytes()
    assert cut.memory == whole.memory
    assert once.tobytes() == pieces.tobytes()


@each_kind
def test_a_copied_state_goes_on_with_the_same_bits(kind):
    score, y = stream(kind, 1000, 6)
    entries, first = operations(score, y, delays_of(1000, 7))[:3], 600
    one, other = conformal(kind), conformal(kind)
    waiting = one.waiting(64)
    one.emit(*(part[:first] for part in entries), waiting)
    for part, memory in ((other.conformal, one.conformal), (other.coverage, one.coverage)):
        part.check_state(memory.state.memory)
        part.state.memory[:] = memory.state.memory
    rest, kept = [part[first:] for part in entries], waiting.copy()
    assert one.emit(*rest, waiting).tobytes() == other.emit(*rest, kept).tobytes()
    assert one.memory == other.memory


def test_a_state_with_a_count_that_cannot_be_is_refused():
    for part, name in ((conformal("two").conformal, "run"), (conformal("two").coverage, "counted")):
        damaged = part.state.memory.copy()
        damaged[part.state.start(name) :][:8].view(np.int64)[0] = -5
        with pytest.raises(ValueError, match=f"{name} in the state is -5"):
            part.check_state(damaged)


@each_kind
def test_rows_whose_label_never_comes_change_nothing(kind):
    """But `rows`, from which the age of late labels is counted."""
    score, y = stream(kind, 600, 8)
    silent = np.repeat(score, 2, axis=0)
    some = np.full(1200, np.nan)
    some[::2] = y
    with_them, without = conformal(kind), conformal(kind)
    assert np.array_equal(with_them.emit(silent, some)[::2], without.emit(score, y))
    with_them.conformal.state["rows"][:] = without.conformal.state["rows"]
    assert with_them.memory == without.memory


@each_kind
def test_expired_rows_get_no_threshold_and_change_nothing(kind):
    score, y = stream(kind, 300)
    made = conformal(kind)
    made.emit(score, y)
    before = made.memory
    slot = np.full(10, LABEL_EXPIRED)
    assert np.isnan(made.emit(score[:10], np.full(10, np.nan), slot, made.waiting(8))).all()
    assert made.memory == before


@each_kind
def test_what_was_emitted_is_judged_not_what_would_be_emitted_now(kind):
    """A threshold that was too small when its row came is a miss, however large the threshold is by now."""
    score, y = stream(kind, 400, 9)
    made = conformal(kind, 0.5)
    made.emit(score, y)
    kept, late = made.waiting(8), score[:1]
    wrong = np.array([np.nan]), np.array([3])
    (emitted,) = made.emit(late, *wrong, kept)
    made.conformal.state["correction"][:] = 1.0
    covered = made.coverage.state["covered"][0]
    missed = (
        late[0, 0] + 2.0 * emitted
        if kind == "targets"
        else float(np.argmin(late[0]) if len(late[0]) > 1 else late[0, 0] < 0.0)
    )
    (again,) = made.emit(late, np.array([missed]), np.array([3]), kept)
    assert again == emitted
    assert made.coverage.state["covered"][0] == covered


@pytest.mark.parametrize(("level", "least"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
@each_kind
def test_before_enough_labels_everything_is_possible(kind, level, least):
    score, y = stream(kind, 200)
    found = conformal(kind, level).emit(score, y)
    assert np.isinf(found[:least]).all()
    assert np.isfinite(found[least:]).all()
    if kind == "targets":
        assert [end[0] for end in ends_of(score, found)] == [-math.inf, math.inf]
    else:
        n_classes = KINDS[kind][0]
        assert classes_of(score, found, n_classes)[:least].all()


@pytest.mark.parametrize("kind", ["two", "seven"])
def test_sets_are_what_their_definition_says(kind):
    n_classes = KINDS[kind][0]
    score, _ = stream(kind, 400, 10)
    score[::5] = np.round(score[::5])  # ties
    limit = np.random.default_rng(0).normal(size=400)
    limit[1::9] = 0.0
    expected = [
        [oracle.lag(row, c) <= bound for c in range(n_classes)]
        for row, bound in zip(score.tolist(), limit.tolist(), strict=True)
    ]
    found = classes_of(score, limit, n_classes)
    assert np.array_equal(found, expected)
    assert not found[limit < -10.0 * np.abs(score).max()].any()
    sizes = found.sum(axis=1)
    assert {0, 1, 2} <= set(sizes.tolist())


def test_a_set_without_empty_ones_holds_the_predicted_class():
    score, _ = stream("seven", 300)
    found = classes_of(score, np.abs(score[:, 0]), 7)
    assert found[np.arange(300), score.argmax(axis=1)].all()


def test_sizes_and_coverage_are_those_of_the_sets():
    score, y = stream("seven", 2500, 11)
    made = conformal("seven", 0.9, 300)
    member = classes_of(score, made.emit(score, y), 7)
    sizes, covered = member.sum(axis=1), member[np.arange(2500), y.astype(int)]
    rolling = np.convolve(covered, np.ones(300), "valid") / 300
    assert made.point() == {
        "coverage": covered.mean(),
        "window_coverage": pytest.approx(covered[-300:].mean()),
        "worst_window_coverage": pytest.approx(rolling[np.abs(rolling - 0.9).argmax()]),
        "set_size": sizes.mean(),
        "window_set_size": sizes[-300:].mean(),
        "empty_sets": (sizes == 0).mean(),
        "sets_of_one": (sizes == 1).mean(),
    }


def test_widths_and_coverage_are_those_of_the_intervals():
    score, y = stream("targets", 2500, 12)
    made = conformal("targets", 0.9, 300)
    low, high = ends_of(score, made.emit(score, y))
    covered, width = (low <= y) & (y <= high), high - low
    rolling = np.convolve(covered, np.ones(300), "valid") / 300
    assert made.point() == {
        "coverage": covered.mean(),
        "window_coverage": pytest.approx(covered[-300:].mean()),
        "worst_window_coverage": pytest.approx(rolling[np.abs(rolling - 0.9).argmax()]),
        "width": pytest.approx(width[9:].mean()),
        "window_width": pytest.approx(width[-300:].mean()),
        "endless": 9,
    }


def test_before_the_first_label_nothing_is_known():
    assert set(conformal("targets").point().values()) == {None, 0}
    assert set(conformal("seven").point().values()) == {None}


@each_level
def test_constant_targets_get_intervals_of_no_width_and_are_left_again(level):
    made = conformal("targets", level)
    score, y = np.full((600, 1), 5.0), np.full(600, 5.0)
    assert made.emit(score, y)[-1] == 0.0
    assert made.point()["coverage"] == 1.0
    score, y = stream("targets", 1000, 13)
    low, high = ends_of(score, made.emit(score, y))
    assert ((low <= y) & (y <= high))[200:].mean() == pytest.approx(level, abs=0.02)


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("jump", [1e6, 1e-6])
def test_a_jump_of_scale_is_followed_within_few_labels(kind, level, jump):
    """Up at once, after a run of misses; down after a run of hits whose length has a probability of 0.001."""
    score, y = stream(kind, 3000, 14, np.repeat([1.0, jump], 1500))
    made = conformal(kind, level)
    found = made.emit(score, y)
    old, new = np.median(found[1000:1500]), found[1500 + 100 + 2 * run_length(level) :]
    covered = made.point()["coverage"]
    assert covered == pytest.approx(level, abs=0.05)
    assert np.median(new) == pytest.approx(jump * old, rel=0.4, abs=0.3 * jump)


@pytest.mark.parametrize("size", [1e150, 1e-150, 1e300, 5e-324])
@each_kind
def test_scores_of_any_size_are_well_defined(kind, size):
    score, y = stream(kind, 500, 15)
    made = conformal(kind)
    with np.errstate(under="ignore"):
        found = made.emit(score * size, y * size if kind == "targets" else y)
    assert not np.isnan(found).any()
    for name in ("place", "weight", "correction", "largest", "run_largest", "scale"):
        assert np.isfinite(made.conformal.state[name]).all(), name
    assert made.point()["coverage"] > 0.7


@pytest.mark.parametrize("n", [1, 5, 500])
def test_infinite_targets_are_missed_and_overcome(n):
    score, y = stream("targets", 2000, 16)
    y[700 : 700 + n] = math.inf
    made = conformal("targets")
    found = made.emit(score, y)
    assert not np.isnan(found).any()
    assert (made.conformal.state["place"] <= HIGHEST).all()
    assert found[-1] < 100.0


@each_kind
def test_learners_that_say_nothing_get_sets_of_all_and_go_on_when_they_speak(kind):
    made, n = conformal(kind), 300
    zeros = np.zeros((n, KINDS[kind][1]))
    made.emit(zeros, stream(kind, n)[1])
    if kind != "targets":
        assert made.point()["coverage"] == 1.0
    score, y = stream(kind, 3000, 17)
    found = made.emit(score, y)
    assert np.isfinite(found).all()
    assert made.point()["window_coverage"] == pytest.approx(0.9, abs=0.02)


PLAIN = np.ones(20_000)
DRIFTS = {
    "nothing changes": PLAIN,
    "doubles, falls to a fifth": np.repeat([1.0, 2.0, 0.2, 1.0], 5000),
    "tenfold by and by": np.exp(np.linspace(0.0, math.log(10.0), 20_000)),
    "to and fro": 1.0 + 0.9 * np.sin(np.arange(20_000) / 150.0),
}


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("drift", DRIFTS)
def test_coverage_is_kept(kind, level, drift):
    made = conformal(kind, level)
    made.emit(*stream(kind, 20_000, 18, DRIFTS[drift]))
    point = made.point()
    assert point["coverage"] == pytest.approx(level, abs=0.01)
    assert point["worst_window_coverage"] == pytest.approx(level, abs=0.05)


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_coverage_is_kept_with_late_labels(kind, level):
    score, y = stream(kind, 20_000, 19)
    scores, labels, slot, *_ = operations(score, y, delays_of(20_000, 20))
    made = conformal(kind, level)
    made.emit(scores, labels, slot, made.waiting(64))
    point = made.point()
    assert point["coverage"] == pytest.approx(level, abs=0.01)
    assert point["worst_window_coverage"] == pytest.approx(level, abs=0.05)


def test_a_threshold_that_does_not_move_does_not_keep_it():
    """What the tests above would say of split-conformal intervals, whose threshold is that of the first rows."""
    score, y = stream("targets", 20_000, 18, DRIFTS["tenfold by and by"])
    distance = np.abs(y - score[:, 0])
    assert (distance[2000:] <= np.quantile(distance[:2000], 0.95)).mean() < 0.85


def test_compiling_leaves_no_trace():
    for kind in KINDS:
        made = conformal(kind)
        before = made.memory
        made.conformal.compile_kernels()
        assert made.memory == before


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
    """As accuracy points need it, which stand at fixed rows within batches."""
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
def test_metrics_go_on_with_another_window_if_they_can(kind, before, after, possible):
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

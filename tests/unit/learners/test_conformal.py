"""Prediction intervals and sets: their oracle, delayed labels, and what is emitted before there are enough labels."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from driftway.learners.conformal.conformal import classes_of, ends_of
from driftway.learners.engine.update_loop import LABEL_EXPIRED, NOT_DELAYED
from tests.support.conformal import KINDS, conformal, delays_of, each_kind, each_level, operations, stream
from tests.support.oracle import conformal as oracle


def reference_run(kind, level, score, y, number, is_row):
    """Return the oracle's threshold for the row of each entry, and the oracle itself."""
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
    thresholds = conformal(kind, level)
    found = thresholds.emit(score, y)
    expected, reference = reference_run(kind, level, score, y, np.arange(3000), np.ones(3000, bool))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert thresholds.point()["coverage"] == np.mean(reference.covered)


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_jumps_of_scale_equal_the_oracle(kind, level):
    spread = np.repeat([1.0, 1e6, 1e-6, 1.0, 1e3], 400)
    score, y = stream(kind, 2000, 1, spread)
    expected, _ = reference_run(kind, level, score, y, np.arange(2000), np.ones(2000, bool))
    np.testing.assert_allclose(conformal(kind, level).emit(score, y), expected, rtol=1e-8, atol=1e-12)


@each_kind
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_delayed_labels_equal_the_oracle(kind, level):
    score, y = stream(kind, 2000, 2)
    scores, labels, slot, number, is_row = operations(score, y, delays_of(2000, 3))
    thresholds = conformal(kind, level)
    found = thresholds.emit(scores, labels, slot, thresholds.waiting(64))
    expected, reference = reference_run(kind, level, scores, labels, number, is_row)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert thresholds.point()["coverage"] == np.mean(reference.covered)


@each_kind
def test_immediate_labels_are_learned_as_if_delays_were_off(kind):
    score, y = stream(kind, 500)
    late, plain = conformal(kind), conformal(kind)
    slot = np.full(500, NOT_DELAYED)
    assert np.array_equal(late.emit(score, y, slot, late.waiting(8)), plain.emit(score, y))
    assert late.memory == plain.memory


@each_kind
def test_cutting_batches_changes_no_bit(kind):
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
def test_a_copied_state_continues_with_the_same_bits(kind):
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


def test_a_state_with_an_impossible_count_is_refused():
    for part, name in ((conformal("two").conformal, "run"), (conformal("two").coverage, "counted")):
        damaged = part.state.memory.copy()
        damaged[part.state.start(name) :][:8].view(np.int64)[0] = -5
        with pytest.raises(ValueError, match=f"{name} in the state is -5"):
            part.check_state(damaged)


@each_kind
def test_rows_whose_label_never_arrives_change_nothing(kind):
    """Except `rows`, from which the age of delayed labels is counted."""
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
    thresholds = conformal(kind)
    thresholds.emit(score, y)
    before = thresholds.memory
    slot = np.full(10, LABEL_EXPIRED)
    assert np.isnan(thresholds.emit(score[:10], np.full(10, np.nan), slot, thresholds.waiting(8))).all()
    assert thresholds.memory == before


@each_kind
def test_coverage_counts_the_emitted_threshold_not_the_current_one(kind):
    """A threshold that was too small when its row came is a miss, however large the threshold is by now."""
    score, y = stream(kind, 400, 9)
    thresholds = conformal(kind, 0.5)
    thresholds.emit(score, y)
    kept, late = thresholds.waiting(8), score[:1]
    wrong = np.array([np.nan]), np.array([3])
    (emitted,) = thresholds.emit(late, *wrong, kept)
    thresholds.conformal.state["correction"][:] = 1.0
    covered = thresholds.coverage.state["covered"][0]
    missed = (
        late[0, 0] + 2.0 * emitted
        if kind == "targets"
        else float(np.argmin(late[0]) if len(late[0]) > 1 else late[0, 0] < 0.0)
    )
    (again,) = thresholds.emit(late, np.array([missed]), np.array([3]), kept)
    assert again == emitted
    assert thresholds.coverage.state["covered"][0] == covered


@pytest.mark.parametrize(("level", "least"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)])
@each_kind
def test_before_enough_labels_intervals_are_infinite_and_sets_hold_all_classes(kind, level, least):
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
def test_sets_follow_their_definition(kind):
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

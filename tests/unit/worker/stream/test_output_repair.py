"""Which of a batch's outputs are written again."""

from __future__ import annotations

import pytest

from driftway.worker.kafka.topics import Topics
from driftway.worker.state.model import Model
from driftway.worker.stream.task.restoring.output_repair import MissingOutputs
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from tests.unit.worker.rows import events, records, wire
from tests.unit.worker.stream.recording_checkpoint import MODEL, new_task

TOPICS = Topics("EVENTS", "g", watched=True)
VALUES = [b"?", *events(99), b"?"]
WHOLE = records(VALUES)
N = len(WHOLE)
EVERYTHING = {TOPICS.predictions: set(), TOPICS.accuracy: set(), TOPICS.rejected: set(), TOPICS.alarms: set()}


def repaired(since: int, until: int, there: dict) -> list:
    """Return what a task writes that is restored at `since` with missing outputs: what `wire` returns."""
    model = Model(MODEL, 3)
    if since:
        model.advance(WHOLE.before(since), emit=False)
    made, checkpoint = new_task()
    made.reset()
    made.restore_from(RestoreResult(model, since, since, None, missing_outputs=MissingOutputs(since, until, there)))
    for start in range(since, N, 7):
        made.advance(WHOLE.before(min(N, start + 7)).after(start))
    return list(wire(checkpoint.pending))


def undisturbed(since: int) -> list:
    model = Model(MODEL, 3)
    if since:
        model.advance(WHOLE.before(since), emit=False)
    return list(wire([model.advance(WHOLE.after(since))]))


@pytest.mark.parametrize(("since", "until"), [(0, 50), (0, N), (31, 80), (30, 31)])
def test_all_outputs_are_written_again_if_none_exist(since: int, until: int) -> None:
    assert repaired(since, until, EVERYTHING) == undisturbed(since)


@pytest.mark.parametrize("cut", [40, 43])
def test_other_topics_and_existing_outputs_are_left_out_until_the_repair_ends(cut: int) -> None:
    predictions, points, rejected, alarms = undisturbed(0)
    there = {TOPICS.predictions: {(offset, None) for offset in range(1, 20)}}
    at_40 = len(MODEL.specs)  # each learner has a point there
    later = [alarm for alarm in alarms if alarm.offset >= cut]
    assert repaired(0, cut, there) == [predictions[19:], points[at_40 if cut > 40 else 0 :], rejected[1:], later]


def test_points_are_distinguished_by_learner() -> None:
    predictions, points, rejected, _ = undisturbed(0)
    first = {(40, points[0][0])}
    found = repaired(0, N, {TOPICS.accuracy: first})
    assert found == [[], points[1:], [], []]
    assert len(points) > len(first)
    assert predictions
    assert rejected


def test_alarms_are_distinguished_by_detector() -> None:
    alarms = undisturbed(0)[3]
    assert len({alarm.key for alarm in alarms}) == 2, "the test would see nothing"
    kept = {(alarm.offset, alarms[0].key) for alarm in alarms}
    assert repaired(0, N, {TOPICS.alarms: kept}) == [[], [], [], [a for a in alarms if a.key != alarms[0].key]]


@pytest.mark.parametrize("until", [50, N])
def test_nothing_is_committed_while_outputs_are_completed(until: int) -> None:
    """A commit record there would hide that later outputs are visible, and they would be written twice."""
    made, checkpoint = new_task()
    made.reset()
    model = Model(MODEL, 3)
    made.restore_from(RestoreResult(model, 0, 0, None, missing_outputs=MissingOutputs(0, until, EVERYTHING)))
    for start in range(0, until - 1, 7):
        made.advance(WHOLE.before(min(until - 1, start + 7)).after(start))
        assert checkpoint.open
        assert not made.needs_commit(closing=True)
        assert made.due_at == float("inf")
    made.advance(WHOLE.before(until).after(until - 1))
    assert made.needs_commit(closing=True), "the last of them has come, though no later row has"
    assert made.due_at < float("inf")

"""Background calls: which checkpoint they use, and what happens if one does not return."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

import pytest

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.stream.background import call as calls
from driftway.worker.stream.background.call import BackgroundCall, await_all
from driftway.worker.stream.background.commits import PendingCommits
from driftway.worker.stream.task.committing.commit_request import CommitRequest
from tests.unit.worker.rows import events, records
from tests.unit.worker.stream.recording_checkpoint import RecordingCheckpoint, new_task

ROWS = records(events(30))


class BlockedCheckpoint(RecordingCheckpoint):
    """A checkpoint whose commits block until `go_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def commit(self, *given: Any) -> Pointer | None:
        self.go_on.wait(10)
        return super().commit(*given)


def test_a_commit_that_starts_late_uses_the_checkpoint_of_its_submission() -> None:
    """The newer one would commit later rows with an offset before them, and they would be emitted twice."""
    task, old = new_task()
    task.advance(ROWS.before(10))
    begun = task.begin_commit()
    new = task.checkpoint = RecordingCheckpoint()
    new.produce(old.pending[0])
    begun.run(None, Deadline(1))
    assert [offset for offset, _ in old.commits] == [10]
    assert not new.commits
    assert new.open


def test_a_commit_does_not_wait_for_one_that_is_stuck() -> None:
    stuck_task, _ = new_task()
    stuck = stuck_task.checkpoint = BlockedCheckpoint()
    task, checkpoint = new_task()
    commits = PendingCommits()
    for one in (stuck_task, task):
        one.advance(ROWS.before(10))
    try:
        commits.submit([stuck_task], None, Deadline(60), closing=False)
        commits.cancel([stuck_task.partition])
        commits.submit([task], None, Deadline(60), closing=False)
        ((_, call),) = commits._underway.values()
        assert call.future.result(10) == Pointer(1, 1, 10)
        ((_, error),) = commits.collect()
        assert error is None
        assert (task.committed, [offset for offset, _ in checkpoint.commits]) == (10, [10])
    finally:
        stuck.go_on.set()


def test_a_commit_whose_coordinator_is_gone_is_abandoned_before_its_deadline() -> None:
    class LostCheckpoint(BlockedCheckpoint):
        def has_lost_coordinator(self, broker_left_at: float) -> bool:
            return broker_left_at > 5

    task, _ = new_task()
    stuck = task.checkpoint = LostCheckpoint()
    commits = PendingCommits()
    task.advance(ROWS.before(10))
    try:
        commits.submit([task], None, Deadline(60))
        assert not list(commits.collect())
        assert not list(commits.collect(5.0))
        ((call, error),) = commits.collect(6.0)
        assert not call.done
        assert isinstance(error, TimedOut)
    finally:
        stuck.go_on.set()
    assert not len(commits)


@pytest.mark.parametrize("first", ["thread", "loop"])
def test_an_abandoned_checkpoint_is_discarded_in_either_order_of_events(first: str) -> None:
    task, _ = new_task()
    stuck = task.checkpoint = BlockedCheckpoint()
    call = BackgroundCall(
        task, "commit", partial(stuck.commit, CommitRequest(CommitRecord(0, 0)), None, Deadline(1)), Deadline(1)
    )
    task.checkpoint = RecordingCheckpoint()
    if first == "thread":
        stuck.go_on.set()
        await_all([call], Deadline(10))
        assert stuck.discarded == 0
        call.abandon()
    else:
        call.abandon()
        assert stuck.discarded == 0
        called_back = threading.Event()
        call.future.add_done_callback(lambda _: called_back.set())  # after the one that discards
        stuck.go_on.set()
        assert called_back.wait(10)
    assert stuck.discarded == 1


def test_a_stuck_call_is_reported_after_the_grace_period_and_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.05)
    task, _ = new_task()
    stuck = task.checkpoint = BlockedCheckpoint()
    call = BackgroundCall(
        task, "commit", partial(stuck.commit, CommitRequest(CommitRecord(0, 0)), None, Deadline(0)), Deadline(0)
    )
    try:
        await_all([call], Deadline(10 * calls.GRACE_SECONDS))
        assert call.timed_out
        with pytest.raises(TimedOut, match="did not return from the commit"):
            call.result()
    finally:
        stuck.go_on.set()
    await_all([call], Deadline(10))
    assert not call.timed_out


def test_a_call_on_the_loops_thread_that_does_not_return_ends_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The group waits for a worker that is stuck inside a callback, so the process must end."""
    sentences: list[str] = []
    task, _ = new_task()
    stuck = task.checkpoint = BlockedCheckpoint()

    def ended(sentence: str) -> None:
        sentences.append(sentence)
        stuck.go_on.set()

    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.05)
    monkeypatch.setattr(calls, "end_process", ended)
    commit = partial(stuck.commit, CommitRequest(CommitRecord(0, 0)), None, Deadline(0))
    BackgroundCall(task, "commit", commit, Deadline(0), inline=True)
    assert sentences == ["the client did not return from the commit of partition 3"]
    stuck.go_on.set()
    BackgroundCall(task, "commit", commit, Deadline(0), inline=True)
    time.sleep(2 * calls.GRACE_SECONDS)
    assert len(sentences) == 1


def test_an_exception_of_the_call_is_raised_by_the_result() -> None:
    task, _ = new_task()

    def fail() -> None:
        raise KeyError("x")

    call = BackgroundCall(task, "abort", fail, Deadline(1))
    await_all([call], Deadline(10))
    with pytest.raises(KeyError):
        call.result()

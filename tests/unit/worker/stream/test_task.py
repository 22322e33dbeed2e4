"""A task's life cycle: legal transitions, position, what it emits after a restore, when it writes snapshots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.task import snapshot_schedule
from driftway.worker.stream.task.lifecycle import NEXT, State
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import Records
from tests.support.clock import Clock
from tests.support.examples import examples
from tests.unit.worker.rows import events, pieces, records, wire
from tests.unit.worker.stream.recording_checkpoint import MODEL, RecordingCheckpoint, new_task, worker_settings

BAD = [b"?", None]
VALUES = [value for i, good in enumerate(events(120)) for value in ([BAD[i % 2], good] if i % 11 == 0 else [good])]
WHOLE, N = records(VALUES), len(VALUES)


def rewind(task: Task, checkpoint: RecordingCheckpoint) -> None:
    """Roll back after a failed commit: the produced records go with the producer, and the last commit is restored."""
    task.reset()
    checkpoint.close_producer()
    assert task.in_memory_offset == task.committed
    task.restore_from(RestoreResult(None, task.committed, task.committed, task._pointer))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A time that stands still: while a kernel is loaded, or on a busy machine, a few rows make a snapshot due."""
    stopped = Clock(0.0)
    for module in ("task", "snapshot_schedule"):
        monkeypatch.setattr(f"driftway.worker.stream.task.{module}.time", stopped)
    return stopped


def commit(task: Task, closing: bool = False) -> None:
    begun = task.begin_commit(closing)
    task.end_commit(begun, begun.run(None, Deadline(1)))


def expected(start: int = 0, end: int | None = None) -> tuple[list[Any], ...]:
    """Return what an undisturbed run emits for offsets from `start` on."""
    model = Model(MODEL, 3)
    if start:
        model.advance(WHOLE.before(start), emit=False)
    return wire([model.advance(WHOLE.before(end or N).after(start))])


@pytest.mark.parametrize(("before", "after"), list(product(State, State)), ids=lambda state: state.value)
def test_only_documented_state_transitions_are_possible(before: State, after: State) -> None:
    task = Task(worker_settings(), 3, RecordingCheckpoint())
    task.state = before
    if after in NEXT[before]:
        task.move(after)
        assert task.state is after
    else:
        with pytest.raises(RuntimeError, match=f"cannot go from {before.value} to {after.value}"):
            task.move(after)
        assert task.state is before


def test_the_state_diagram_equals_the_documented_one() -> None:
    moves = {(a.value, b.value) for a, reachable in NEXT.items() for b in reachable}
    to_closed = {(a, "closed") for a in ("created", "restoring", "running")}
    again = {(a, "created") for a in ("restoring", "running")}
    assert moves == {("created", "restoring"), ("restoring", "running")} | to_closed | again


def test_neither_a_new_nor_a_closed_task_accepts_rows() -> None:
    task = Task(worker_settings(), 3, RecordingCheckpoint())
    assert (task.accepts_records, task.running) == (False, False)
    task.close()
    assert (task.accepts_records, task.running) == (False, False)


def test_a_task_with_nothing_to_relearn_runs_at_once() -> None:
    task, _ = new_task(position=7, committed=7)
    assert task.running
    assert (task.position, task.committed) == (7, 7)


@examples(40)
@given(st.lists(st.integers(0, N), max_size=8), st.integers(0, 30))
def test_records_before_the_position_are_ignored(cuts: list[int], again: int) -> None:
    """The client may deliver some records twice around a seek."""
    task, checkpoint = new_task()
    parts = pieces(WHOLE, cuts)
    for part in parts:
        task.advance(part)
        first = max(0, int(part.offsets[-1]) - again)
        assert task.advance(WHOLE.before(int(part.offsets[-1]) + 1).after(first)) is None
    assert wire(checkpoint.pending) == expected()
    assert task.position == N


def test_an_overlapping_delivery_emits_only_new_rows() -> None:
    task, checkpoint = new_task()
    for start, end in ((0, 60), (40, 90), (10, N)):
        task.advance(WHOLE.before(end).after(start))
    assert wire(checkpoint.pending) == expected()


@examples(60)
@given(st.integers(0, N), st.integers(0, N), st.lists(st.integers(0, N), max_size=8))
def test_a_restored_task_emits_only_from_the_committed_offset_on(a: int, b: int, cuts: list[int]) -> None:
    s, c = sorted((a, b))
    model = Model(MODEL, 3)
    if s:
        model.advance(WHOLE.before(s))
    task, checkpoint = new_task(s, c, model)
    for part in pieces(WHOLE.after(s), cuts) if s < N else []:
        before = task.position
        out = task.advance(part)
        assert task.running is (task.position >= c)
        assert (out is None) is (max(before, c) >= task.position)
    assert wire(checkpoint.pending) == (expected(c) if c < N else ([], [], [], []))
    assert task.position == N


def test_offsets_missing_from_the_log_do_not_block_a_restore() -> None:
    """Transaction markers and compaction leave gaps: the committed offset itself may never be delivered."""
    kept = (WHOLE.offsets < 40) | (WHOLE.offsets >= 60)
    stamps = list(compress(WHOLE.timestamps, kept.tolist()))
    holed = Records(3, WHOLE.offsets[kept], WHOLE.values.chosen(kept), WHOLE.keys.chosen(kept), stamps)
    task, checkpoint = new_task(0, 50, Model(MODEL, 3))
    task.advance(holed.before(40))
    assert task.state is State.RESTORING
    task.advance(holed.after(40))
    assert task.running
    assert {bad.offset for out in checkpoint.pending for bad in out.rejected} == {
        o for o in WHOLE.offsets.tolist() if o >= 60 and VALUES[o] in BAD
    }


@examples(60)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.sampled_from(["land", "fail"]), st.lists(st.integers(1, 20), max_size=3)))
)
def test_rows_learned_during_a_commit_are_emitted_once(plan: list[tuple[int, str, list[int]]]) -> None:
    """Whether the commit succeeds or fails, and whatever was learned meanwhile; a snapshot has its commit's offset."""
    task, checkpoint = new_task(snapshot_rows=1, snapshot_interval=1e-9)

    def take(size: int) -> None:
        if task.position < N:
            task.advance(WHOLE.before(min(N, task.position + size)).after(task.position))

    for size, outcome, meanwhile in [*plan, (N, "land", [])]:
        take(size)
        if not checkpoint.open:
            continue
        begun = task.begin_commit()
        emitted = len(checkpoint.pending)
        for more in meanwhile:
            take(more)
        assert len(checkpoint.pending) == emitted
        assert task.due_at == float("inf")
        if outcome == "land":
            task.end_commit(begun, begun.run(None, Deadline(1)))
            assert task.committed == begun.position
        else:
            rewind(task, checkpoint)
            assert task.position == task.committed
        assert task.buffer.rows == 0
    take(N)
    if checkpoint.open:
        commit(task)
    assert wire(checkpoint.committed) == expected()
    for offset, blob in checkpoint.commits:
        assert blob is None or snapshot.read(blob, Model(MODEL, 3))[1] == offset


def test_outputs_held_back_when_a_task_is_released_are_not_emitted() -> None:
    task, checkpoint = new_task()
    task.advance(WHOLE.before(10))
    task.begin_commit()
    task.advance(WHOLE.before(30).after(10))
    assert task.buffer.rows > 0
    task.close()
    assert task.buffer.rows == 0
    assert not checkpoint.open


@examples(40)
@given(st.lists(st.tuples(st.integers(1, 40), st.sampled_from(["commit", "rewind", "go on"])), max_size=12))
def test_commits_and_rewinds_in_any_order_end_in_the_same_bytes(plan: list[tuple[int, str]]) -> None:
    task, checkpoint = new_task(snapshot_rows=20)
    for size, action in [*plan, (N, "commit")]:
        if task.position < N:
            task.advance(WHOLE.before(min(N, task.position + size)).after(task.position))
        if action == "commit":
            commit(task)
            assert task.committed == task.position
        elif action == "rewind":
            rewind(task, checkpoint)
            assert task.position == task.committed
            assert not checkpoint.open
    if task.position < N:
        task.advance(WHOLE.after(task.position))
        commit(task)
    assert wire(checkpoint.committed) == expected()


def test_every_snapshot_is_at_its_commits_offset_and_continues_from_there() -> None:
    task, checkpoint = new_task(snapshot_rows=1, snapshot_interval=1e-9)
    for part in pieces(WHOLE, range(0, N, 10)):
        task.advance(part)
        checkpoint.bytes_since_snapshot = 10**9
        commit(task)
    assert [offset for offset, _ in checkpoint.commits] == [*range(10, N, 10), N]
    for offset, blob in checkpoint.commits[:-1]:
        restored = Model(MODEL, 3)
        assert blob is not None
        assert snapshot.read(blob, restored)[1] == offset
        assert wire([restored.advance(WHOLE.after(offset))]) == expected(offset)


def snapshots_at(
    task: Task, checkpoint: RecordingCheckpoint, ends: Sequence[int], between: Callable[[], None] = lambda: None
) -> list[int]:
    """Return the offsets at which snapshots are written if a commit follows each of `ends`."""
    for start, end in pairwise((0, *ends)):
        between()
        task.advance(WHOLE.before(end).after(start))
        commit(task)
    return [offset for offset, blob in checkpoint.commits if blob is not None]


def test_the_first_commit_writes_a_snapshot_and_later_ones_only_when_due(clock: Clock) -> None:
    task, checkpoint = new_task(snapshot_rows=30, snapshot_interval=1e6)
    assert snapshots_at(task, checkpoint, range(10, 121, 10)) == [10, 40, 70, 100]


def test_time_makes_a_snapshot_due_too(clock: Clock) -> None:
    task, checkpoint = new_task(snapshot_rows=10**6, snapshot_interval=5.0)

    def two_seconds_pass() -> None:
        clock.now += 2.0

    assert snapshots_at(task, checkpoint, range(10, 121, 10), two_seconds_pass) == [10, 40, 70, 100]


def test_a_large_state_is_written_proportionally_less_often(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(MODEL, 3)
    model.advance(WHOLE)
    monkeypatch.setattr(snapshot_schedule, "LARGE_STATE", model.save().nbytes / 3)
    task, checkpoint = new_task(snapshot_rows=10, snapshot_interval=1e6)
    assert snapshots_at(task, checkpoint, range(10, 121, 10)) == [10, 40, 70, 100]


def test_few_rows_that_took_long_to_learn_make_a_snapshot_due(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    task, checkpoint = new_task(snapshot_rows=10**6, snapshot_interval=1e6)
    learn = Model.advance

    def slowly(model: Model, *arguments: Any) -> Outputs:
        clock.now += snapshot_schedule.RELEARN_SECONDS / 3 + snapshot_schedule.BATCH_SECONDS + 1e-9
        return learn(model, *arguments)

    monkeypatch.setattr(Model, "advance", slowly)
    assert snapshots_at(task, checkpoint, range(10, 121, 10)) == [10, 40, 70, 100]


def test_rows_relearned_by_a_restore_count_towards_the_next_snapshot(clock: Clock) -> None:
    """Otherwise a worker killed again and again would have more to relearn each time."""
    model = Model(MODEL, 3)
    task, checkpoint = new_task(0, 50, model, snapshot_rows=60, snapshot_interval=1e6)
    task.advance(WHOLE.before(55))
    commit(task)
    task.advance(WHOLE.before(60).after(55))
    commit(task)
    assert [blob is not None for _, blob in checkpoint.commits] == [False, True]


def test_the_share_of_the_bytes_written_delays_a_large_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_schedule, "LARGE_STATE", 1)
    monkeypatch.setattr(snapshot_schedule, "MAX_STRETCH", 1e12)
    task, checkpoint = new_task(snapshot_rows=10**9, snapshot_interval=1e-9)
    task.advance(WHOLE.before(10))
    commit(task)
    task.advance(WHOLE.before(12).after(10))
    checkpoint.bytes_since_snapshot = int(task.state_bytes / snapshot_schedule.SNAPSHOT_SHARE) - 1
    commit(task)
    task.advance(WHOLE.before(14).after(12))
    checkpoint.bytes_since_snapshot = int(task.state_bytes / snapshot_schedule.SNAPSHOT_SHARE) + 1
    commit(task)
    assert [blob is not None for _, blob in checkpoint.commits] == [True, False, True]


def test_snapshots_of_a_large_state_are_delayed_up_to_a_bound(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_schedule, "LARGE_STATE", 1)
    task, checkpoint = new_task(snapshot_rows=10**9, snapshot_interval=5.0)

    def twenty_seconds_pass() -> None:
        clock.now += 20.0

    assert snapshots_at(task, checkpoint, range(10, 121, 10), twenty_seconds_pass) == [10, 40, 70, 100]


def test_an_idle_partition_whose_state_is_newer_gets_a_snapshot_by_time(clock: Clock) -> None:
    task, checkpoint = new_task(snapshot_rows=10**6, snapshot_interval=5.0)
    for end in (10, 20):
        task.advance(WHOLE.before(end).after(task.position))
        commit(task)
    assert (task.needs_commit(), task.needs_commit(closing=True), task.due_at) == (False, True, 5.0)
    clock.now = 5.0
    assert task.needs_commit()
    commit(task)
    assert [(offset, blob is not None) for offset, blob in checkpoint.commits] == [(10, True), (20, False), (20, True)]
    assert (task.needs_commit(closing=True), task.due_at) == (False, float("inf"))


def test_an_event_on_a_quiet_topic_is_committed_at_once(clock: Clock) -> None:
    """The interval counts from the worker's last commits, not from the event that is to be committed."""
    task, _ = new_task(snapshot_rows=10**6, snapshot_interval=1000.0, commit_interval=2.0)
    task.interval_began_at = clock.now = 100.0
    task.advance(WHOLE.before(10))
    assert task.due_at == 102.0
    commit(task)
    clock.now = 107.0
    task.advance(WHOLE.before(11).after(10))
    assert task.due_at < clock.now


def test_a_decision_is_committed_at_once() -> None:
    task, checkpoint = new_task()
    task.reset()
    model = Model(MODEL, 3)
    model.advance(WHOLE.before(30), emit=False)
    task.restore_from(RestoreResult(model, 30, 30, None, decided=True))
    assert (task.needs_commit(), task.due_at) == (True, 0.0)
    commit(task)
    assert [(offset, blob is not None) for offset, blob in checkpoint.commits] == [(30, True)]
    assert not task.needs_commit(closing=True)


def test_a_partition_committed_beyond_its_last_row_runs_once_that_is_relearned() -> None:
    """As when an offset was set to the log's end, and the log ends with a transaction marker."""
    task, _ = new_task()
    task.reset()
    task.restore_from(RestoreResult(Model(MODEL, 3), 0, N + 1, None, relearned_at=N))
    assert not task.running
    task.advance(WHOLE)
    assert (task.running, task.position, task.committed) == (True, N + 1, N + 1)


def test_the_last_commit_before_leaving_writes_a_snapshot(clock: Clock) -> None:
    task, checkpoint = new_task(snapshot_rows=10**6, snapshot_interval=1e6)
    for end, closing in ((10, False), (20, False), (30, True)):
        task.advance(WHOLE.before(end).after(task.position))
        commit(task, closing)
    assert [blob is not None for _, blob in checkpoint.commits] == [True, False, True]


def test_a_commit_is_due_an_interval_after_the_first_output_and_never_without() -> None:
    task, _ = new_task(commit_interval=5.0)
    assert task.due_at == float("inf")
    task.advance(WHOLE.before(10))
    opened = task.due_at - 5.0
    task.advance(WHOLE.before(20).after(10))
    assert task.due_at - 5.0 == opened
    commit(task)
    assert task.due_at == float("inf")


def test_nothing_is_due_while_restoring() -> None:
    task, checkpoint = new_task(0, 50, Model(MODEL, 3))
    assert task.advance(WHOLE.before(30)) is None
    assert task.state is State.RESTORING
    assert task.due_at == float("inf")
    assert not checkpoint.open


def test_a_commit_with_unknown_outcome_resets_the_task_and_closing_is_final() -> None:
    task, checkpoint = new_task()
    task.advance(WHOLE.before(30))
    task.reset()
    assert task.state is State.CREATED
    assert not checkpoint.open
    checkpoint.close_producer()  # as the next acquisition does
    task.restore_from(RestoreResult(Model(MODEL, 3), 0, 0, None))
    task.advance(WHOLE)
    assert wire(checkpoint.pending) == expected()
    task.close()
    assert checkpoint.discarded == 2
    with pytest.raises(RuntimeError, match="cannot go from closed"):
        task.close()

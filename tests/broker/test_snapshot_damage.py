"""A worker with a damaged newest snapshot goes on with the same bits, from an older one or from the first row.

Records of a log cannot be modified. So a damaged copy of the newest snapshot is appended, and while no worker runs, an
offset whose pointer names the copy is committed for the group, as if a disk or a bug had caused the damage.
"""

from __future__ import annotations

import dataclasses

import pytest

from driftway.learners import Spec
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.changelog import record_keys
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import Pointer
from driftway.worker.stream.task.committing.exactly_once import ExactlyOnceCheckpoint
from driftway.worker.stream.task.restoring.restore import restore
from tests.broker.test_policies import (
    EARLIEST,
    commit,
    delete_before,
    learn,
    learn_and_kill,
    learned,
    predicted,
    refused,
)
from tests.broker.test_policies import NO_SNAPSHOTS as NEVER
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, committed_offset, create_topic, produce, read_all
from tests.support.process import Driftway
from tests.support.selection import slow_but

EVERY_COMMIT = ("--snapshot-rows", "1")
LONG = ("--metric-window", "500000")
"""Makes two megabytes of state, so three chunks."""


def snapshots(stage: FaultScenario) -> str:
    return f"{stage.prefix}.snapshots"


def staged(kafka: str, *more: str) -> FaultScenario:
    """A stage with a snapshot at 400 (and perhaps before), learned up to 700."""
    stage = FaultScenario(kafka, partitions=1, rows=1000)
    create_topic(kafka, snapshots(stage), 1, cleanup_policy="compact,delete", max_message_bytes="10485760")
    learn(stage, 0, 400, *EVERY_COMMIT, *more)
    learn_and_kill(stage, 400, 700, *more)
    offset, pointer = where(stage)
    assert (offset, pointer.state_offset) == (700, 400)
    return stage


def where(stage: FaultScenario) -> tuple[int, Pointer]:
    """The committed offset and its pointer."""
    offset, metadata = committed_offset(stage.bootstrap, stage.group, stage.topic)
    pointer = Pointer.parse(metadata)
    assert pointer is not None, metadata
    return offset, pointer


def newest_chunks(stage: FaultScenario) -> list[bytes]:
    """The chunks that the committed pointer names."""
    _, pointer = where(stage)
    records = [r for r in read_all(stage.bootstrap, snapshots(stage)) if r.offset >= pointer.first]
    return [record.value or b"" for record in records[: pointer.chunks]]


def replaced(stage: FaultScenario, chunks: dict[int, bytes], count: int | None = None) -> Pointer:
    """Append `chunks` as a snapshot and commit a pointer to them at the group's current offset."""
    offset, pointer = where(stage)
    keys = [record_keys.chunk_key(0, number) for number in chunks]
    end = max((r.offset for r in read_all(stage.bootstrap, snapshots(stage), committed=False)), default=-1)
    produce(stage.bootstrap, snapshots(stage), list(chunks.values()), keys=keys)
    written = [r.offset for r in read_all(stage.bootstrap, snapshots(stage)) if r.offset > end]
    assert len(written) == len(chunks)
    new = Pointer(written[0], count or pointer.chunks, pointer.state_offset)
    point(stage, offset, new)
    return new


def point(stage: FaultScenario, offset: int, pointer: Pointer) -> None:
    """Commit an offset and a pointer as a worker does, both to the group and to the log."""
    produce(stage.bootstrap, snapshots(stage), [CommitRecord(offset, offset, pointer).write()], keys=[b"0.position"])
    commit(stage, offset, pointer.text())


def flipped(blob: bytes, at: int) -> bytes:
    at %= len(blob)
    return blob[:at] + bytes([blob[at] ^ 0xFF]) + blob[at + 1 :]


def stands_in(stage: FaultScenario, position: int, words: str, window: int = 1000) -> None:
    """Check that a restore ends at `position`, notes `words`, and makes the first commit write a snapshot."""
    model = ModelSettings((Spec.parse(LEARNER),), window=window)
    settings = WorkerSettings(stage.bootstrap, stage.topic, stage.group, model)
    checkpoint = ExactlyOnceCheckpoint(settings, 0)
    found = restore(settings, 0, checkpoint, lambda plan=None: Model(model, 0, plan=plan), Deadline(30))
    checkpoint.close_producer()
    assert words in (found.note or "")
    assert (found.position, found.committed, found.pointer, found.history_start) == (position, 700, None, None)


DAMAGES = {
    "flipped byte of the header": lambda blob: {0: flipped(blob, 30)},
    "flipped byte of the body": lambda blob: {0: flipped(blob, -300)},
    "flipped byte of the checksum": lambda blob: {0: flipped(blob, -1)},
    "flipped number of format": lambda blob: {0: b"DWT2" + blob[4:]},
    "cut short": lambda blob: {0: blob[: len(blob) // 2]},
    "empty": lambda blob: {0: b""},
    "another chunk": lambda blob: {1: blob},
}


@pytest.mark.parametrize("damage", slow_but(["flipped byte of the body"], DAMAGES))
def test_damaged_snapshot_is_replaced_by_an_older_one_and_no_bit_differs(kafka: str, damage: str) -> None:
    stage = staged(kafka)
    replaced(stage, DAMAGES[damage](newest_chunks(stage)[0]))
    stands_in(stage, 400, "older snapshot at offset 400")
    with stage.auditor() as auditor:
        learn(stage, 700, 1000, *NEVER)
        auditor.await_all(1000)
    auditor.require(stage.expected)
    offset, healed = where(stage)
    assert offset == 1000
    assert healed.state_offset > 700, "the first commit wrote a snapshot of its own"


@pytest.mark.parametrize(
    "kind", slow_but(["missing chunk"], ["missing chunk", "swapped chunks", "behind the end", "other state offset"])
)
@pytest.mark.slow
def test_missing_parts_are_noticed_and_an_older_snapshot_stands_in(kafka: str, kind: str) -> None:
    stage = staged(kafka, *LONG)
    a, b, c = newest_chunks(stage)
    if kind == "missing chunk":
        replaced(stage, {0: a, 2: c})
    elif kind == "swapped chunks":
        replaced(stage, {0: a, 1: c, 2: b})
    elif kind == "behind the end":
        point(stage, 700, Pointer(100_000, 3, 400))
    else:
        pointer = replaced(stage, {0: a, 1: b, 2: c})
        point(stage, 700, Pointer(pointer.first, 3, 399))
    stands_in(stage, 400, "older snapshot at offset 400", window=500_000)
    with stage.auditor() as auditor:
        learn(stage, 700, 1000, *LONG)
        auditor.await_all(1000)
    auditor.require(stage.expected)


@pytest.mark.slow
def test_older_snapshot_that_is_damaged_too_is_passed_over(kafka: str) -> None:
    stage = staged(kafka)
    (blob,) = newest_chunks(stage)
    for at in (-200, -300, -400):
        replaced(stage, {0: flipped(blob, at)})
    stands_in(stage, 400, "older snapshot at offset 400")
    with stage.auditor() as auditor:
        learn(stage, 700, 1000)
        auditor.await_all(1000)
    auditor.require(stage.expected)


def test_without_older_snapshot_the_whole_log_is_relearned_and_no_bit_differs(kafka: str) -> None:
    stage = staged(kafka)
    bad = replaced(stage, {0: flipped(newest_chunks(stage)[0], 30)})
    delete_before(stage, snapshots(stage), bad.first)
    stands_in(stage, 0, "relearning the whole log from offset 0")
    with stage.auditor() as auditor:
        learn(stage, 700, 1000)
        auditor.await_all(1000)
    auditor.require(stage.expected)


def test_without_older_snapshot_and_without_the_first_rows_it_is_refused_until_told(kafka: str) -> None:
    stage = staged(kafka)
    bad = replaced(stage, {0: flipped(newest_chunks(stage)[0], 30)})
    delete_before(stage, snapshots(stage), bad.first)
    delete_before(stage, stage.topic, 100)
    sentence = refused(stage)
    assert "the snapshot is damaged: its checksum does not match" in sentence
    assert "--on-restore-failure replay relearns the log from offset 100" in sentence
    assert "reset starts with an empty learner at 700" in sentence
    learn(stage, 700, 1000, "--on-restore-failure", "replay")
    assert predicted(stage).keys() == stage.expected.keys()


@pytest.mark.slow
def test_older_snapshot_behind_the_lost_rows_still_stands_in(kafka: str) -> None:
    stage = staged(kafka)
    replaced(stage, {0: flipped(newest_chunks(stage)[0], 30)})
    delete_before(stage, stage.topic, 400)
    stands_in(stage, 400, "older snapshot at offset 400")
    with stage.auditor() as auditor:
        learn(stage, 700, 1000)
        auditor.await_all(1000)
    auditor.require(stage.expected)


@pytest.mark.slow
def test_older_snapshot_before_the_lost_rows_does_not(kafka: str) -> None:
    stage = staged(kafka)
    replaced(stage, {0: flipped(newest_chunks(stage)[0], 30)})
    delete_before(stage, stage.topic, 401)
    assert "--on-restore-failure replay relearns the log from offset 401" in refused(stage)


@pytest.mark.slow
def test_newer_format_is_refused_not_replaced(kafka: str) -> None:
    stage = staged(kafka)
    (blob,) = newest_chunks(stage)
    replaced(stage, {0: b"DWT2" + blob[4:-1] + b"?"})
    assert "the snapshot has format b'DWT2', this version reads b'DWT1'" in refused(stage)


@pytest.mark.slow
def test_another_learner_is_refused_though_an_older_snapshot_would_fit(kafka: str) -> None:
    stage = staged(kafka)
    learn(stage, 700, 800, "--on-restore-failure", "replay", "--learner", "arow")
    sentence = refused(stage)
    assert "the snapshot was made with learners" in sentence
    assert "--on-restore-failure" in sentence


@pytest.mark.slow
def test_snapshot_from_before_a_fresh_start_is_of_another_history(kafka: str) -> None:
    """Neither an older snapshot nor the full log reproduces a learner that began at 700."""
    stage = staged(kafka)
    commit(stage, 700)
    learn_and_kill(stage, 700, 800, "--on-restore-failure", "reset")
    _, newest = where(stage)
    assert any(r.key == b"0.0" and r.offset < newest.first for r in read_all(kafka, snapshots(stage)))
    point(stage, 800, dataclasses.replace(newest, chunks=2))
    assert "reset starts with an empty learner at 800" in refused(stage)
    learn(stage, 800, 1000, "--on-restore-failure", "replay")
    found = predicted(stage)
    assert all(found[0, offset] == [stage.expected[0, offset]] for offset in range(800, 1000)), "as told, from 0"


@pytest.mark.slow
def test_group_that_began_at_the_end_of_the_log_does_not_relearn_what_it_never_saw(kafka: str) -> None:
    stage = FaultScenario(kafka, partitions=1, rows=1000)
    learn(stage, 0, 300, "--start", "latest")
    with Driftway(*stage.worker("--start", "latest")) as worker:
        worker.await_text("running")
        stage.fill(300, 400)
        await_until(lambda: committed_offset(kafka, stage.group, stage.topic)[0] == 400, 30, "100 rows are learned")
        worker.terminate()
        assert worker.wait() == 0, worker.story()
    _, newest = where(stage)
    point(stage, 400, dataclasses.replace(newest, first=100_000))
    learn(stage, 400, 410)  # uses the older snapshot of this history
    assert predicted(stage).keys() == {(0, offset) for offset in range(300, 410)}
    end = 1 + max(r.offset for r in read_all(kafka, snapshots(stage)) if r.key == b"0.history")
    point(stage, 410, Pointer(end, 9, 410))
    for options in ((), ("--start", "latest")):
        assert "reset starts with an empty learner at 410" in refused(stage, *options)


@pytest.mark.parametrize("there", slow_but([300], [0, 300]))
@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], ["exactly-once", "at-least-once"]))
def test_group_that_began_at_the_end_of_the_log_begins_there_again_if_it_dies_before_its_first_commit(
    kafka: str, guarantee: str, there: int
) -> None:
    """It starts at the end as of its first start, not at the current end, which would skip rows."""
    stage, options = FaultScenario(kafka, partitions=1, rows=400), ("--start", "latest", "--guarantee", guarantee)
    stage.fill(0, there)
    with Driftway(*stage.worker(*options)) as worker:
        worker.await_text("running")
        worker.kill()
    learn(stage, there, 400, *options)
    assert predicted(stage).keys() == {(0, offset) for offset in range(there, 400)}


def test_history_that_began_with_a_kept_learner_is_not_relearned_from_the_first_row(kafka: str) -> None:
    """The history's mark is at 0, but its learner had learned other rows before."""
    stage = learned(kafka)
    point(stage, 5000, where(stage)[1])
    learn(stage, 500, 600, *EARLIEST)
    end = 1 + max(r.offset for r in read_all(kafka, snapshots(stage)) if r.key == b"0.history")
    point(stage, 600, Pointer(end, 9, 600))
    assert "reset starts with an empty learner at 600" in refused(stage)

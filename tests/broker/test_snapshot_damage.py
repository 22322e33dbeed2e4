"""A worker with a damaged newest snapshot continues with the same bits, from an older one or from the first row.

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
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.stream.task.committing.exactly_once import ExactlyOnceCheckpoint
from driftway.worker.stream.task.restoring.restore import restore
from tests.broker.test_policies import (
    EARLIEST,
    commit,
    delete_before,
    last_commit,
    learn,
    learn_and_kill,
    learned,
    learned_and_killed,
    predicted,
    refused,
)
from tests.broker.test_policies import NO_SNAPSHOTS as NEVER
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, committed_offset, produce, read_all, truncate
from tests.support.process import Driftway
from tests.support.selection import slow_but

LONG = ("--metric-window", "500000")
"""Creates two megabytes of state, so three chunks."""


def snapshots(scenario: FaultScenario) -> str:
    return f"{scenario.prefix}.snapshots"


def new_scenario(kafka: str, *more: str) -> FaultScenario:
    """A scenario with a snapshot at 400 (and perhaps before), learned up to 700."""
    return learned_and_killed(kafka, 400, 700, *more)


def newest_chunks(scenario: FaultScenario) -> list[bytes]:
    """The chunks that the committed pointer names."""
    _, pointer = last_commit(scenario)
    records = [r for r in read_all(scenario.bootstrap, snapshots(scenario)) if r.offset >= pointer.first]
    return [record.value or b"" for record in records[: pointer.chunks]]


def replaced(scenario: FaultScenario, chunks: dict[int, bytes], count: int | None = None) -> Pointer:
    """Append `chunks` as a snapshot and commit a pointer to them at the group's current offset."""
    offset, pointer = last_commit(scenario)
    keys = [record_keys.chunk_key(0, number) for number in chunks]
    end = max((r.offset for r in read_all(scenario.bootstrap, snapshots(scenario), committed=False)), default=-1)
    produce(scenario.bootstrap, snapshots(scenario), list(chunks.values()), keys=keys)
    written = [r.offset for r in read_all(scenario.bootstrap, snapshots(scenario)) if r.offset > end]
    assert len(written) == len(chunks)
    new = Pointer(written[0], count or pointer.chunks, pointer.state_offset)
    point(scenario, offset, new)
    return new


def point(scenario: FaultScenario, offset: int, pointer: Pointer) -> None:
    """Commit an offset and a pointer as a worker does, both to the group and to the log."""
    produce(
        scenario.bootstrap, snapshots(scenario), [CommitRecord(offset, offset, pointer).write()], keys=[b"0.position"]
    )
    commit(scenario, offset, pointer.text())


def flipped(blob: bytes, at: int) -> bytes:
    at %= len(blob)
    return blob[:at] + bytes([blob[at] ^ 0xFF]) + blob[at + 1 :]


def require_restore_from(scenario: FaultScenario, position: int, words: str, window: int = 1000) -> None:
    """Check that a restore ends at `position`, reports `words`, and that the first commit writes a snapshot."""
    model = ModelSettings((Spec.parse(LEARNER),), window=window)
    settings = WorkerSettings(scenario.bootstrap, scenario.topic, scenario.group, model)
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
def test_an_older_snapshot_is_used_if_the_newest_is_damaged_and_no_bit_differs(kafka: str, damage: str) -> None:
    scenario = new_scenario(kafka)
    replaced(scenario, DAMAGES[damage](newest_chunks(scenario)[0]))
    require_restore_from(scenario, 400, "older snapshot at offset 400")
    with scenario.auditor() as auditor:
        learn(scenario, 700, 1000, *NEVER)
        auditor.await_all(1000)
    auditor.require(scenario.expected)
    offset, healed = last_commit(scenario)
    assert offset == 1000
    assert healed.state_offset > 700, "the first commit wrote a new snapshot"


@pytest.mark.parametrize(
    "kind", slow_but(["missing chunk"], ["missing chunk", "swapped chunks", "behind the end", "other state offset"])
)
@pytest.mark.slow
def test_an_older_snapshot_is_used_if_chunks_are_missing(kafka: str, kind: str) -> None:
    scenario = new_scenario(kafka, *LONG)
    a, b, c = newest_chunks(scenario)
    if kind == "missing chunk":
        replaced(scenario, {0: a, 2: c})
    elif kind == "swapped chunks":
        replaced(scenario, {0: a, 1: c, 2: b})
    elif kind == "behind the end":
        point(scenario, 700, Pointer(100_000, 3, 400))
    else:
        pointer = replaced(scenario, {0: a, 1: b, 2: c})
        point(scenario, 700, Pointer(pointer.first, 3, 399))
    require_restore_from(scenario, 400, "older snapshot at offset 400", window=500_000)
    with scenario.auditor() as auditor:
        learn(scenario, 700, 1000, *LONG)
        auditor.await_all(1000)
    auditor.require(scenario.expected)


@pytest.mark.slow
def test_an_older_snapshot_that_is_damaged_too_is_skipped(kafka: str) -> None:
    scenario = new_scenario(kafka)
    (blob,) = newest_chunks(scenario)
    for at in (-200, -300, -400):
        replaced(scenario, {0: flipped(blob, at)})
    require_restore_from(scenario, 400, "older snapshot at offset 400")
    with scenario.auditor() as auditor:
        learn(scenario, 700, 1000)
        auditor.await_all(1000)
    auditor.require(scenario.expected)


def test_without_an_older_snapshot_the_whole_log_is_relearned_and_no_bit_differs(kafka: str) -> None:
    scenario = new_scenario(kafka)
    bad = replaced(scenario, {0: flipped(newest_chunks(scenario)[0], 30)})
    delete_before(scenario, snapshots(scenario), bad.first)
    require_restore_from(scenario, 0, "relearning the whole log from offset 0")
    with scenario.auditor() as auditor:
        learn(scenario, 700, 1000)
        auditor.await_all(1000)
    auditor.require(scenario.expected)


def test_without_an_older_snapshot_or_the_first_rows_a_restore_is_refused(kafka: str) -> None:
    scenario = new_scenario(kafka)
    bad = replaced(scenario, {0: flipped(newest_chunks(scenario)[0], 30)})
    delete_before(scenario, snapshots(scenario), bad.first)
    delete_before(scenario, scenario.topic, 100)
    sentence = refused(scenario)
    assert "the snapshot is damaged: its checksum does not match" in sentence
    assert "--on-restore-failure replay relearns the log from offset 100" in sentence
    assert "reset starts with an empty learner at 700" in sentence
    learn(scenario, 700, 1000, "--on-restore-failure", "replay")
    assert predicted(scenario).keys() == scenario.expected.keys()


@pytest.mark.slow
def test_an_older_snapshot_after_the_lost_rows_is_used(kafka: str) -> None:
    scenario = new_scenario(kafka)
    replaced(scenario, {0: flipped(newest_chunks(scenario)[0], 30)})
    delete_before(scenario, scenario.topic, 400)
    require_restore_from(scenario, 400, "older snapshot at offset 400")
    with scenario.auditor() as auditor:
        learn(scenario, 700, 1000)
        auditor.await_all(1000)
    auditor.require(scenario.expected)


@pytest.mark.slow
def test_an_older_snapshot_before_the_lost_rows_is_not_used(kafka: str) -> None:
    scenario = new_scenario(kafka)
    replaced(scenario, {0: flipped(newest_chunks(scenario)[0], 30)})
    delete_before(scenario, scenario.topic, 401)
    assert "--on-restore-failure replay relearns the log from offset 401" in refused(scenario)


@pytest.mark.slow
def test_a_snapshot_of_a_newer_format_is_refused_and_no_older_one_used(kafka: str) -> None:
    scenario = new_scenario(kafka)
    (blob,) = newest_chunks(scenario)
    replaced(scenario, {0: b"DWT2" + blob[4:-1] + b"?"})
    assert "the snapshot has format b'DWT2', this version reads b'DWT1'" in refused(scenario)


@pytest.mark.slow
def test_a_snapshot_of_another_learner_is_refused_although_an_older_one_would_fit(kafka: str) -> None:
    scenario = new_scenario(kafka)
    learn(scenario, 700, 800, "--on-restore-failure", "replay", "--learner", "arow")
    sentence = refused(scenario)
    assert "the snapshot was made with learners" in sentence
    assert "--on-restore-failure" in sentence


@pytest.mark.slow
def test_a_snapshot_from_before_a_fresh_start_is_not_used(kafka: str) -> None:
    """Neither an older snapshot nor the full log reproduces a learner that began at 700."""
    scenario = new_scenario(kafka)
    commit(scenario, 700)
    learn_and_kill(scenario, 700, 800, "--on-restore-failure", "reset")
    _, newest = last_commit(scenario)
    assert any(r.key == b"0.0" and r.offset < newest.first for r in read_all(kafka, snapshots(scenario)))
    point(scenario, 800, dataclasses.replace(newest, chunks=2))
    assert "reset starts with an empty learner at 800" in refused(scenario)
    learn(scenario, 800, 1000, "--on-restore-failure", "replay")
    found = predicted(scenario)
    assert all(found[0, offset] == [scenario.expected[0, offset]] for offset in range(800, 1000)), "from 0, as chosen"


@pytest.mark.slow
def test_a_group_that_began_at_the_end_of_the_log_does_not_relearn_earlier_rows(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    learn(scenario, 0, 300, "--start", "latest")
    with Driftway(*scenario.worker("--start", "latest")) as worker:
        worker.await_text("running")
        scenario.fill(300, 400)
        await_until(
            lambda: committed_offset(kafka, scenario.group, scenario.topic)[0] == 400, 30, "100 rows are learned"
        )
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    _, newest = last_commit(scenario)
    point(scenario, 400, dataclasses.replace(newest, first=100_000))
    learn(scenario, 400, 410)  # it uses the older snapshot of this history
    assert predicted(scenario).keys() == {(0, offset) for offset in range(300, 410)}
    end = 1 + max(r.offset for r in read_all(kafka, snapshots(scenario)) if r.key == b"0.history")
    point(scenario, 410, Pointer(end, 9, 410))
    for options in ((), ("--start", "latest")):
        assert "reset starts with an empty learner at 410" in refused(scenario, *options)


@pytest.mark.parametrize("there", slow_but([300], [0, 300]))
@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], ["exactly-once", "at-least-once"]))
def test_a_group_begins_at_the_same_end_again_if_it_dies_before_its_first_commit(
    kafka: str, guarantee: str, there: int
) -> None:
    """It starts at the end at the time of its first start; the current end would skip rows."""
    scenario, options = FaultScenario(kafka, partitions=1, rows=400), ("--start", "latest", "--guarantee", guarantee)
    scenario.fill(0, there)
    with Driftway(*scenario.worker(*options)) as worker:
        worker.await_text("running")
        worker.kill()
    learn(scenario, there, 400, *options)
    assert predicted(scenario).keys() == {(0, offset) for offset in range(there, 400)}


def test_rows_after_the_end_where_a_group_began_are_not_skipped_if_retention_takes_the_first(kafka: str) -> None:
    """Nothing is committed yet, so that the end would be asked for again."""
    scenario, options = FaultScenario(kafka, partitions=1, rows=400), ("--start", "latest")
    scenario.fill(0, 300)
    with Driftway(*scenario.worker(*options)) as worker:
        worker.await_text("running")
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    scenario.fill(300, 400)
    truncate(kafka, scenario.topic, 1, 350)
    assert "offsets 300 to 300 are needed, the log holds 350 to 400" in refused(scenario, *options)
    learn(scenario, 400, 400, *options, "--on-offset-out-of-range", "earliest")
    assert predicted(scenario).keys() == {(0, offset) for offset in range(350, 400)}


def test_a_history_that_began_with_a_kept_learner_is_not_relearned_from_its_first_row(kafka: str) -> None:
    """The history's mark is at 0, but its learner had already learned other rows."""
    scenario = learned(kafka)
    point(scenario, 5000, last_commit(scenario)[1])
    learn(scenario, 500, 600, *EARLIEST)
    end = 1 + max(r.offset for r in read_all(kafka, snapshots(scenario)) if r.key == b"0.history")
    point(scenario, 600, Pointer(end, 9, 600))
    assert "reset starts with an empty learner at 600" in refused(scenario)

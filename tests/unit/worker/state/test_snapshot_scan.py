"""Finding older snapshots in the topic: only complete ones of the current history, and only the newest few."""

from __future__ import annotations

import pytest

from driftway.worker.state import snapshot
from driftway.worker.state.changelog import record_keys
from driftway.worker.state.changelog.record_keys import commit_record_key, is_mark_key, mark_key
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.changelog.snapshot_scan import MAX_CANDIDATES, UNKNOWN, SnapshotScan
from driftway.worker.state.snapshot import SnapshotHeader
from driftway.worker.state.stored_fields import split_chunks
from tests.unit.worker.rows import model_settings
from tests.unit.worker.state.test_snapshot import BLOB, blob_of, learned

LONG = model_settings("dfop:mu=0.01", window=500_000)


def written(search: SnapshotScan, at: int, blob: bytes, *skip: int, partition: int = 3) -> int:
    """Pass a snapshot's chunks except `skip` to `search`; return the offset after them and one control record."""
    for number, chunk in enumerate(split_chunks(blob)):
        if number not in skip:
            search.take(at, record_keys.chunk_key(partition, number), chunk)
        at += 1
    return at + 1


def test_an_outline_equals_the_snapshots_header() -> None:
    assert snapshot.read_snapshot_header(BLOB) == SnapshotHeader(170, len(BLOB))
    assert snapshot.read_snapshot_header(BLOB[:-500]) == SnapshotHeader(170, len(BLOB))


@pytest.mark.parametrize(
    "chunk", [b"", b"DWT1", b"DWT2" + BLOB[4:], BLOB[:60], BLOB[1:], b"DWT1\x02\0\0\0[]", bytes(99)]
)
def test_other_records_have_no_outline(chunk: bytes) -> None:
    assert snapshot.read_snapshot_header(chunk) is None


def test_snapshots_are_found_with_the_least_to_relearn_first() -> None:
    search, model, at = SnapshotScan(3, 0, 1000), learned(), 7
    for offset in (100, 300, 200, 300):
        at = written(search, at, blob_of(model, offset))
    assert search.candidates == [Pointer(13, 1, 300), Pointer(9, 1, 300), Pointer(11, 1, 200), Pointer(7, 1, 100)]
    assert search.history_start is None


def test_a_state_beyond_the_committed_offset_or_before_the_log_is_no_candidate() -> None:
    search, model, at = SnapshotScan(3, 100, 200), learned(), 0
    for offset in (99, 100, 150, 200, 201):
        at = written(search, at, blob_of(model, offset))
    assert [pointer.state_offset for pointer in search.candidates] == [200, 150, 100]


def test_only_complete_snapshots_are_found() -> None:
    search, blob = SnapshotScan(3, 0, 1000), blob_of(learned(LONG), 400)
    assert len(split_chunks(blob)) == 3
    at = 0
    for skip in (0, 1, 2):
        at = written(search, at, blob, skip)
    assert search.candidates == []
    written(search, at, blob)
    assert search.candidates == [Pointer(at, 3, 400)]


def test_chunks_left_by_compaction_do_not_hide_the_next_snapshot() -> None:
    search, long, short = (
        SnapshotScan(3, 0, 1000),
        split_chunks(blob_of(learned(LONG), 400)),
        blob_of(learned(), 500),
    )
    search.take(4, b"3.2", long[2])
    written(search, 9, short)
    search.take(20, b"3.0", long[0])
    search.take(21, b"3.2", long[2])
    written(search, 30, short)
    assert search.candidates == [Pointer(30, 1, 500), Pointer(9, 1, 500)]


def test_other_records_are_skipped() -> None:
    search = SnapshotScan(3, 0, 1000)
    for key, value in [(None, BLOB), (b"4.0", BLOB), (b"x", None), (b"3.0", None), (b"3.0", b"garbage")]:
        search.take(0, key, value)
    assert search.candidates == []


def test_a_mark_ends_the_old_history() -> None:
    search, model = SnapshotScan(3, 0, 1000), learned()
    at = written(search, 0, blob_of(model, 100))
    search.take(at, mark_key(3), b"640")
    assert (search.candidates, search.history_start) == ([], 640)
    written(search, at + 1, blob_of(model, 700))
    assert [pointer.state_offset for pointer in search.candidates] == [700]
    search.take(at + 9, mark_key(4), b"2")
    assert search.history_start == 640
    search.take(at + 10, mark_key(3), b"?")
    assert (search.candidates, search.history_start) == ([], UNKNOWN)


def test_a_history_in_which_nothing_was_committed_is_not_searched() -> None:
    """At-least-once writes snapshots without a transaction, so one may follow the mark."""
    search, model = SnapshotScan(3, 0, 1000, committed=5), learned()
    at = written(search, written(search, 3, blob_of(model, 100)), blob_of(model, 200))
    search.take(at, mark_key(3), b"200")
    written(search, at + 1, blob_of(model, 200))
    assert search.history_start is None
    assert search.candidates == [Pointer(3, 1, 100)]


def test_few_positions_are_kept_however_many_snapshots_there_are() -> None:
    search, model, at = SnapshotScan(3, 0, 10_000), learned(), 0
    for offset in range(500):
        at = written(search, at, blob_of(model, offset))
    assert [pointer.state_offset for pointer in search.candidates] == [*range(499, 499 - MAX_CANDIDATES, -1)]


def test_the_key_of_a_history_mark_differs_from_those_of_chunks() -> None:
    assert mark_key(3) == b"3.history"
    assert is_mark_key(b"3.history", 3)
    assert is_mark_key(b"3.began", 3), "as earlier versions wrote it"
    assert not is_mark_key(b"4.history", 3)
    assert not is_mark_key(None, 3)
    assert mark_key(3) not in {record_keys.chunk_key(3, n) for n in range(100)}
    assert commit_record_key(3) not in {mark_key(3), *(record_keys.chunk_key(3, n) for n in range(100))}

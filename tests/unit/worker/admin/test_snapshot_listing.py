"""What a snapshot topic holds, and why a state cannot be restored from it; without Kafka."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from driftway.worker.admin.state_admin.listing import History, HistoryMark, SnapshotList, StoredSnapshot
from driftway.worker.admin.state_admin.source import GroupPartition, settings_for
from driftway.worker.admin.state_admin.state_at_offset import RebuiltState, require_form, require_start, state_at
from driftway.worker.errors import CannotRestore, Failure, UsageFailure
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.record_keys import chunk_key, commit_record_key, mark_key
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.warm_start import WarmStart
from driftway.worker.wire.packed import encode_events as pack_events
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.registered import json_schema
from tests.support.registry import Stub
from tests.unit.worker.rows import events, model_settings, records

MODEL = model_settings("dfop:mu=0.01", "arow")
NOW = 1_700_000_000_000


@dataclass
class Record:
    at: int
    told_key: bytes | None
    told_value: bytes | None

    def offset(self) -> int:
        return self.at

    def key(self) -> bytes | None:
        return self.told_key

    def value(self) -> bytes | None:
        return self.told_value

    def timestamp(self) -> tuple[int, int]:
        return 1, NOW + self.at


def blob(offset: int, partition: int = 3) -> bytes:
    model = Model(MODEL, partition)
    model.advance(records(events(offset), 0, partition))
    return snapshot.write(model, model.save(), offset)


def listing_of(*pairs: tuple[bytes | None, bytes | None], partition: int = 3) -> SnapshotList:
    """Return a partition's listing of records with these keys and values, at offsets 10, 11, ..."""
    listing = SnapshotList(partition)
    for at, (key, value) in enumerate(pairs, 10):
        listing.take(Record(at, key, value))
    listing.finish()
    return listing


def test_a_snapshot_is_listed_with_its_learners_and_time() -> None:
    whole = blob(50)
    listing = listing_of((chunk_key(3, 0), whole), (commit_record_key(3), b"50"))
    learners = ("dfop:mu=0.01", "arow")
    assert listing.found == [StoredSnapshot(Pointer(10, 1, 50), len(whole), NOW + 10, 50, learners)]
    assert listing.orphans == 0


def test_a_champion_from_a_model_file_is_marked() -> None:
    for frozen, name in ((False, "warm:arow"), (True, "frozen:arow")):
        model = Model(replace(model_settings("arow", "pa1"), warm=WarmStart("f", "abc", frozen)), 3)
        (one,) = listing_of((chunk_key(3, 0), snapshot.write(model, model.save(), 0))).found
        assert isinstance(one, StoredSnapshot)
        assert one.learners == (name, "pa1")


def test_chunks_are_assembled_in_order() -> None:
    whole = blob(50)
    i = 8 + int.from_bytes(whole[4:8], "little")  # after the header, which a worker always writes into the first chunk
    j = i + 100
    a, b, c = (chunk_key(3, 0), whole[:i]), (chunk_key(3, 1), whole[i:j]), (chunk_key(3, 2), whole[j:])
    (found,) = listing_of(a, b, (commit_record_key(3), b"1"), c).found
    assert isinstance(found, StoredSnapshot)
    assert (found.pointer, found.nbytes, found.rows) == (Pointer(10, 3, 50), len(whole), 50)
    for broken, orphans in (((a, b), 2), ((a, c), 2), ((b, c), 2), ((a, b, a), 3), ((c, a), 2)):
        listing = listing_of(*broken)
        assert (listing.found, listing.orphans) == ([], orphans)
    assert listing_of(a, (chunk_key(3, 1), whole)).orphans == 2, "longer than its header says"
    assert listing_of((chunk_key(3, 0), b"not a snapshot"), b).orphans == 2


def test_damage_is_listed_not_hidden() -> None:
    whole = blob(50)
    (found,) = listing_of((chunk_key(3, 0), whole[:-1] + b"?")).found
    assert isinstance(found, StoredSnapshot)
    assert (found.rows, found.learners, found.state_offset) == (None, (), 50)
    assert found.problem == "the snapshot is damaged: its checksum does not match"


def test_records_of_other_partitions_and_keys_are_ignored() -> None:
    whole = blob(50)
    listing = listing_of((chunk_key(13, 0), whole), (None, whole), (b"3.0x", whole), (mark_key(13), b"7"))
    assert (listing.found, listing.orphans) == ([], 0)


def history_of(*starts: int | None) -> SnapshotList:
    """Return a first history with a snapshot, then one for each start, each with snapshots of its own at 20 and 40."""
    pairs: list[tuple[bytes, bytes]] = [(chunk_key(3, 0), blob(20))]
    for start in starts:
        value = b"imported" if start is None else b"%d" % start
        pairs += [(mark_key(3), value), (chunk_key(3, 0), blob(20)), (chunk_key(3, 0), blob(40))]
    return listing_of(*pairs)


def test_the_present_history_is_that_of_the_committed_snapshot() -> None:
    listing = history_of(15, None)
    first, second, third = (
        listing.present(Pointer(10, 1, 20)),
        listing.present(Pointer(12, 1, 20)),
        listing.present(None),
    )
    assert (first.mark, first.began, [one.pointer.first for one in first.snapshots]) == (None, 0, [10])
    assert (second.began, [one.pointer.first for one in second.snapshots]) == (15, [12, 13])
    assert (third.began, [one.pointer.first for one in third.snapshots]) == (None, [15, 16])
    assert third.mark == HistoryMark(14, None, NOW + 14)
    assert (first.superseded, second.superseded, third.superseded) == (True, True, False)
    assert listing.present(Pointer(16, 1, 40)) == third
    assert listing.present(Pointer(11, 1, 40)).began == 15, "a pointer to what has been replaced"
    assert SnapshotList(3).present(None) == History(None, ())


SETTINGS = settings_for("nowhere:1", "EVENTS", "g", {})


def source(low: int = 0, high: int = 100, pointer: Pointer | None = None) -> GroupPartition:
    return GroupPartition(SETTINGS, 3, low, high, None, pointer, 0)


def found(at: int, problem: str | None = None) -> StoredSnapshot:
    return StoredSnapshot(Pointer(at, 1, at), 9, NOW, problem=problem)


@pytest.mark.parametrize(
    ("began", "snapshots", "low", "offset", "reason"),
    [
        (30, (found(40),), 0, 29, "the present history of group g began at 30; the earliest available one is at 40"),
        (None, (found(40),), 0, 39, "a state that was imported or kept; the earliest available one is at 40"),
        (0, (), 5, 20, "the log begins at 5, and no snapshot covers the rows that are gone"),
        (None, (found(4),), 5, 20, "the log begins at 5, and no snapshot covers the rows that are gone"),
        (0, (found(4), found(40)), 5, 20, "that are gone; the earliest available one is at 40"),
    ],
)
def test_the_reason_why_a_state_cannot_be_rebuilt_is_given(
    began: int | None, snapshots: tuple[StoredSnapshot, ...], low: int, offset: int, reason: str
) -> None:
    history = History(HistoryMark(1, began, NOW), snapshots)
    later = next((one for one in snapshots if one.state_offset > offset), None)
    with pytest.raises(CannotRestore) as refused:
        require_start(source(low), history, offset, later, ("a note",))
    sentence = str(refused.value)
    assert sentence.startswith(f"the state of EVENTS/3 at offset {offset} cannot be rebuilt: ")
    assert sentence.endswith(f"{reason}; a note")


def test_a_state_whose_rows_are_all_in_the_log_can_be_rebuilt() -> None:
    require_start(source(5), History(HistoryMark(1, 5, NOW), ()), 5, None, ())
    require_start(source(0), History(None, ()), 0, None, ())
    require_start(source(5), History(HistoryMark(1, None, NOW), (found(5),)), 9, None, ())


def with_past(monkeypatch: pytest.MonkeyPatch, *snapshots: StoredSnapshot) -> None:
    made = SnapshotList(3, list(snapshots))
    monkeypatch.setattr("driftway.worker.admin.state_admin.state_at_offset.list_snapshots", lambda *_: made)


def test_without_any_snapshot_a_state_cannot_be_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    with_past(monkeypatch)
    with pytest.raises(CannotRestore, match="group g has no snapshot of EVENTS/3"):
        state_at(source(), None)
    with pytest.raises(CannotRestore, match="at offset 7 cannot be rebuilt: no snapshot describes its learners"):
        state_at(source(), 7)
    with pytest.raises(UsageFailure, match="offset 101 is past the end of EVENTS/3: its log ends at 100"):
        state_at(source(), 101)


def test_by_default_the_committed_snapshot_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with_past(monkeypatch, found(20), found(40), found(60))
    offsets: list[Any] = []

    def read(_source: GroupPartition, pointer: Pointer) -> Any:
        offsets.append(pointer.state_offset)
        if pointer.state_offset == 40:
            raise Failure("it is damaged")
        model = Model(MODEL, 3)
        return type("File", (), {"model": lambda _self, _form: model, "saved": model.save()})()

    monkeypatch.setattr("driftway.worker.admin.state_admin.state_at_offset.read_snapshot", read)
    monkeypatch.setattr(
        "driftway.worker.admin.state_admin.state_at_offset.advance", lambda _, model, *__, **___: (model, 0)
    )
    assert state_at(source(pointer=Pointer(20, 1, 20)), None).offset == 20
    assert state_at(source(), None).offset == 60
    offsets.clear()
    arrival = state_at(source(pointer=Pointer(40, 1, 40)), None)
    assert (arrival.offset, arrival.base, offsets) == (40, 20, [40, 20])
    assert arrival.notes == ("it is damaged",)


def test_a_newer_history_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "driftway.worker.admin.state_admin.state_at_offset.list_snapshots",
        lambda *_: SnapshotList(3, [found(20), HistoryMark(50, 25, NOW)]),
    )
    monkeypatch.setattr("driftway.worker.admin.state_admin.state_at_offset.read_snapshot", broken)
    with pytest.raises(CannotRestore, match="but has committed nothing yet"):
        state_at(source(pointer=Pointer(20, 1, 20)), 22)


def broken(_source: GroupPartition, _pointer: Pointer) -> Any:
    raise Failure("it is damaged")


def test_how_a_state_was_rebuilt_is_reported() -> None:
    model = Model(MODEL, 3)
    assert RebuiltState(model, 9, None, 0, 1234).origin == "the history's start and 1,234 records"
    assert RebuiltState(model, 9, 9, 9, 0).origin == "the snapshot at offset 9"


def test_events_of_the_other_format_are_recognised() -> None:
    import numpy as np

    packed = records(list(pack_events(np.ones((3, 2)), np.zeros(3))))
    with pytest.raises(UsageFailure, match="the events are in format packed, not json: give --format packed"):
        require_form(MODEL, packed)
    with pytest.raises(UsageFailure, match="the events are in format json, not packed: give --format json"):
        require_form(replace(MODEL, form="packed"), records(events(5)))
    require_form(MODEL, records([b"neither", None]))
    require_form(replace(MODEL, form="packed"), records([b"neither", None]))


def test_events_of_a_schema_in_another_format_are_recognised() -> None:
    row, whole = {"a": 1.5, "b": None, "big": 1}, replace(MODEL, events=EventSchema.parse(["a"], label="big"))
    with Stub() as stub:
        framed = records([b"", None, json_schema(stub.url, row)[0]])
        plain = records([b'{"a": 1.5, "big": 1}'])
        avro = replace(whole, form="avro", registry=stub.url)
        with pytest.raises(UsageFailure, match="not json: give one of --format avro, protobuf, json-schema, and --reg"):
            require_form(whole, framed)
        with pytest.raises(UsageFailure, match="the events are in format json-schema, not avro: give --format json-s"):
            require_form(avro, framed)
        with pytest.raises(UsageFailure, match="the events are in format json, not avro: give --format json"):
            require_form(avro, plain)
        for right in (whole, avro):
            require_form(right, records([b"neither", None]))
        require_form(whole, records([b"", None]))
        require_form(replace(avro, form="json-schema"), framed)

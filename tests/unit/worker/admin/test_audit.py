"""What `driftway audit` reports of records that differ, are missing or are too many; without Kafka."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.worker.admin.audit.diff import Mismatch, describe_difference, input_offset
from driftway.worker.admin.audit.outputs import (
    AlarmComparison,
    PointComparison,
    PredictionComparison,
    RejectionComparison,
)
from driftway.worker.admin.audit.snapshots import SnapshotReader
from driftway.worker.kafka.log_reader.records import RecordColumns
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.changelog.record_keys import chunk_key, commit_record_key, mark_key
from driftway.worker.state.changelog.snapshot_scan import imported_mark, read_mark, read_output_ends
from driftway.worker.state.delayed_labels.pending_rows import NO_STAMP
from driftway.worker.state.model import Model
from driftway.worker.state.snapshot import first_difference, write
from driftway.worker.wire.codec import PACKED, encode_events
from driftway.worker.wire.columns import ListColumn as Strings
from driftway.worker.wire.events import NO_LABEL_OFFSET
from driftway.worker.wire.headers import Header
from driftway.worker.wire.rejections import without_own
from tests.unit.worker.rows import records


@dataclass
class FakeRecord:
    """A record as a reader returns it."""

    at: int
    told_key: bytes | None
    told_value: bytes | None
    told_headers: Sequence[Header] = ()

    def offset(self) -> int:
        return self.at

    def key(self) -> bytes | None:
        return self.told_key

    def value(self) -> bytes | None:
        return self.told_value

    def headers(self) -> Sequence[Header]:
        return self.told_headers


class FakeLog:
    """A log with given records."""

    topic = "OUT"

    def __init__(self, *written: FakeRecord, low: int = 0, headed: bool = False) -> None:
        self.written, self.low, self.end, self.partition, self.headed = list(written), low, 99, 3, headed

    def __str__(self) -> str:
        return "OUT/3"

    def peek(self, n: int) -> list[FakeRecord]:
        return self.written[:n]

    def columns(self, n: int) -> RecordColumns:
        found = self.peek(n)
        keys, values = (Strings([getattr(record, which) for record in found]) for which in ("told_key", "told_value"))
        headers = [tuple(record.told_headers) for record in found] if self.headed else None
        return RecordColumns(np.array([record.at for record in found], np.int64), keys, values, headers)

    def drop(self, n: int) -> None:
        del self.written[:n]


def value(offset: int, score: float = 0.5) -> bytes:
    return json.dumps({"offset": offset, "score": score}).encode()


def ledger(*offsets: int, low: int = 0, span: tuple[int, int] = (0, 10)) -> Any:
    written = [FakeRecord(i, None, value(offset)) for i, offset in enumerate(offsets, 50)]
    return PredictionComparison(FakeLog(*written, low=low), "IN/3", span)  # type: ignore[arg-type]


def wanted(*offsets: int) -> list[tuple[Any, ...]]:
    return [(None, value(offset), ()) for offset in offsets]


def one_by_one(found: PredictionComparison, *offsets: int) -> None:
    found.require(wanted(*offsets))


def as_columns(found: PredictionComparison, *offsets: int) -> None:
    found.require_columns(Strings([None] * len(offsets)), Strings(list(map(value, offsets))))


@pytest.fixture(params=[one_by_one, as_columns])
def check(request: pytest.FixtureRequest) -> Any:
    """Return a function that requires the offsets and then the end, and returns the number of matches."""

    def required(found: PredictionComparison, *offsets: int) -> int:
        request.param(found, *offsets)
        found.finish()
        return found.matched

    return required


def test_equal_records_are_counted_as_verified(check: Any) -> None:
    assert check(ledger(1, 2, 5), 1, 2, 5) == 3
    assert check(ledger()) == 0


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ((1, 5), "IN/3@2 has no prediction: expected it at OUT/3@51, found that of IN/3@5"),
        ((1, 2), "IN/3@5 has no prediction: the group has committed offset 10, expected it in OUT/3, found its end"),
        ((1, 1, 2, 5), "OUT/3@51 is a surplus prediction of IN/3@1: expected that of IN/3@2"),
        ((1, 2, 5, 2), "OUT/3@53 is a surplus prediction of IN/3@2: all offsets up to 10 have theirs"),
        ((1, 2, 5, 11, 2), "OUT/3@54 is a surplus prediction of IN/3@2"),
    ],
)
def test_the_first_difference_is_named(check: Any, there: tuple[int, ...], words: str) -> None:
    with pytest.raises(Mismatch) as raised:
        check(ledger(*there), 1, 2, 5)
    assert str(raised.value).startswith(words)


def test_records_newer_than_the_commit_are_noted(check: Any) -> None:
    found = ledger(1, 2, 10, 12, 11)
    assert check(found, 1, 2) == 2
    assert found.newest == 12


def test_only_the_first_records_may_be_missing_because_of_retention(check: Any) -> None:
    assert check(ledger(3, 4, low=7), 1, 2, 3, 4) == 2
    assert check(ledger(low=7), 1, 2) == 0
    assert check(ledger(1, 2, 3, 4, span=(3, 10)), 3, 4) == 2
    with pytest.raises(Mismatch, match="IN/3@4 has no prediction"):
        check(ledger(3, 5, low=7), 2, 3, 4, 5)
    with pytest.raises(Mismatch, match="a surplus prediction of IN/3@1"):
        check(ledger(3, 1, 4, span=(3, 10)), 3, 4)


@pytest.mark.parametrize(("kind", "noun"), [(PointComparison, "accuracy point"), (AlarmComparison, "drift alarm")])
def test_records_at_one_offset_must_be_in_order(kind: type[PointComparison], noun: str) -> None:
    def compare_points(*keys: bytes) -> PointComparison:
        written = [FakeRecord(i, key, value(4)) for i, key in enumerate(keys)]
        comparison = kind(FakeLog(*written), "IN/3", (0, 10))  # type: ignore[arg-type]
        comparison.rank([b"a", b"b"])
        return comparison

    faces = [(b"a", value(4)), (b"b", value(4))]
    compare_points(b"a", b"b").require(faces)
    with pytest.raises(Mismatch, match=f"IN/3@4 has no {noun}"):
        compare_points(b"b", b"a").require(faces)
    with pytest.raises(Mismatch, match=f"a surplus {noun} of IN/3@4"):
        compare_points(b"a", b"a", b"b").require(faces)
    with pytest.raises(Mismatch, match=f"the {noun} of IN/3@4 differs: expected score 0.25, found 0.5"):
        compare_points(b"a").require([(b"a", value(4, 0.25))])
    with pytest.raises(Mismatch, match=f"IN/3@4 has no {noun}: the group has committed offset 10"):
        compare_points().require(faces)


def test_a_rejection_is_compared_with_its_headers() -> None:
    model = Model(ModelSettings((Spec.parse("arow"),), n_features=1), 3)
    (bad,) = model.advance(records([b"?"], first=6)).rejected
    listed = FakeLog()
    found = RejectionComparison(listed, "IN/3", (0, 10), "")  # type: ignore[arg-type]
    ((key, raw, headers),) = faces = found.identities([bad])
    listed.written = [FakeRecord(0, key, raw, list(headers))]
    found.require(faces)
    listed.written = [FakeRecord(0, key, raw, without_own(headers))]
    found.require(faces)  # as an earlier version wrote it
    listed.written = [FakeRecord(0, key, raw, [*headers[:-1], ("event.a", None)])]
    with pytest.raises(Mismatch, match="the rejection of IN/3@6 differs: expected the header"):
        found.require(faces)
    listed.written = [FakeRecord(0, key, raw, [("reason", b"other"), *headers[1:]])]
    with pytest.raises(Mismatch, match="the rejection of IN/3@6 differs: expected the header"):
        found.require(faces)
    listed.written = [FakeRecord(0, key, raw)]
    with pytest.raises(Mismatch, match="OUT/3@0 is not a valid rejection: no header offset"):
        found.require(faces)


def test_a_reason_may_lack_the_detected_format_of_the_event() -> None:
    """Earlier versions did not say it."""
    model = Model(ModelSettings((Spec.parse("arow"),), n_features=1), 3)
    (bad,) = model.advance(records([b"\x1f\x8b?"], first=6)).rejected
    assert bad.reason == "not JSON: it is compressed with gzip"
    listed = FakeLog()
    found = RejectionComparison(listed, "IN/3", (0, 10), "")  # type: ignore[arg-type]
    ((key, raw, headers),) = faces = found.identities([bad])
    for reason in (b"not JSON", headers[0][1]):
        listed.written = [FakeRecord(0, key, raw, [("reason", reason), *headers[1:]])]
        found.require(faces)
    listed.written = [FakeRecord(0, key, raw, [("reason", b"not JSON: it is UTF-16"), *headers[1:]])]
    with pytest.raises(Mismatch, match="the rejection of IN/3@6 differs: expected the header"):
        found.require(faces)


def test_a_reason_may_lack_that_a_label_has_no_timestamp() -> None:
    """Earlier versions only said that no event of its id waits."""
    settings = ModelSettings((Spec.parse("arow"),), n_features=1, wait=LabelWait.parse("9"))
    rows = records([b'{"id":1,"y":1}', b'{"id":2,"x":[0]}'], first=6)
    unstamped = replace(rows, timestamps=[-1, 5], label_offsets=np.array([0, NO_LABEL_OFFSET]))
    (late,) = Model(settings, 3).advance(unstamped).rejected
    listed = FakeLog()
    found = RejectionComparison(listed, "IN/3", (0, 10), "LABELS")  # type: ignore[arg-type]
    ((key, raw, headers),) = faces = found.identities([late])
    assert headers[0] == ("reason", NO_STAMP.encode())
    for reason in (b"late label: no event of this id waits", NO_STAMP.encode()):
        listed.written = [FakeRecord(0, key, raw, [("reason", reason), *headers[1:]])]
        found.require(faces)
    listed.written = [FakeRecord(0, key, raw, [("reason", b"late label"), *headers[1:]])]
    with pytest.raises(Mismatch, match="the rejection of IN/3@6 differs: expected the header"):
        found.require(faces)


HEADED = [("t", b"x" * 70), ("t", None)], [], [("a", b""), ("b", b"1"), ("a", b"2")]


@pytest.mark.parametrize(
    ("at", "there", "words"),
    [
        (1, HEADED[1], None),
        (0, HEADED[0][:1], "expected the header ('t', None), found none"),
        (0, [HEADED[0][0], ("t", b"")], "expected the header ('t', None), found ('t', b'')"),
        (0, [("t", b"x" * 69 + b"y"), ("t", None)], "header 't': expected b'x' from byte 69 on, found b'y'"),
        (1, [("t", b"")], "expected no further header, found ('t', b'')"),
        (2, [HEADED[2][0], HEADED[2][2], HEADED[2][1]], "expected the header ('b', b'1'), found ('a', b'2')"),
    ],
)
def test_headers_of_predictions_are_compared_byte_for_byte(at: int, there: list[Header], words: str | None) -> None:
    written = [FakeRecord(i, None, value(i), own) for i, own in enumerate(HEADED)]
    written[at].told_headers = there
    found = PredictionComparison(FakeLog(*written, headed=True), "IN/3", (0, 10))  # type: ignore[arg-type]
    expected = [tuple(own) for own in HEADED]

    def check() -> None:
        found.require_columns(Strings([None] * 3), Strings([value(i) for i in range(3)]), expected)

    if words is None:
        check()
        assert found.matched == 3
        return
    with pytest.raises(Mismatch) as raised:
        check()
    assert str(raised.value) == f"OUT/3@{at}: the prediction of IN/3@{at} differs: {words}"


def test_a_difference_names_the_field_or_the_byte() -> None:
    assert describe_difference(value(1, 0.5), value(1, 0.25)) == "expected score 0.5, found 0.25"
    assert describe_difference(value(1, 0.0), value(1, -0.0)) == "expected score 0.0, found -0.0"
    assert describe_difference(b'{"a":1}', b'{"a": 1}') == "expected b'1}' from byte 5 on, found b' 1}'"
    assert describe_difference(b'{"a":1}', b"{}") == "expected the field a, found none"
    assert describe_difference(b"x", None) == "expected b'x', found None"
    specs = (Spec.parse("arow"),)
    rows = records(encode_events(np.ones((2, 2)), np.ones(2), 0))
    one, two = Model(ModelSettings(specs, output_form=PACKED), 3).advance(rows).predictions
    assert describe_difference(one, two).startswith("expected offset 0, found 1")
    assert input_offset(two) == 1
    for bad in (b"", b"[]", b"{}", b'{"offset":null}', b"{", b"\x01\x02"):
        with pytest.raises(ValueError):  # noqa: PT011
            input_offset(bad)


def test_snapshots_are_assembled_from_chunks_and_orphans_are_listed() -> None:
    settings = ModelSettings((Spec.parse("arow"),), n_features=2)
    model = Model(settings, 3)
    blob = write(model, model.save(), 8)
    head, tail = (chunk_key(3, 0), blob[:-20]), (chunk_key(3, 1), blob[-20:])
    mark, commit = (mark_key(3), b"5"), (commit_record_key(3), b"8")
    pairs = [tail, mark, head, head, tail, (b"other", b""), head, commit]
    written = [FakeRecord(i, *pair) for i, pair in enumerate(pairs)]
    snapshots = SnapshotReader(FakeLog(*written), settings)  # type: ignore[arg-type]
    found = snapshots.take()
    assert found is not None
    assert (found.where, found.first, found.chunks, found.offset) == ("OUT/3@3", 3, 2, 8)
    assert first_difference(found.saved, model.save()) is None
    assert snapshots.take() is None
    assert snapshots.orphans == ["OUT/3@0", "OUT/3@2", "OUT/3@5", "OUT/3@6"]
    assert snapshots.began == 5
    model.advance(records(encode_events(np.ones((1, 2)), np.ones(1), 0)))
    assert first_difference(found.saved, model.save()) == "expected 1 row learned, found 0"


@pytest.mark.parametrize("damaged", [b"", b"DWT1", b"DWT1\xff\xff\xff\xff{", b"DWT1\x02\x00\x00\x00{}" + bytes(16)])
def test_an_unreadable_first_chunk_is_a_damaged_snapshot(damaged: bytes) -> None:
    settings = ModelSettings((Spec.parse("arow"),), n_features=2)
    with pytest.raises(Mismatch, match="OUT/3@0: expected a snapshot of this model, found: the snapshot is damaged"):
        SnapshotReader(FakeLog(FakeRecord(0, chunk_key(3, 0), damaged)), settings).take()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [None, b"", b"imported", b"kept", b"12", b"imported {", b"imported [1]", b"imported 7"]
)
def test_a_history_mark_without_ends_has_none(value: bytes | None) -> None:
    assert read_output_ends(value) == {}


def test_the_mark_of_an_import_of_an_earlier_state_has_ends_of_outputs_and_no_offset() -> None:
    mark = imported_mark({"a": 7, "b": 0})
    assert read_output_ends(mark) == {"a": 7, "b": 0}
    assert read_mark(mark) is None
    assert imported_mark(None) == b"imported"
    assert read_output_ends(b'imported {"a":-1,"d":3}') == {}

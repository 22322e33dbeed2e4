"""What delivery reports prove and what they do not, and the record that a commit writes about itself."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from driftway.worker.kafka.confluent.delivery_reports import DeliveryReports
from driftway.worker.kafka.error_handling import DeliveryFailed, ErrorAction, UnconfirmedDelivery
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.snapshot_pointer import Pointer


def message(offset: int, topic: str = "t") -> Any:
    return SimpleNamespace(offset=lambda: offset, topic=lambda: topic)


def marked(*sizes: int, topic: str = "t") -> tuple[DeliveryReports, list[Any]]:
    """Return reports of batches of these sizes, and the delivery callbacks of the records that have one."""
    reports, callbacks = DeliveryReports(), []
    for size in sizes:
        records: list[dict[str, Any]] = [{"value": b""} for _ in range(size)]
        reports.mark(topic, records)
        callbacks += [record["callback"] for record in records if "callback" in record]
    return reports, callbacks


def test_only_the_first_record_and_the_last_of_each_batch_are_reported() -> None:
    _, callbacks = marked(100, 50, 1)
    assert len(callbacks) == 4
    assert len(marked(1)[1]) == 1


def test_offset_ranges_follow_from_the_reports() -> None:
    reports, (first, last, other) = marked(100, 50)
    for callback, offset in ((first, 7), (last, 106), (other, 158)):
        callback(None, message(offset))
    reports.mark_one("u")(None, message(3, "u"))
    assert reports.ranges({"t": 7, "u": 0}) == {"t": OffsetRange(7, 158, 150), "u": OffsetRange(3, 3, 1)}
    reports.clear()
    assert reports.ranges({}) == {}


@pytest.mark.parametrize(
    ("first", "last", "end"),
    [(6, 105, 7), (7, 105, 7), (-1001, -1001, 0), (-1, 98, 0), (200, 299, 300)],
    ids=["before the end", "too close together", "without offsets", "below 0", "an old batch"],
)
def test_impossible_reports_give_no_offset_range(first: int, last: int, end: int) -> None:
    reports, callbacks = marked(100)
    for callback, offset in zip(callbacks, (first, last), strict=True):
        callback(None, message(offset))
    with pytest.raises(UnconfirmedDelivery, match="100 records of t are reported at offsets"):
        reports.ranges({"t": end})


def test_missing_reports_give_no_offset_range() -> None:
    reports, _ = marked(2)
    with pytest.raises(UnconfirmedDelivery):
        reports.ranges({})


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, ErrorAction.FATAL),
        (KafkaError._FENCED, ErrorAction.FENCED),
        (KafkaError._MSG_TIMED_OUT, ErrorAction.ABORT),
        (KafkaError.NOT_ENOUGH_REPLICAS, ErrorAction.ABORT),
        (KafkaError.INVALID_MSG, ErrorAction.ABORT),
    ],
)
def test_any_record_that_is_refused_fails_the_commit(code: int, verdict: ErrorAction) -> None:
    """Not only if no retry helps: an output that timed out is missing too."""
    reports, (first, last) = marked(3)
    first(None, message(0))
    last(KafkaError(code), message(-1))
    with pytest.raises(DeliveryFailed, match="t cannot be written: ") as caught:
        reports.ranges({})
    assert caught.value.action is verdict


def test_reports_of_unmarked_records_are_refusals_or_nothing() -> None:
    reports = DeliveryReports()
    reports.note_failure(None, message(4))
    assert reports.ranges({}) == {}
    reports.note_failure(KafkaError(KafkaError._MSG_TIMED_OUT), message(5))
    with pytest.raises(DeliveryFailed):
        reports.ranges({})


WHOLE = CommitRecord(700, 500, Pointer(12, 3, 600), {"EVENTS.g.predictions": OffsetRange(4, 203, 200)})


@pytest.mark.parametrize(
    "position",
    [WHOLE, CommitRecord(700), CommitRecord(0, 0, None, {}), CommitRecord(9, 7, None, {}, rounds=3, set_aside_from=5)],
)
def test_a_commit_record_is_read_as_it_was_written(position: CommitRecord) -> None:
    assert CommitRecord.read(position.write()) == position


@pytest.mark.parametrize(
    ("value", "position"), [(b"500", CommitRecord(500, set_aside_from=500)), (b"0", CommitRecord(0))]
)
def test_a_commit_record_of_an_earlier_version_is_an_offset(value: bytes, position: CommitRecord) -> None:
    assert CommitRecord.read(value) == position


def test_earlier_versions_rejected_every_event_whose_label_could_not_be_used() -> None:
    """They wrote no `set_aside_from`: all before their last commit was theirs."""
    fields = json.loads(WHOLE.write())
    del fields["set_aside_from"]
    found = CommitRecord.read(json.dumps(fields).encode())
    assert found is not None
    assert found.set_aside_from == 700


STRANGE = b'{"offset":"a","previous":null,"pointer":null,"outputs":{}}'


@pytest.mark.parametrize("value", [None, b"", b"x", b"[]", b"{}", b'{"offset":1}', STRANGE])
def test_an_unreadable_commit_record_is_none(value: bytes | None) -> None:
    assert CommitRecord.read(value) is None

"""What delivery reports prove, and what they do not; and the record that a commit leaves of itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from driftway.worker.kafka.confluent.delivery_reports import Reports
from driftway.worker.kafka.error_handling import Undelivered, Unproven, Verdict
from driftway.worker.kafka.interface import Span
from driftway.worker.state.changelog.commit_record import Position
from driftway.worker.state.snapshot import Pointer


def message(offset: int, topic: str = "t") -> Any:
    return SimpleNamespace(offset=lambda: offset, topic=lambda: topic)


def marked(*sizes: int, topic: str = "t") -> tuple[Reports, list[Any]]:
    """Reports of batches of these sizes, and the callbacks of the records that have one."""
    reports, callbacks = Reports(), []
    for size in sizes:
        records: list[dict[str, Any]] = [{"value": b""} for _ in range(size)]
        reports.mark(topic, records)
        callbacks += [record["callback"] for record in records if "callback" in record]
    return reports, callbacks


def test_only_the_first_record_and_the_last_of_each_batch_are_reported() -> None:
    _, callbacks = marked(100, 50, 1)
    assert len(callbacks) == 4
    assert len(marked(1)[1]) == 1


def test_spans_are_where_the_reports_say() -> None:
    reports, (first, last, other) = marked(100, 50)
    for callback, offset in ((first, 7), (last, 106), (other, 158)):
        callback(None, message(offset))
    reports.one("u")(None, message(3, "u"))
    assert reports.spans({"t": 7, "u": 0}) == {"t": Span(7, 158, 150), "u": Span(3, 3, 1)}
    reports.clear()
    assert reports.spans({}) == {}


@pytest.mark.parametrize(
    ("first", "last", "end"),
    [(6, 105, 7), (7, 105, 7), (-1001, -1001, 0), (-1, 98, 0), (200, 299, 300)],
    ids=["before the end", "too close together", "without offsets", "below 0", "an old batch"],
)
def test_reports_that_cannot_be_true_prove_nothing(first: int, last: int, end: int) -> None:
    reports, callbacks = marked(100)
    for callback, offset in zip(callbacks, (first, last), strict=True):
        callback(None, message(offset))
    with pytest.raises(Unproven, match="100 records of t are said to be at offsets"):
        reports.spans({"t": end})


def test_what_was_never_reported_proves_nothing() -> None:
    reports, _ = marked(2)
    with pytest.raises(Unproven):
        reports.spans({})


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, Verdict.FATAL),
        (KafkaError._FENCED, Verdict.FENCED),
        (KafkaError._MSG_TIMED_OUT, Verdict.ABORT),
        (KafkaError.NOT_ENOUGH_REPLICAS, Verdict.ABORT),
        (KafkaError.INVALID_MSG, Verdict.ABORT),
    ],
)
def test_any_record_that_is_refused_fails_the_commit(code: int, verdict: Verdict) -> None:
    """Not only where no retry helps: an output that timed out is missing too."""
    reports, (first, last) = marked(3)
    first(None, message(0))
    last(KafkaError(code), message(-1))
    with pytest.raises(Undelivered, match="t cannot be written: ") as caught:
        reports.spans({})
    assert caught.value.verdict is verdict


def test_reports_of_unmarked_records_are_refusals_or_nothing() -> None:
    reports = Reports()
    reports.note_refusal(None, message(4))
    assert reports.spans({}) == {}
    reports.note_refusal(KafkaError(KafkaError._MSG_TIMED_OUT), message(5))
    with pytest.raises(Undelivered):
        reports.spans({})


WHOLE = Position(700, 500, Pointer(12, 3, 600), {"EVENTS.g.predictions": Span(4, 203, 200)})


@pytest.mark.parametrize(
    "position", [WHOLE, Position(700), Position(0, 0, None, {}), Position(9, 7, None, {}, meetings=3)]
)
def test_position_is_read_as_it_was_written(position: Position) -> None:
    assert Position.read(position.write()) == position


@pytest.mark.parametrize(("value", "position"), [(b"500", Position(500)), (b"0", Position(0))])
def test_position_of_before_it_said_more_is_an_offset(value: bytes, position: Position) -> None:
    assert Position.read(value) == position


STRANGE = b'{"offset":"a","previous":null,"pointer":null,"outputs":{}}'


@pytest.mark.parametrize("value", [None, b"", b"x", b"[]", b"{}", b'{"offset":1}', STRANGE])
def test_position_that_cannot_be_read_is_none(value: bytes | None) -> None:
    assert Position.read(value) is None

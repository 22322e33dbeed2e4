"""Reading a partition as columns: where it ends, what is left out, and which errors are raised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from driftway.worker.kafka.interface import ClientError, Fetcher, PollResult
from driftway.worker.kafka.log_reader.reader import ignore_out_of_range, raise_errors
from driftway.worker.kafka.log_reader.records import RecordReader
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records

TOPIC_PARTITION = "t", 2
END_OF_LOG, NO_OFFSET = KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET


class Deliveries(Fetcher):
    """Returns the given poll results one after the other, as a client does."""

    def __init__(self, *deliveries: PollResult) -> None:
        self._deliveries = list(deliveries)
        self.sent: list[Mapping[int, int]] = []

    def assign(self, begins: Mapping[int, int]) -> None:
        self.sent.append(begins)

    def poll(self, max_messages: int, wait: float) -> PollResult:
        return self._deliveries.pop(0) if self._deliveries else PollResult([], [])

    def close(self) -> None:
        self._deliveries.clear()


def records(*offsets: int, partition: int = 2) -> Records:
    n = len(offsets)
    values, keys = ListColumn([b"%d" % offset for offset in offsets]), ListColumn([None] * n)
    return Records(partition, np.array(offsets), values, keys, [0] * n)


def problem(code: int, offset: int = OFFSET_INVALID) -> ClientError:
    return ClientError(KafkaError(code), 2, offset)


def offsets(reader: RecordReader) -> list[int] | None:
    found = reader.poll(0.0)
    return None if found is None else found.offsets.tolist()


def reading(*deliveries: PollResult, first: int = 0, end: int = 10) -> RecordReader:
    return RecordReader(Deliveries(*deliveries), TOPIC_PARTITION, first, end, raise_errors)


def test_a_reader_starts_at_its_offset_and_stops_at_its_bound() -> None:
    fetcher = Deliveries(PollResult([records(3, 5)], []), PollResult([records(8, 9, 11)], []))
    reader = RecordReader(fetcher, TOPIC_PARTITION, 3, 10, raise_errors)
    assert fetcher.sent == [{2: 3}]
    assert [offsets(reader), bool(reader.unread), offsets(reader), bool(reader.unread)] == [[3, 5], True, [8, 9], False]
    assert offsets(reader) is None


def test_an_empty_range_requests_nothing() -> None:
    fetcher = Deliveries()
    assert not RecordReader(fetcher, TOPIC_PARTITION, 4, 4, raise_errors).unread
    assert fetcher.sent == []


def test_a_range_may_contain_only_markers() -> None:
    reader = reading(PollResult([records(6)], [problem(END_OF_LOG, 10)]))
    assert offsets(reader) == [6]
    assert not reader.unread


@pytest.mark.parametrize(("log_end", "done"), [(7, True), (3, False), (6, False)])
def test_an_end_of_partition_before_later_records_is_ignored(log_end: int, done: bool) -> None:
    reader = reading(PollResult([records(4, 5, 6)], [problem(END_OF_LOG, log_end)]))
    assert offsets(reader) == [4, 5, 6]
    assert (reader.done, bool(reader.unread)) == (done, True)


def test_a_record_beyond_the_bound_ends_the_reading() -> None:
    reader = reading(PollResult([records(12)], []))
    assert offsets(reader) is None
    assert not reader.unread


def test_records_of_another_partition_are_ignored() -> None:
    assert offsets(reading(PollResult([records(1, partition=0)], []))) is None


@pytest.mark.parametrize("found", [[], [records(1)]])
@pytest.mark.parametrize("offset", [OFFSET_INVALID, 0])
def test_every_other_error_is_raised(found: Sequence[Records], offset: int) -> None:
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        reading(PollResult(list(found), [problem(KafkaError.TOPIC_AUTHORIZATION_FAILED, offset)])).poll(0.0)


def test_a_log_that_ends_before_the_first_offset_has_ended() -> None:
    reader = RecordReader(Deliveries(PollResult([], [problem(NO_OFFSET)])), TOPIC_PARTITION, 5, 10, ignore_out_of_range)
    assert offsets(reader) is None
    assert reader.done

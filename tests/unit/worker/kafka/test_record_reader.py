"""A partition that is read as columns: where it is over, what is left out, and which errors are heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from driftway.worker.kafka.interface import Fetcher, Problem, Taken
from driftway.worker.kafka.log_reader.reader import strict, to_the_end
from driftway.worker.kafka.log_reader.records import RecordReader
from driftway.worker.wire.columns import Listed
from driftway.worker.wire.events import Records

PLACE = "t", 2
END_OF_LOG, NO_OFFSET = KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET


class Deliveries(Fetcher):
    """What a client hands over, one after the other."""

    def __init__(self, *deliveries: Taken) -> None:
        self._deliveries = list(deliveries)
        self.sent: list[Mapping[int, int]] = []

    def send_to(self, begins: Mapping[int, int]) -> None:
        self.sent.append(begins)

    def take(self, most: int, wait: float) -> Taken:
        return self._deliveries.pop(0) if self._deliveries else Taken([], [])

    def close(self) -> None:
        self._deliveries.clear()


def records(*offsets: int, partition: int = 2) -> Records:
    n = len(offsets)
    values, keys = Listed([b"%d" % offset for offset in offsets]), Listed([None] * n)
    return Records(partition, np.array(offsets), values, keys, [0] * n)


def problem(code: int, offset: int = OFFSET_INVALID) -> Problem:
    return Problem(KafkaError(code), 2, offset)


def offsets(reader: RecordReader) -> list[int] | None:
    found = reader.take(0.0)
    return None if found is None else found.offsets.tolist()


def reading(*deliveries: Taken, first: int = 0, end: int = 10) -> RecordReader:
    return RecordReader(Deliveries(*deliveries), PLACE, first, end, strict)


def test_it_is_sent_to_its_place_and_reads_up_to_its_bound() -> None:
    fetcher = Deliveries(Taken([records(3, 5)], []), Taken([records(8, 9, 11)], []))
    reader = RecordReader(fetcher, PLACE, 3, 10, strict)
    assert fetcher.sent == [{2: 3}]
    assert [offsets(reader), bool(reader.unread), offsets(reader), bool(reader.unread)] == [[3, 5], True, [8, 9], False]
    assert offsets(reader) is None


def test_nothing_is_asked_for_where_nothing_is_wanted() -> None:
    fetcher = Deliveries()
    assert not RecordReader(fetcher, PLACE, 4, 4, strict).unread
    assert fetcher.sent == []


def test_markers_may_be_all_that_is_left() -> None:
    reader = reading(Taken([records(6)], [problem(END_OF_LOG, 10)]))
    assert offsets(reader) == [6]
    assert not reader.unread


@pytest.mark.parametrize(("told", "done"), [(7, True), (3, False), (6, False)])
def test_an_end_behind_which_records_came_is_none(told: int, done: bool) -> None:
    reader = reading(Taken([records(4, 5, 6)], [problem(END_OF_LOG, told)]))
    assert offsets(reader) == [4, 5, 6]
    assert (reader.done, bool(reader.unread)) == (done, True)


def test_records_beyond_the_bound_end_it() -> None:
    reader = reading(Taken([records(12)], []))
    assert offsets(reader) is None
    assert not reader.unread


def test_records_of_another_partition_are_not_taken() -> None:
    assert offsets(reading(Taken([records(1, partition=0)], []))) is None


@pytest.mark.parametrize("found", [[], [records(1)]])
@pytest.mark.parametrize("offset", [OFFSET_INVALID, 0])
def test_every_other_error_is_heard(found: Sequence[Records], offset: int) -> None:
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        reading(Taken(list(found), [problem(KafkaError.TOPIC_AUTHORIZATION_FAILED, offset)])).take(0.0)


def test_a_log_that_does_not_reach_to_the_beginning_has_ended() -> None:
    reader = RecordReader(Deliveries(Taken([], [problem(NO_OFFSET)])), PLACE, 5, 10, to_the_end)
    assert offsets(reader) is None
    assert reader.done

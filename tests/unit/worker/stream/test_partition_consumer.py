"""Which rows from the client are accepted, and that no client call can block the worker forever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from driftway.worker.kafka.confluent.member import ConfluentMember
from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.background import call as calls
from driftway.worker.stream.consumer import partition_consumer
from driftway.worker.stream.consumer.batch_size import FIRST_BATCH
from driftway.worker.stream.consumer.partition_consumer import PartitionConsumer
from driftway.worker.stream.observability.event_log import EventLog
from tests.unit.worker.rows import model_settings


def row(partition: int, offset: int) -> Message:
    return Message(topic="events", partition=partition, offset=offset, value=b"?", key=None, error=None)


def end(partition: int, offset: int) -> Message:
    return Message(topic="events", partition=partition, offset=offset, error=KafkaError(KafkaError._PARTITION_EOF))


class ScriptedClient:
    """A client that returns the given batches and records the calls made to it."""

    def __init__(self, *batches: list[Message]) -> None:
        self.batches = [*batches]
        self.client_calls: list[tuple[str, int, int]] = []
        self.refuses = False
        self.problems: list[Any] = []

    def poll(self, wait: float) -> Message | None:
        self.now = self.batches.pop(0) if self.batches else []
        return self.now[0] if self.now else None

    def consume(self, n: int, timeout: float) -> list[Message]:
        assert len(self.now) <= n + 1
        return self.now[1:]

    def seek(self, topic_partition: Any) -> None:
        if self.refuses:
            raise KafkaException(KafkaError(KafkaError._STATE))
        self.client_calls.append(("seek", topic_partition.partition, topic_partition.offset))

    def resume(self, topic_partitions: Any) -> None:
        self.client_calls += [("resume", one.partition, -1) for one in topic_partitions]

    def pause(self, topic_partitions: Any) -> None:
        self.client_calls += [("pause", one.partition, -1) for one in topic_partitions]


def consumer_of(consumer: Any) -> PartitionConsumer:
    """Return a consumer whose client is replaced by `consumer`."""
    settings = WorkerSettings("127.0.0.1:1", "events", "g", model_settings("no_change"))
    found = PartitionConsumer(settings, EventLog(), *[lambda partitions: None] * 3)
    found.member.close()
    found.member = ConfluentMember(consumer, "events", incremental=False)
    return found


def taken(one: PartitionConsumer) -> dict[int, list[int]]:
    return {records.partition: records.offsets.tolist() for records in one.poll(0.0)}


class ClientWithCallback(ScriptedClient):
    """Returns rows 28.. of partition 3 and 5.. of partition 1, and runs a callback in between, as a rebalance does."""

    def __init__(self, callback: Callable[[], Any]) -> None:
        super().__init__([row(3, 28), row(3, 29), row(1, 5), row(1, 6)])
        self.callback = callback

    def consume(self, n: int, timeout: float) -> list[Message]:
        self.callback()
        return super().consume(n, timeout)


@pytest.mark.parametrize("goes_back", [False, True])
def test_rows_collected_before_a_callback_that_seeks_back_are_dropped(goes_back: bool) -> None:
    """Accepting rows 28 and 29 after the seek would leave offsets 0..27 of partition 3 unpredicted."""
    consumer = ClientWithCallback(lambda: one.seek_and_resume(3, 0) if goes_back else None)
    one = consumer_of(consumer)
    assert taken(one) == ({1: [5, 6]} if goes_back else {1: [5, 6], 3: [28, 29]})
    if goes_back:
        assert ("seek", 3, 0) in consumer.client_calls


def test_rows_from_other_offsets_than_sought_are_dropped() -> None:
    """The client has lost a seek: accepting offset 40 would leave rows 10..39 unpredicted."""
    consumer = ScriptedClient([row(0, 40), row(0, 41), row(1, 7)], [row(0, 42)], [row(0, 10), row(0, 11)])
    one = consumer_of(consumer)
    assert one.seek_and_resume(0, 10)
    assert taken(one) == {1: [7]}
    assert one.misplaced == {0: (10, 40)}
    assert consumer.client_calls[-1] == ("pause", 0, -1)
    assert taken(one) == {}, "nor what comes before the pause takes effect"
    assert one.seek_and_resume(0, 10)
    assert one.misplaced == {}
    assert taken(one) == {0: [10, 11]}


def test_rows_from_before_the_sought_offset_are_dropped_too() -> None:
    one = consumer_of(ScriptedClient([row(0, 9), row(0, 10)]))
    one.seek_and_resume(0, 10)
    assert taken(one) == {}
    assert one.misplaced == {0: (10, 9)}


def test_an_end_of_partition_counts_only_at_the_sought_position() -> None:
    """Otherwise a worker with --stop-at-end would stop with rows unread."""
    one = consumer_of(ScriptedClient([end(0, 90), end(1, 20)]))
    one.seek_and_resume(0, 10)
    one.seek_and_resume(1, 20)
    assert taken(one) == {}
    assert one.at_end == {1}
    assert one.misplaced == {0: (10, 90)}


def test_end_of_a_partition_may_come_with_all_its_rows() -> None:
    """A short log comes in one poll, behind the seek: its end is no row from elsewhere."""
    one = consumer_of(ScriptedClient([row(0, 10), row(0, 11), end(0, 12)], [row(1, 7), end(1, 8)]))
    one.seek_and_resume(0, 10)
    assert taken(one) == {0: [10, 11]}
    assert (one.at_end, one.misplaced) == ({0}, {})
    one.seek_and_resume(1, 3)
    assert taken(one) == {}
    assert (one.at_end, one.misplaced) == ({0}, {1: (3, 7)}), "the end of what was not asked for"


def test_end_of_a_partition_that_a_callback_moved_does_not_count() -> None:
    consumer = ClientWithCallback(lambda: one.seek_and_resume(3, 0))
    consumer.batches[0].append(end(3, 30))
    one = consumer_of(consumer)
    assert taken(one) == {1: [5, 6]}
    assert (one.at_end, one.misplaced) == (set(), {})


def test_offsets_without_a_row_are_counted_but_not_those_of_a_seek() -> None:
    one = consumer_of(ScriptedClient([row(0, 10), row(0, 12)], [row(0, 15)], [row(0, 3), row(0, 4)], [row(0, 5)]))
    one.seek_and_resume(0, 10)
    taken(one), taken(one)
    assert one.skipped_offsets == {0: 1 + 2}
    one.seek_and_resume(0, 3)
    taken(one), taken(one)
    assert one.skipped_offsets == {0: 3}


def test_a_partition_is_resumed_before_it_is_sought() -> None:
    """After a seek the client's fetching thread sleeps for a second if the partition is still paused."""
    consumer = ScriptedClient([row(0, 10), row(0, 11)])
    one = consumer_of(consumer)
    one.seek_and_resume(0, 10)
    assert consumer.client_calls == [("resume", 0, -1), ("seek", 0, 10)]
    one.resume(0)
    assert consumer.client_calls[2:] == [("resume", 0, -1), ("seek", 0, 10)]
    taken(one)
    one.pause(0)
    one.resume(0)
    assert consumer.client_calls[4:] == [("pause", 0, -1), ("resume", 0, -1), ("seek", 0, 12)]


def test_a_refused_seek_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    consumer = ScriptedClient()
    one = consumer_of(consumer)
    consumer.refuses = True
    assert not one.seek_and_resume(2, 5)


def test_a_callback_of_the_client_never_calls_it_from_another_thread() -> None:
    """The client admits one thread at a time, so such a call would deadlock."""
    consumer = ClientWithCallback(lambda: (one.pause(3), one.resume(1)))
    one = consumer_of(consumer)
    inside: list[str] = []
    consumer.callback = lambda: (one.pause(3), one.resume(1), inside.extend(map(str, consumer.client_calls)))
    taken(one)
    assert not inside
    assert consumer.client_calls == [("pause", 3, -1), ("resume", 1, -1)]


def test_a_seek_that_does_not_return_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seek has no timeout, and a client that is stuck in one can no longer be used."""
    monkeypatch.setattr(partition_consumer, "SEEK_SECONDS", 0.1)
    go_on, sentences = threading.Event(), []

    class WorkerEnded(BaseException):
        pass

    def ended(sentence: str) -> None:
        sentences.append(sentence)
        raise WorkerEnded

    monkeypatch.setattr(calls, "end_process", ended)
    consumer = ScriptedClient()
    consumer.seek = lambda topic_partition: go_on.wait(10)  # type: ignore[method-assign]
    one = consumer_of(consumer)
    try:
        with pytest.raises(WorkerEnded):
            one.seek_and_resume(0, 5)
    finally:
        go_on.set()
    assert sentences == ["the client did not return from a seek of events/0"]


def test_polls_wait_for_more_rows_after_small_batches_but_not_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a full batch, more rows are already waiting; after an empty one, the client itself waits for one."""
    slept: list[float] = []
    monkeypatch.setattr(partition_consumer.time, "sleep", slept.append)
    full = [row(0, offset) for offset in range(FIRST_BATCH)]
    rest = [row(0, offset) for offset in range(FIRST_BATCH, FIRST_BATCH + 3)]
    one = consumer_of(ScriptedClient(full, rest, [], [row(0, FIRST_BATCH + 3)]))
    for wait in (1.0, 1.0, 1.0, 1.0):
        one.poll(wait)
    assert slept == [partition_consumer.GATHER_SECONDS], "only after the second batch"
    one.poll(0.003)
    assert slept[1:] == [0.003]

"""Broker operations of tests: create topics, produce, read back. Timeouts report what was last seen."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from driftway.worker.kafka.client_config import quiet
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import query
from driftway.worker.kafka.log_reader.reader import watermarks
from driftway.worker.kafka.topics import await_leaders

Seen = TypeVar("Seen")
END_SECONDS = 30.0


class Record(NamedTuple):
    """A consumed record."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def unique(prefix: str) -> str:
    """A unique name for a topic or group."""
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


def await_until(condition: Callable[[], Seen], seconds: float, what: str, poll: float = 0.02) -> Seen:
    """Call `condition` until it returns something true and return that; fail with what it returned last.

    Between the calls it waits for `poll` seconds, and at least as long as a call took: some make a client each time.
    """
    deadline = time.monotonic() + seconds
    while True:
        asked = time.monotonic()
        seen = condition()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}; last seen: {seen!r}")
        time.sleep(max(poll, time.monotonic() - asked))


def admin(bootstrap: str) -> Any:
    """A quiet admin client."""
    from confluent_kafka.admin import AdminClient

    return AdminClient(quiet({"bootstrap.servers": bootstrap}))


def create_topic(
    bootstrap: str, topic: str, partitions: int = 1, replicas: Sequence[int] | None = None, **config: str
) -> str:
    """Create `topic`, on the brokers `replicas` if given, and wait until it is writable.

    In the names of settings, _ stands for a dot.
    """
    create_topics(bootstrap, {topic: TopicSpec(partitions, replicas, config)})
    return topic


class TopicSpec(NamedTuple):
    """A topic to create; in the names of settings, _ stands for a dot."""

    partitions: int = 1
    replicas: Sequence[int] | None = None
    config: Mapping[str, str] = {}


def create_topics(bootstrap: str, topics: Mapping[str, TopicSpec]) -> None:
    """Create topics in one request, which takes hardly longer than one topic, and wait until they are writable."""
    from confluent_kafka.cimpl import NewTopic

    client, requests = admin(bootstrap), []
    for name, (partitions, replicas, config) in topics.items():
        settings = {key.replace("_", "."): value for key, value in config.items()}
        placed = {} if replicas is None else {"replica_assignment": [list(replicas)] * partitions}
        requests.append(NewTopic(name, partitions, config=settings, **placed))
    for future in client.create_topics(requests).values():
        future.result(timeout=END_SECONDS)
    await_leaders(client, {name: topic.partitions for name, topic in topics.items()})


def empty(bootstrap: str, topic: str, partitions: int) -> None:
    """Delete a topic, and create it again."""
    client = admin(bootstrap)  # keep a reference: a collected client never answers
    client.delete_topics([topic])[topic].result(timeout=END_SECONDS)
    await_until(lambda: topic not in client.list_topics(timeout=10).topics, END_SECONDS, f"{topic} gone")
    create_topic(bootstrap, topic, partitions)


def truncate(bootstrap: str, topic: str, partitions: int, low: int) -> None:
    """Delete the records below offset `low` of every partition, as retention does."""
    from confluent_kafka import TopicPartition

    client = admin(bootstrap)  # keep a reference: a collected client never answers
    for future in client.delete_records([TopicPartition(topic, p, low) for p in range(partitions)]).values():
        future.result(timeout=END_SECONDS)


class Deliveries:
    """Errors of a producer's delivery reports."""

    def __init__(self) -> None:
        self._failed: list[str] = []

    def report(self, error: Any, _message: Any) -> None:
        """Delivery callback."""
        if error is not None:
            self._failed.append(str(error))

    def require_all(self, producer: Any, topic: str) -> None:
        """Wait until all records are acknowledged; fail if one was not written."""
        left = producer.flush(END_SECONDS)
        assert not left, f"{left} records of {topic} not acknowledged within {END_SECONDS:.0f} s"
        assert not self._failed, f"{len(self._failed)} records of {topic} failed, first: {self._failed[0]}"


def produce(
    bootstrap: str,
    topic: str,
    values: Sequence[bytes | None],
    partition: int = 0,
    keys: Sequence[bytes | None] | None = None,
    headers: Sequence[list[tuple[str, bytes]]] | None = None,
    timestamp: int = 0,
) -> None:
    """Write `values` in order to one partition and wait until all are acknowledged; `timestamp` 0 is now, -1 none."""
    from confluent_kafka import Producer

    deliveries = Deliveries()
    producer = Producer(quiet({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2}))
    for number, value in enumerate(values):
        more = {"timestamp": timestamp} | ({} if headers is None else {"headers": headers[number]})
        key = None if keys is None else keys[number]
        while True:
            try:
                producer.produce(topic, value, key, partition, on_delivery=deliveries.report, **more)
                break
            except BufferError:
                producer.poll(0.1)
    deliveries.require_all(producer, topic)


def java_hash(text: str) -> int:
    """Java's hash of a string, without its sign: with it Kafka chooses a coordinator's partition."""
    number = 0
    for character in text:
        number = (31 * number + ord(character)) % 2**32
    return abs(number - 2**32 if number >= 2**31 else number)


def refusal(bootstrap: str, topic: str) -> str:
    """Name of the error with which a broker refuses a record for partition 0 at the first attempt; empty if none."""
    from confluent_kafka import Producer

    errors: list[Any] = []
    producer = Producer(
        quiet({"bootstrap.servers": bootstrap, "retries": 0, "acks": "all", "request.timeout.ms": 2000})
    )
    producer.produce(topic, b"", partition=0, on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(END_SECONDS) == 0
    return "" if errors[0] is None else str(errors[0].name())


def read_all(bootstrap: str, topic: str, committed: bool = True, seconds: float = END_SECONDS) -> list[Record]:
    """Read all records up to the current end, by partition and offset.

    With `committed`, as a read_committed reader: up to the last stable offset, without waiting for open transactions.
    The reader joins no group, so it commits nothing and causes no rebalance.
    """
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        quiet(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "nobody",  # required by the client, never joined: assign() only
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.queue.backoff.ms": 5,
            }
        )
    )
    try:
        found = consumer.list_topics(topic, timeout=10).topics[topic]
        assert found.error is None, f"{topic}: {found.error}"
        starts = []
        for number in found.partitions:
            low, _ = watermarks(consumer, topic, number, Deadline(10))
            starts.append(TopicPartition(topic, number, low))
        consumer.assign(starts)
        open_partitions, records = set(found.partitions), []
        deadline = time.monotonic() + seconds
        while open_partitions:
            for message in consumer.consume(10_000, timeout=0.1):
                error = message.error()
                if error is None:
                    records.append(_record(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_partitions.discard(message.partition())
                else:
                    raise AssertionError(f"reading {topic}: {error}")
            assert time.monotonic() < deadline, (
                f"{topic}: no end of {sorted(open_partitions)} in {seconds:.0f} s, {len(records)} records read"
            )
    finally:
        consumer.close()
    return sorted(records, key=lambda record: record[:2])


def _record(message: Any) -> Record:
    headers = list(message.headers() or [])
    return Record(message.partition(), message.offset(), message.key(), message.value(), headers)


def committed_offset(bootstrap: str, group: str, topic: str, partition: int = 0) -> tuple[int, str]:
    """Committed offset of `group` (-1001 if none) and its metadata.

    Not through an AdminClient: it aborts the process if the group's coordinator has just started (librdkafka 5040).
    """
    from confluent_kafka import Consumer, TopicPartition

    own = {"group.id": group, "enable.auto.commit": False, "isolation.level": "read_uncommitted"}
    reader = Consumer(quiet({"bootstrap.servers": bootstrap, **own}))  # does not wait for open transactions
    try:
        place = TopicPartition(topic, partition)
        (found,) = query(lambda: reader.committed([place], END_SECONDS), Deadline(END_SECONDS))
    finally:
        reader.close()
    return found.offset, found.metadata or ""

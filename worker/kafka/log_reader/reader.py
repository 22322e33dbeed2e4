"""Bounded reading of logs without joining a group, and queries for watermarks and committed offsets."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message, TopicPartition

from driftway.worker.errors import Failure, Unreachable
from driftway.worker.kafka.client_config import (
    READER,
    THROTTLING,
    ClientConfig,
    Properties,
    base_properties,
    without_membership,
)
from driftway.worker.kafka.confluent.consumer import WatchedConsumer, make_consumer
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut, explained, is_permanent, query, with_context
from driftway.worker.kafka.topics import partition_counts

READER_TUNING: Properties = {
    # A fetch at a log's end blocks this long, and so do all requests behind it: with 10 they take 14 ms instead of 3.
    "fetch.wait.max.ms": 1,
    # Prefetched snapshots; the client's default is four times as much, for each restore.
    "queued.max.messages.kbytes": 16_384,
}
COMMITTED, ANY = "read_committed", "read_uncommitted"
"""Isolation levels of readers."""
ASK_SECONDS, PROMPT_SECONDS = 30.0, 3.0
"""How long to ask for a committed offset; and how long before looking whether the principal may ask at all."""
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 10.0
"""How long to wait for an open transaction: commit markers reach the topics a moment after the offset."""
SILENT_SECONDS = 60.0
"""How long a broker may deliver nothing, not even the end of the log, before it counts as gone."""

PartitionId = tuple[str, int]
"""Topic and partition."""
ErrorHandler = Callable[[PartitionId, KafkaError], None]
"""Called with an error delivered in place of a message; raises, or returns to go on reading."""


def unreadable(topic: str, partition: int, error: KafkaError) -> KafkaException:
    """Return a reader's error with topic and partition in its message."""
    return with_context(f"{topic}/{partition} cannot be read", error)


def raise_errors(topic_partition: PartitionId, error: KafkaError) -> None:
    """Raise every error."""
    raise unreadable(*topic_partition, error)


def ignore_out_of_range(topic_partition: PartitionId, error: KafkaError) -> None:
    """Treat an offset out of range as the end of the log; raise all other errors."""
    if error.code() != KafkaError._AUTO_OFFSET_RESET:
        raise unreadable(*topic_partition, error)


def error_handler(where: str, lost: str = "") -> ErrorHandler:
    """Make a handler that raises Failure on permanent errors, with the message `lost` if the offset is out of range."""
    lost = lost or f"{where} has lost its beginning while it was being read: run this again"

    def complain(_topic_partition: PartitionId, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise Failure(lost)
        if is_permanent(error):
            raise Failure(f"cannot read {where}: {explained(error)}")

    return complain


class BoundedRead:
    """Progress of reading partitions up to their bounds or the ends of their logs.

    Parameters
    ----------
    begins : mapping
        Partition -> offset of the first record.
    ends : mapping
        Partition -> bound: offset of the first record to leave out. A partition without an entry has no bound.
    on_error : ErrorHandler
        Called with errors.
    """

    def __init__(
        self, begins: Mapping[PartitionId, int], ends: Mapping[PartitionId, int], on_error: ErrorHandler
    ) -> None:
        self._on_error, self._ends = on_error, ends
        self.unread = {one for one, first in begins.items() if one not in ends or first < ends[one]}
        """Partitions whose bound is not reached yet."""
        self.at_end: dict[PartitionId, int | None] = {}
        """Partition -> end of its log, until a later record arrives; None if the offset was out of range."""
        self._progress_at = time.monotonic()

    @property
    def done(self) -> bool:
        """Whether every partition has been read to its bound or to the end of its log."""
        return self.unread <= self.at_end.keys()

    @property
    def silent_seconds(self) -> float:
        """Seconds since a record arrived or the end of a log was reached."""
        return time.monotonic() - self._progress_at

    def require_progress(self, bootstrap: str, where: str) -> None:
        """Check that the broker still delivers.

        Raises
        ------
        Unreachable
            Nothing has arrived for SILENT_SECONDS.
        """
        if (silent := self.silent_seconds) > SILENT_SECONDS:
            raise Unreachable(
                f"the broker at {bootstrap} has delivered no records of {where} for {silent:.0f} s{THROTTLING.words}"
            )

    def is_over(self, bootstrap: str, where: str) -> bool:
        """Whether nothing is left: all bounds were reached, or nothing came behind the ends of logs for a while.

        Raises
        ------
        Unreachable
            As `require_progress`.
        """
        if not self.unread or (self.done and self.silent_seconds > PATIENCE_SECONDS):
            return True
        self.require_progress(bootstrap, where)
        return False

    def _note_record(self, topic_partition: PartitionId, offset: int, now: float) -> bool:
        """Note that a partition has been read up to this record; return whether the record is within the bound."""
        end = self._ends.get(topic_partition)
        self._progress_at = now
        self.at_end.pop(topic_partition, None)
        if end is not None and offset >= end - 1:
            self.unread.discard(topic_partition)
        return end is None or offset < end

    def _note_error(self, topic_partition: PartitionId, offset: int | None, error: KafkaError, now: float) -> None:
        """Note the end of a log, or pass an error to the handler."""
        end = self._ends.get(topic_partition)
        if error.code() != KafkaError._PARTITION_EOF:
            self._on_error(topic_partition, error)
            if error.code() == KafkaError._AUTO_OFFSET_RESET:
                self.at_end[topic_partition] = None
            return
        if topic_partition not in self.at_end:
            self._progress_at = now
        self.at_end[topic_partition] = offset
        if end is not None and (offset or 0) >= end:  # only markers or aborted records may be left
            self.unread.discard(topic_partition)


class MessageReader(BoundedRead):
    """Reads bounded parts of partitions as messages.

    Parameters
    ----------
    consumer : Consumer
        Not a group member; reports the ends of partitions.
    begins, ends, on_error
        As `BoundedRead`.
    """

    def __init__(
        self,
        consumer: Consumer,
        begins: Mapping[PartitionId, int],
        ends: Mapping[PartitionId, int] | None = None,
        on_error: ErrorHandler = raise_errors,
    ) -> None:
        super().__init__(begins, ends or {}, on_error)
        self._consumer = consumer
        if self.unread:
            consumer.assign([TopicPartition(*one, begins[one]) for one in sorted(self.unread)])

    def poll(self, seconds: float, max_messages: int = BATCH_MESSAGES) -> list[Message]:
        """Return the records that have arrived, after waiting up to `seconds` for the first."""
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        now, arrived = time.monotonic(), []
        for message in [first, *self._consumer.consume(max_messages - 1, timeout=0)] if max_messages > 1 else [first]:
            topic_partition, error = (message.topic() or "", message.partition() or 0), message.error()
            if error is not None:
                self._note_error(topic_partition, message.offset(), error, now)
            elif self._note_record(topic_partition, message.offset() or 0, now):
                arrived.append(message)
        return arrived

    def next(self, deadline: Deadline, what: str) -> Message | None:
        """Return the next record; None at the bound or at the end of the log.

        Raises
        ------
        TimedOut
            It did not arrive in time; `what` begins the message.
        """
        while not (arrived := self.poll(min(1.0, deadline.remaining()), 1)):
            if self.done:
                return None
            if deadline.passed:
                raise TimedOut(f"{what} not delivered in time{THROTTLING.words}")
        return arrived[0]


def open_reader(config: ClientConfig, level: str = COMMITTED, tuning: Properties | None = None) -> WatchedConsumer:
    """Create a consumer that reads the group's offsets and the snapshot topic without joining the group.

    The member itself cannot be used: its client allows one call at a time, and the main loop is always polling.
    """
    return make_consumer(reader_properties(config, level, tuning))


def reader_properties(config: ClientConfig, level: str = COMMITTED, tuning: Properties | None = None) -> Properties:
    """Return the properties of a consumer with the group's id that does not join the group."""
    own = {
        "group.id": config.group,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "isolation.level": level,
    }
    theirs = without_membership(base_properties(config.bootstrap, config.passthrough))
    return {**READER_TUNING, **(tuning or {}), **theirs, **own}


def standalone_consumer(given: Properties, tuning: Properties, reset: str = "error") -> WatchedConsumer:
    """Create a consumer that reads whole logs outside any group; `given` are the user's properties."""
    return make_consumer(standalone_properties(given, tuning, reset))


def standalone_properties(given: Properties, tuning: Properties, reset: str = "error") -> Properties:
    """Return the properties of a consumer outside any group."""
    return {**tuning, **given, **READER, "auto.offset.reset": reset}


def watermarks(consumer: Consumer, topic: str, partition: int, deadline: Deadline) -> tuple[int, int]:
    """Return the log's first offset and its end; to a read_committed client the end is the last stable offset.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not answer in time.
    """
    topic_partition = TopicPartition(topic, partition)
    found = query(lambda: consumer.get_watermark_offsets(topic_partition, timeout=deadline.remaining()), deadline)
    if found is None:
        raise TimedOut(f"no watermarks of {topic}/{partition} in time")
    low, high = found
    return int(low), int(high)


def committed_offset(
    consumer: Consumer, topic: str, partition: int, deadline: Deadline
) -> tuple[int | None, str | None]:
    """Return the group's committed offset of a partition and its metadata text; (None, None) if there is none.

    Raises
    ------
    KafkaException
        The coordinator did not answer.
    """

    def committed() -> TopicPartition:
        (answer,) = consumer.committed([TopicPartition(topic, partition)], timeout=deadline.remaining())
        if answer.error is not None:
            raise KafkaException(answer.error)
        return answer

    found = query(committed, deadline)
    return (None, None) if found.offset == OFFSET_INVALID else (found.offset, found.metadata)


def offset_of_group(
    consumer: Consumer, topic: str, partition: int, deadline: Deadline
) -> tuple[int | None, str | None]:
    """As `committed_offset`, from a consumer whose records nobody needs if this fails.

    Without the right to the group the client looks for its coordinator until time is up, and only a poll says why.

    Raises
    ------
    KafkaException
        The coordinator did not answer, or the group may not be described.
    """
    with contextlib.suppress(KafkaException):
        return committed_offset(consumer, topic, partition, Deadline(min(PROMPT_SECONDS, deadline.left)))
    message = consumer.poll(0)
    error = None if message is None else message.error()
    if error is not None and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
        raise with_context("this principal has no right to READ or DESCRIBE the group", error)
    return committed_offset(consumer, topic, partition, deadline)


def partitions_of(consumer: Consumer, topic: str, deadline: Deadline) -> int:
    """Return how many partitions a topic has; 0 if there is no such topic.

    Raises
    ------
    KafkaException
        The broker did not answer in time.
    """
    found = query(lambda: consumer.list_topics(topic, deadline.remaining()), deadline)
    return partition_counts(found).get(topic, 0)

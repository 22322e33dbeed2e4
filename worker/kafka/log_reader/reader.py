"""Readers of logs that are no members of a group: one bounded way to read, and what any reader may ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Message, TopicPartition

from driftway.worker.errors import Failure, Unreachable
from driftway.worker.kafka.client_config import READER, ClientConfig, Properties, base_properties, without_membership
from driftway.worker.kafka.confluent.consumer import make_consumer
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut, is_permanent, query, with_context

READER_TUNING: Properties = {
    # A fetch at a log's end waits so long, and every question behind it: 14 ms instead of 3 with 10.
    "fetch.wait.max.ms": 1,
    # Of snapshots read ahead; the client's default is four times as much, for each restore.
    "queued.max.messages.kbytes": 16_384,
}
COMMITTED, ANY = "read_committed", "read_uncommitted"
"""Levels of readers."""
ASK_SECONDS = 30.0
POLL_SECONDS = 0.1
SILENT_SECONDS = 60.0
"""How long a broker may deliver nothing, not even the end of the log, before it counts as gone."""

PartitionId = tuple[str, int]
"""Topic and partition."""
ErrorHandler = Callable[[PartitionId, KafkaError], None]
"""Given an error that came in a message's place; raises, or lets the reading go on."""


def unreadable(topic: str, partition: int, error: KafkaError) -> KafkaException:
    """A reader's error, with where it came up."""
    return with_context(f"{topic}/{partition} cannot be read", error)


def raise_errors(place: PartitionId, error: KafkaError) -> None:
    """No error is let pass."""
    raise unreadable(*place, error)


def ignore_out_of_range(place: PartitionId, error: KafkaError) -> None:
    """A log that does not reach to where reading begins has ended there."""
    if error.code() != KafkaError._AUTO_OFFSET_RESET:
        raise unreadable(*place, error)


def error_handler(where: str, lost: str) -> ErrorHandler:
    """What no waiting helps against becomes a sentence, `lost` where the log does not hold the beginning any more."""

    def complain(_place: PartitionId, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise Failure(lost)
        if is_permanent(error):
            raise Failure(f"cannot read {where}: {error.str()}")

    return complain


class BoundedRead:
    """Partitions that are read until their bounds, or the ends of their logs, are met.

    Parameters
    ----------
    begins : mapping
        Place -> the offset of the first record.
    ends : mapping
        Place -> the offset of the first record that is left out; of a place that is not in it none is.
    on_error : ErrorHandler
        What becomes of errors.
    """

    def __init__(
        self, begins: Mapping[PartitionId, int], ends: Mapping[PartitionId, int], on_error: ErrorHandler
    ) -> None:
        self._on_error, self._ends = on_error, ends
        self.unread = {place for place, first in begins.items() if place not in ends or first < ends[place]}
        """Places whose bound is not met yet."""
        self.at_end: dict[PartitionId, int | None] = {}
        """Place -> where its log ended, as long as nothing comes behind that."""
        self._heard = time.monotonic()

    @property
    def done(self) -> bool:
        """Whether every partition has been read to its bound, or to where its log ends."""
        return self.unread <= self.at_end.keys()

    @property
    def silent_seconds(self) -> float:
        """Since a record came, or the end of a log."""
        return time.monotonic() - self._heard

    def require_progress(self, bootstrap: str, where: str) -> None:
        """See that the broker still delivers.

        Raises
        ------
        Unreachable
            Nothing for a minute.
        """
        if (silent := self.silent_seconds) > SILENT_SECONDS:
            raise Unreachable(f"the broker at {bootstrap} has delivered nothing of {where} for {silent:.0f} s")

    def _note_record(self, place: PartitionId, offset: int, now: float) -> bool:
        """Note that a place's records have come up to this one; whether it is inside of the bound."""
        end = self._ends.get(place)
        self._heard = now
        self.at_end.pop(place, None)
        if end is not None and offset >= end - 1:
            self.unread.discard(place)
        return end is None or offset < end

    def _note_error(self, place: PartitionId, offset: int | None, error: KafkaError, now: float) -> None:
        """Note what came in a record's place: the end of a log, or what there is to complain about."""
        end = self._ends.get(place)
        if error.code() != KafkaError._PARTITION_EOF:
            self._on_error(place, error)
            if error.code() == KafkaError._AUTO_OFFSET_RESET:
                self.at_end[place] = None
            return
        if place not in self.at_end:
            self._heard = now
        self.at_end[place] = offset
        if end is not None and (offset or 0) >= end:  # markers and aborted records may be all that is left
            self.unread.discard(place)


class MessageReader(BoundedRead):
    """A client that is sent to partitions and read piece by piece, message by message.

    Parameters
    ----------
    consumer : Consumer
        Of no group's; reports ends of partitions.
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
            consumer.assign([TopicPartition(*place, begins[place]) for place in sorted(self.unread)])

    def poll(self, seconds: float, most: int = BATCH_MESSAGES) -> list[Message]:
        """The records that are there, after waiting up to `seconds` for the first."""
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        now, arrived = time.monotonic(), []
        for message in [first, *self._consumer.consume(most - 1, timeout=0)] if most > 1 else [first]:
            place, error = (message.topic() or "", message.partition() or 0), message.error()
            if error is not None:
                self._note_error(place, message.offset(), error, now)
            elif self._note_record(place, message.offset() or 0, now):
                arrived.append(message)
        return arrived

    def next(self, deadline: Deadline, what: str) -> Message | None:
        """The next record; None where the bound, or the log's end, is met.

        Raises
        ------
        TimedOut
            It did not come in time; `what` begins the sentence.
        """
        while not (arrived := self.poll(min(1.0, deadline.remaining()), 1)):
            if self.done:
                return None
            if deadline.passed:
                raise TimedOut(f"{what} not delivered in time")
        return arrived[0]


def open_reader(config: ClientConfig, level: str = COMMITTED, tuning: Properties | None = None) -> Consumer:
    """A client that reads the group's offsets and the snapshot topic, without being a member.

    The member itself cannot be asked: the client lets one call at a time in, and the loop is always polling.
    """
    return make_consumer(reader_properties(config, level, tuning))


def reader_properties(config: ClientConfig, level: str = COMMITTED, tuning: Properties | None = None) -> Properties:
    """Of a client of the group that is no member."""
    own = {
        "group.id": config.group,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "isolation.level": level,
    }
    theirs = without_membership(base_properties(config.bootstrap, config.passthrough))
    return {**READER_TUNING, **(tuning or {}), **theirs, **own}


def standalone_consumer(given: Properties, tuning: Properties, reset: str = "error") -> Consumer:
    """A client that reads whole logs and is of no group, with `given` properties of the user."""
    return make_consumer(standalone_properties(given, tuning, reset))


def standalone_properties(given: Properties, tuning: Properties, reset: str = "error") -> Properties:
    """Of a client that is of no group."""
    return {**tuning, **given, **READER, "auto.offset.reset": reset}


def watermarks(consumer: Consumer, topic: str, partition: int, deadline: Deadline) -> tuple[int, int]:
    """First offset still in the log and the one after its last; a read_committed client is told the last stable one.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not answer in time.
    """
    place = TopicPartition(topic, partition)
    found = query(lambda: consumer.get_watermark_offsets(place, timeout=deadline.remaining()), deadline)
    if found is None:
        raise TimedOut(f"no watermarks of {topic}/{partition} in time")
    low, high = found
    return int(low), int(high)


def committed_offset(
    consumer: Consumer, topic: str, partition: int, deadline: Deadline
) -> tuple[int | None, str | None]:
    """The group's committed offset of a partition and its metadata text; (None, None) if there is none.

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

    place = query(committed, deadline)
    return (None, None) if place.offset == OFFSET_INVALID else (place.offset, place.metadata)

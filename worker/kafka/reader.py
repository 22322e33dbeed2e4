"""Readers of logs that are no members of a group, and the questions that any reader may ask."""

from __future__ import annotations

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, TopicPartition

from worker.kafka.client import Link, Properties, base_properties, quiet, without_membership
from worker.kafka.deadline import Deadline
from worker.kafka.verdicts import Unfinished, ask

READER_TUNING: Properties = {
    # A fetch at a log's end waits so long, and every question behind it: 14 ms instead of 3 with 10.
    "fetch.wait.max.ms": 1,
    # Of snapshots read ahead; the client's default is four times as much, for each restore.
    "queued.max.messages.kbytes": 16_384,
}
COMMITTED, ANY = "read_committed", "read_uncommitted"
"""Levels of readers."""


def open_reader(link: Link, level: str = COMMITTED, tuning: Properties | None = None) -> Consumer:
    """A client that reads the group's offsets and the snapshot topic, without being a member.

    The member itself cannot be asked: the client lets one call at a time in, and the loop is always polling.
    """
    own = {
        "group.id": link.group,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "isolation.level": level,
    }
    theirs = without_membership(base_properties(link.bootstrap, link.passthrough))
    return Consumer(quiet({**READER_TUNING, **(tuning or {}), **theirs, **own}))


def watermarks(consumer: Consumer, topic: str, partition: int, deadline: Deadline) -> tuple[int, int]:
    """First offset still in the log and the one after its last; a read_committed client is told the last stable one.

    Raises
    ------
    KafkaException, Unfinished
        The broker did not answer in time.
    """
    place = TopicPartition(topic, partition)
    found = ask(lambda: consumer.get_watermark_offsets(place, timeout=deadline.remaining()), deadline)
    if found is None:
        raise Unfinished(f"no watermarks of {topic}/{partition} in time")
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

    place = ask(committed, deadline)
    return (None, None) if place.offset == OFFSET_INVALID else (place.offset, place.metadata)

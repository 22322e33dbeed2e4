"""What readers of a log are shown of it: where it ends, how far it is decided, and whether a record is there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from confluent_kafka import Consumer

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import MessageReader, watermarks

STABLE_WAIT_SECONDS = 0.05
"""Between two looks at how far a log is decided; a transaction's markers follow its end within milliseconds."""


def log_ends(uncommitted_reader: Consumer, topics: Iterable[str], partition: int, deadline: Deadline) -> dict[str, int]:
    """Where the partition's logs of `topics` end now, open transactions included.

    Parameters
    ----------
    uncommitted_reader : Consumer
        A reader that is given all: one of committed records is told the last stable offset instead, which an open
        transaction holds back.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not answer in time.
    """
    return {topic: watermarks(uncommitted_reader, topic, partition, deadline)[1] for topic in topics}


def await_stable(reader: Consumer, topic: str, partition: int, end: int, deadline: Deadline, patience: float) -> bool:
    """Whether everything before `end` is decided, committed or aborted, for a read_committed `reader` in `patience` s.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not answer in time.
    """
    until = time.monotonic() + min(patience, deadline.left)
    while watermarks(reader, topic, partition, deadline)[1] < end:
        if time.monotonic() >= until:
            return False
        time.sleep(STABLE_WAIT_SECONDS)
    return True


def first_visible(reader: Consumer, topic: str, partition: int, offset: int, deadline: Deadline) -> tuple[int, bool]:
    """The offset of the first record at or behind `offset` that `reader` is given; or, and False, its log's end.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    place = topic, partition
    reading = MessageReader(reader, {place: offset})
    message = reading.next(deadline, f"{topic}/{partition} was")
    found = reading.at_end[place] if message is None else message.offset()
    return offset if found is None else found, message is not None


def are_visible(reader: Consumer, topic: str, partition: int, offsets: Sequence[int], deadline: Deadline) -> list[bool]:
    """Which of the records at rising `offsets` are such that `reader` is given them.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    return [first_visible(reader, topic, partition, offset, deadline) == (offset, True) for offset in offsets]

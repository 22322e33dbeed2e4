"""What readers see of a log: its end, its last stable offset, and whether a record is visible."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaException

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.kafka.log_reader.reader import MessageReader, watermarks

STABLE_WAIT_SECONDS = 0.05
"""Between two queries of the last stable offset; a transaction's markers follow its end within milliseconds."""


def log_ends(uncommitted_reader: Consumer, topics: Iterable[str], partition: int, deadline: Deadline) -> dict[str, int]:
    """Return the current log ends of the partition in `topics`, open transactions included.

    Parameters
    ----------
    uncommitted_reader : Consumer
        A read_uncommitted reader: a read_committed one would get the last stable offset, which an open transaction
        holds back.
    topics, partition
        Topics, and the partition of each.
    deadline : Deadline
        For all queries together.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not answer in time.
    """
    return {topic: watermarks(uncommitted_reader, topic, partition, deadline)[1] for topic in topics}


def await_stable(reader: Consumer, topic: str, partition: int, end: int, deadline: Deadline, patience: float) -> bool:
    """Wait up to `patience` s until a read_committed `reader`'s last stable offset is at `end`; return whether it is.

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
    """Return the offset of the first record from `offset` on that `reader` sees, and True; or the log's end and False.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    topic_partition = topic, partition
    reading = MessageReader(reader, {topic_partition: offset})
    message = reading.next(deadline, f"{topic}/{partition} was")
    found = reading.at_end[topic_partition] if message is None else message.offset()
    return offset if found is None else found, message is not None


def end_of_visible(reader: Consumer, topic: str, partition: int, low: int, high: int, deadline: Deadline) -> int:
    """Return the offset after the last record in [low, high) that `reader` sees; `low` if it sees none.

    Usually that is `high`, found by one read: a longer search is needed only where the log ends in transaction markers,
    or in records that were aborted, compacted or deleted.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """

    def seen(offset: int) -> bool:
        return first_visible(reader, topic, partition, offset, deadline)[0] < high

    step = 1
    while high - step > low and not seen(high - step):
        step *= 2
    first, last = max(low, high - step), high - step // 2  # none is visible in [last, high)
    if first == low and not seen(low):
        return low
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if seen(middle) else (first, middle)
    return first + 1


def first_of_later_epoch(
    reader: Consumer, topic: str, partition: int, low: int, high: int, epoch: int | None, deadline: Deadline
) -> int | None:
    """Return the first offset in [low, high) from which on all visible records have a leader epoch above `epoch`.

    None if there is none, or if `epoch` is None. Usually two reads tell: epochs only rise along a log.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    if epoch is None or low >= high:
        return None

    def is_later(offset: int) -> bool:
        message = MessageReader(reader, {(topic, partition): offset}).next(deadline, f"{topic}/{partition} was")
        return message is not None and (message.leader_epoch() or 0) > epoch

    end = end_of_visible(reader, topic, partition, low, high, deadline)
    if end == low or not is_later(end - 1):
        return None
    first, last = low - 1, end - 1
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (first, middle) if is_later(middle) else (middle, last)
    return last


def are_visible(reader: Consumer, topic: str, partition: int, offsets: Sequence[int], deadline: Deadline) -> list[bool]:
    """Return for each of the rising `offsets` whether `reader` sees a record there.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    return [first_visible(reader, topic, partition, offset, deadline) == (offset, True) for offset in offsets]


class VisibleEnds:
    """Ends of a topic's logs for the computation of lag, without what a read_committed reader cannot see at the end.

    Markers of transactions and aborted records have offsets that nobody reads, and so nobody commits.

    Parameters
    ----------
    topic : str
        The topic.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._known: dict[int, tuple[int, int, bool | None]] = {}
        """Partition -> offset up to which it is read, end of its log, and whether a record is visible between them;
        None: not looked for yet."""

    def of(self, reader: Consumer, ends: Mapping[int, int], read: Mapping[int, int], seconds: float) -> dict[int, int]:
        """Return partition -> its end, or the offset up to which it is read if no record is visible from there on.

        Parameters
        ----------
        reader : Consumer
            A read_committed reader without an assignment.
        ends, read : mapping
            Partition -> last stable offset, and offset up to which it is read.
        seconds : float
            Longest time to look for a record of one partition; its end counts if that is too short.
        """
        found = dict(ends)
        for partition, end in ends.items():
            first = read.get(partition, end)
            *before, visible = self._known.get(partition, (-1, -1, None))
            if first >= end or before != [first, end]:  # being read: looking would cost more than it tells
                self._known[partition] = first, end, None
                continue
            if visible is None:
                visible = self._is_visible(reader, partition, first, Deadline(seconds))
                self._known[partition] = first, end, visible
            if not visible:
                found[partition] = first
        return found

    def _is_visible(self, reader: Consumer, partition: int, offset: int, deadline: Deadline) -> bool:
        try:
            return first_visible(reader, self._topic, partition, offset, deadline)[1]
        except (KafkaException, TimedOut):
            return True
        finally:
            reader.unassign()

"""One read_committed reader of several outputs of the same rows: which rows it saw in each, and when.

A row's number stands in the field ``id`` of every message, and row i belongs to partition i mod P of the input, so
outputs need not keep the input's partitions.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from confluent_kafka import TopicPartition

from driftway.worker.errors import Failure
from driftway.worker.wire.codec import read_json
from tests.support.audit import UP_TO_DATE
from tests.support.reader_thread import ReaderThread

POLL_SECONDS = 0.05
BATCH_MESSAGES = 10_000


@dataclass
class SeenRows:
    """What was seen of one output.

    Parameters
    ----------
    partitions : int
        P, partitions of the input.

    Attributes
    ----------
    places : dict
        Row -> partition and offset of the output at which it was seen first.
    times : list
        For each partition of the input, when rows of it were seen, by `time.monotonic`, in order.
    repeated : list of int
        Rows that were seen again at another place: a reader that reads a place again is no second write.
    """

    partitions: int
    places: dict[int, tuple[int, int]] = field(default_factory=dict)
    times: list[list[float]] = field(init=False)
    repeated: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.times = [[] for _ in range(self.partitions)]

    def see(self, row: int, place: tuple[int, int], at: float) -> None:
        """Note a row."""
        first = self.places.setdefault(row, place)
        if first != place:
            self.repeated.append(row)
            return
        self.times[row % self.partitions].append(at)

    def beyond(self, written: SeenRows) -> tuple[int, int]:
        """Return how many repetitions this output has and the input has not, and how many of the input's it lacks.

        A client may write a row of the input twice; then it is two rows, with two predictions.
        """
        here, there = Counter(self.repeated), Counter(written.repeated)
        return (here - there).total(), (there - here).total()

    def missing(self, rows: int) -> int:
        """Return how many of the first `rows` rows were not seen."""
        return rows - sum(row < rows for row in list(self.places))

    def seen_since(self, since: float) -> bool:
        """Whether a row of every partition was seen after this moment."""
        return all(times and times[-1] > since for times in self.times)

    def longest_silence(self, since: float, until: float) -> float:
        """Return the longest time between two moments in which no row of some partition was seen."""
        return max(
            after - before
            for times in self.times
            for before, after in pairwise([since, *(at for at in list(times) if since < at < until), until])
        )


class OutputReader(ReaderThread):
    """Reads topics from their beginnings until the end of its ``with`` block.

    Parameters
    ----------
    bootstrap : str
        Bootstrap addresses of the brokers.
    topics : mapping
        Name of an output -> its topic, which must exist.
    partitions : int
        Partitions of the input, and of each topic.

    Attributes
    ----------
    of : dict
        Name of an output -> what was seen of it.
    notes : set of str
        Errors that the reader was told of; it goes on after them.
    failure : str or None
        Why it does not go on.
    """

    def __init__(self, bootstrap: str, topics: Mapping[str, str], partitions: int) -> None:
        by_topic = {topic: SeenRows(partitions) for topic in topics.values()}
        topic_partitions = [TopicPartition(topic, p, 0) for topic in by_topic for p in range(partitions)]
        own = {"fetch_wait_max_ms": 20, "fetch_queue_backoff_ms": 5, **UP_TO_DATE}
        # "earliest" never passes over a row; what is read again counts once.
        super().__init__("output reader", bootstrap, topic_partitions, auto_offset_reset="earliest", **own)
        self.of = {name: by_topic[topic] for name, topic in topics.items()}
        self.notes: set[str] = set()
        self.failure: str | None = None
        self._by_topic = by_topic

    def run(self) -> None:
        """Poll until the end of the ``with`` block, or until reading fails."""
        try:
            while not self._ended.is_set():
                first = self._reader.poll(POLL_SECONDS)
                if first is not None:
                    self._take([first, *self._reader.consume(BATCH_MESSAGES - 1, timeout=0)], time.monotonic())
        except BaseException as error:
            self.failure = repr(error)

    def await_all_since(self, since: float, seconds: float) -> list[str]:
        """Wait until a row of every partition of every output was seen after a moment; return outputs that lack one.

        Raises
        ------
        Failure
            The reader does not go on.
        """
        end = time.monotonic() + seconds
        while True:
            if self.failure is not None:
                raise Failure(f"the reader ended: {self.failure}")
            silent = [name for name, one in self.of.items() if not one.seen_since(since)]
            if not silent or time.monotonic() > end:
                return silent
            time.sleep(POLL_SECONDS)

    def counts(self) -> dict[str, list[int]]:
        """Return each output's rows seen of each partition."""
        return {name: [len(times) for times in one.times] for name, one in self.of.items()}

    def behind(self, rows: int) -> dict[str, int]:
        """Return the outputs that lack some of the first `rows` rows -> how many they lack."""
        return {name: missing for name, one in self.of.items() if (missing := one.missing(rows))}

    def _take(self, messages: list[Any], now: float) -> None:
        for message in messages:
            if message.error() is not None:
                self.notes.add(str(message.error()))
                continue
            place = message.partition(), message.offset()
            self._by_topic[message.topic()].see(read_json(message.value())["id"], place, now)

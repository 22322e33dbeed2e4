"""A read_committed reader that checks the continuity of every partition and measures its silences."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from driftway.worker.kafka.topics import Topics
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.rejections import is_set_aside
from tests.soak.completeness import Completeness
from tests.support.reader_thread import ReaderThread

OWN = {
    "auto_offset_reset": "error",
    "fetch_wait_max_ms": 50,
    "fetch_queue_backoff_ms": 5,
    "queued_min_messages": 5_000,
    "queued_max_messages_kbytes": 16_384,
    "reconnect_backoff_max_ms": 500,
}
BATCH_MESSAGES = 10_000
POLL_SECONDS = 0.1
MAX_NOTES = 20


@dataclass(frozen=True)
class Gap:
    """A period in which no new output of a partition became visible."""

    seconds: float
    partition: int = -1
    since: float = 0.0
    """Its start, by `time.monotonic`."""


class Reader(ReaderThread):
    """Thread that reads predictions and rejections from the beginning until the end of its ``with`` block.

    Parameters
    ----------
    bootstrap : str
        Bootstrap address of the broker.
    topics : Topics
        Topics, which must exist.
    partitions : int
        Partitions of each topic.
    away : callable
        Seconds of broker outage between two moments.
    """

    def __init__(self, bootstrap: str, topics: Topics, partitions: int, away: Callable[[float, float], float]) -> None:
        self._topics, self._away = topics, away
        topic_partitions = [
            TopicPartition(topic, p, OFFSET_BEGINNING) for topic in self._outputs() for p in range(partitions)
        ]
        super().__init__("reader", bootstrap, topic_partitions, **OWN)
        self.partitions = [Completeness() for _ in range(partitions)]
        self.silence, self.own_silence = Gap(0.0), Gap(0.0)
        """The longest silence, and the longest not counting broker outages."""
        self.failure: str | None = None
        """Why reading cannot continue."""
        self.notes: list[str] = []
        """The first MAX_NOTES transient errors."""
        self._heard = [time.monotonic()] * partitions

    @property
    def accounted(self) -> int:
        """Input offsets seen so far."""
        return sum(partition.accounted for partition in self.partitions)

    def begin(self) -> None:
        """Start measuring silence, when the load starts."""
        self._heard = [time.monotonic()] * len(self.partitions)
        self.silence = self.own_silence = Gap(0.0)

    def run(self) -> None:
        """Poll until the end of the ``with`` block, or until reading fails."""
        try:
            while not self._ended.is_set() and self.failure is None:
                first = self._reader.poll(POLL_SECONDS)
                if first is not None:
                    self._take([first, *self._reader.consume(BATCH_MESSAGES - 1, timeout=0)], time.monotonic())
        except BaseException as error:
            self.failure = repr(error)

    def _outputs(self) -> tuple[str, str]:
        return self._topics.predictions, self._topics.rejected

    def _take(self, messages: Sequence[Any], now: float) -> None:
        for message in messages:
            if message.error() is not None:
                self._note(message.error())
                continue
            if message.topic() == self._topics.rejected:
                headers = dict(message.headers())
                if not is_set_aside(headers):
                    self.partitions[message.partition()].reject(int(headers["offset"]))
            else:
                self.partitions[message.partition()].predict(read_json(message.value())["offset"])
        for partition in {message.partition() for message in messages if message.error() is None}:
            self._note_arrival(partition, now)

    def _note_arrival(self, partition: int, now: float) -> None:
        since, self._heard[partition] = self._heard[partition], now
        if now - since > self.silence.seconds:
            self.silence = Gap(now - since, partition, since)
        if now - since > self.own_silence.seconds:
            own = now - since - self._away(since, now)
            if own > self.own_silence.seconds:
                self.own_silence = Gap(own, partition, since)

    def _note(self, error: Any) -> None:
        if error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET:
            self.failure = error.str()
        elif len(self.notes) < MAX_NOTES:
            self.notes.append(error.str())

"""Measure how long the partitions of a SIGKILLed worker stand still until its successor has taken over.

The times start at the successor's assignment. What comes before it (the session timeout, the successor's imports) is
the choice of the group and the operator, and is reported separately. They end when the journal reports the partition
as running, and when an independent read_committed reader has the partition's first new prediction.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

from confluent_kafka import TopicPartition

from driftway.workbench.bench.workload import Loader
from driftway.worker.admin.watch.topic_tail import LogEnds
from driftway.worker.errors import Failure
from driftway.worker.kafka.topics import Topics
from driftway.worker.wire.codec import read_json
from tests.bench.process_stats import START_SECONDS, Group, MeasuredWorker
from tests.support.log_times import logged_at
from tests.support.reader_thread import ReaderThread

SLICE_SECONDS = 0.005
WORST_SHARE = 0.8
"""A snapshot counts as oldest from this share of the largest age seen: commits are too coarse to hit the maximum."""
CATCH_UP_SECONDS = 120.0
FIRST_SECONDS = 90.0
LIVE_SECONDS = 2.0
TOLD_SECONDS = 2.0
"""If a failover takes longer, the successor's log goes to stderr."""


@dataclass(frozen=True)
class Failover:
    """Times of one failover, for the slowest partition.

    Parameters
    ----------
    assigned : float
        Seconds from the kill to the assignment.
    restored, running, predicted : float
        Seconds from the assignment to the loaded snapshot, to running, to the first new prediction.
    relearned : int
        Rows between snapshot and committed offset, summed over the partitions.
    """

    assigned: float
    restored: float
    running: float
    predicted: float
    relearned: int


class Traffic(threading.Thread):
    """Thread that sends live rows at a fixed rate until the end of its ``with`` block.

    Parameters
    ----------
    loader : Loader
        Producer of the rows; not to be used by others meanwhile.
    values : iterator of bytes
        Record values; endless.
    rate : float
        Rows per second.

    Attributes
    ----------
    sent : int
        Rows sent so far.
    """

    def __init__(self, loader: Loader, values: Iterator[bytes], rate: float) -> None:
        super().__init__(name="traffic", daemon=True)
        self._loader, self._rate = loader, rate
        self._values = values
        self._ended = threading.Event()
        self.sent = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        self.join()
        if kind is None:
            self._loader.finish()

    def run(self) -> None:
        """Send the rows that are due."""
        started = time.monotonic()
        while not self._ended.wait(SLICE_SECONDS):
            due = int((time.monotonic() - started) * self._rate)
            if due > self.sent:
                self._loader.send(list(islice(self._values, due - self.sent)))
                self.sent = due


class Arrivals(ReaderThread):
    """Thread that reads predictions from given offsets on, and records when each arrived.

    Parameters
    ----------
    bootstrap : str
        Bootstrap address of the broker.
    topic : str
        Predictions topic.
    ends : mapping
        (topic, partition) -> start offset.
    """

    def __init__(self, bootstrap: str, topic: str, ends: dict[tuple[str, int], int]) -> None:
        topic_partitions = [TopicPartition(topic, p, end) for (_, p), end in ends.items()]
        super().__init__("arrivals", bootstrap, topic_partitions, fetch_wait_max_ms=5, fetch_queue_backoff_ms=1)
        self._seen: dict[int, list[tuple[int, float]]] = {p: [] for _, p in ends}
        self.complaints: list[str] = []

    def first(self, partition: int, offset: int) -> float:
        """Return when the first prediction for an input offset >= `offset` arrived; infinite if it has not yet."""
        return next((at for last, at in self._seen[partition] if last >= offset), float("inf"))

    def run(self) -> None:
        """Poll until the end of the ``with`` block."""
        while not self._ended.is_set():
            first = self._reader.poll(0.05)
            if first is None:
                continue
            messages = [first, *self._reader.consume(9_999, timeout=0)]
            now = time.time()
            self.complaints += [str(message.error()) for message in messages if message.error() is not None]
            for partition in self._seen:
                share = [m for m in messages if m.error() is None and m.partition() == partition]
                if share:
                    self._take(partition, share, now)

    def _take(self, partition: int, share: list[Any], now: float) -> None:
        """Check a batch for gaps; only its ends are parsed, to leave the CPU to the worker during a backlog."""
        begin, end = (read_json(message.value())["offset"] for message in (share[0], share[-1]))
        seen = self._seen[partition]
        expected = seen[-1][0] + 1 if seen else begin
        if begin != expected or end - begin + 1 != len(share):
            self.complaints.append(
                f"partition {partition}: {len(share)} predictions {begin}..{end} after {expected - 1}"
            )
        seen.append((end, now))


class FailoverRun:
    """One live worker and its successors; a context manager that ends the live one.

    Parameters
    ----------
    bootstrap : str
        Bootstrap address of the broker.
    topics : Topics
        Input topic and group.
    partitions : int
        Partitions of the input topic.
    make : callable
        Makes a worker of the group that is not started yet.
    """

    def __init__(self, bootstrap: str, topics: Topics, partitions: int, make: Callable[[], MeasuredWorker]) -> None:
        self._bootstrap, self._topics, self._partitions = bootstrap, topics, partitions
        self._make = make
        self.worker = make()

    def __enter__(self) -> Self:
        self.worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.worker.close()

    def running(self) -> bool:
        """Whether the worker runs every partition."""
        return set(range(self._partitions)) <= set(self.worker.by_partition("running"))

    def await_old_snapshot(self, group: Group, oldest: int) -> None:
        """Wait, during a backlog, until a snapshot is about as old as they get, or until the backlog is gone."""
        while group.backlog() and max(at.relearned for at in group.positions()) < WORST_SHARE * oldest:
            self.worker.require_running()
            time.sleep(SLICE_SECONDS)

    def await_live(self, group: Group, rate: float) -> None:
        """Wait until the worker has caught up with live traffic, plus LIVE_SECONDS."""
        self.worker.await_until(lambda: group.backlog() < rate, CATCH_UP_SECONDS, "the worker has caught up")
        time.sleep(LIVE_SECONDS)

    def kill(self) -> Failover:
        """SIGKILL the worker, start a successor, and return the times of the failover.

        Raises
        ------
        Failure
            The successor does not take over, or the reader saw a gap or a duplicate.
        """
        predictions = self._topics.predictions
        ends = LogEnds(self._bootstrap, {}).of({predictions: self._partitions})
        self.worker.require_running()
        self.worker.close()
        killed = time.time()
        successor = self.worker = self._make()
        successor.start()
        with Arrivals(self._bootstrap, predictions, ends) as arrivals:
            successor.await_until(self.running, START_SECONDS, "everything is running")
            restored = successor.by_partition("restored")

            def predicted() -> float:
                return max(arrivals.first(partition, event["committed"]) for partition, event in restored.items())

            successor.await_until(lambda: predicted() < float("inf"), FIRST_SECONDS, "every partition predicts")
            predicted_at = predicted()
        if arrivals.complaints:
            raise Failure(f"the predictions are not whole: {arrivals.complaints[0]}")
        assigned = max(logged_at(event) for event in successor.by_partition("assigned").values())
        if predicted_at - assigned > TOLD_SECONDS:
            sys.stderr.write(successor.summary())
        return Failover(
            assigned=assigned - killed,
            restored=max(logged_at(event) for event in restored.values()) - assigned,
            running=max(logged_at(event) for event in successor.by_partition("running").values()) - assigned,
            predicted=predicted_at - assigned,
            relearned=sum(event["committed"] - event["position"] for event in restored.values()),
        )

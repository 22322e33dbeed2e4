"""How long a SIGKILLed worker's partitions stand still: kill, start another one, watch what it does.

The times begin at the heir's assignment. What lies before it (the session that has to run out, the heir's imports)
is the group's and the operator's choice, and shown beside them. They end when the journal says that the partition
is running, and when a read_committed reader, which belongs to nobody, has the partition's first new prediction.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Self

from confluent_kafka import Consumer, TopicPartition

from driftway.workbench.bench.workload import Loader
from driftway.worker.admin.watch.topic_tail import LogEnds
from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import base_properties, quiet
from driftway.worker.kafka.topics import Topics
from driftway.worker.wire.codec import read_json
from tests.bench.process_stats import START_SECONDS, Group, MeasuredWorker

SLICE_SECONDS = 0.005
WORST_SHARE = 0.8
"""A snapshot is as old as it gets from this share of the oldest one seen: commits are too coarse to hit the maximum."""
CATCH_UP_SECONDS = 120.0
FIRST_SECONDS = 90.0
LIVE_SECONDS = 2.0
TOLD_SECONDS = 2.0
"""A takeover that takes longer is told in full: its log goes to stderr."""


@dataclass(frozen=True)
class Failover:
    """One kill and what followed, for the slower of the partitions.

    Parameters
    ----------
    assigned : float
        Seconds from the kill to the assignment.
    restored, running, predicted : float
        Seconds from the assignment to the snapshot loaded, to running, to the first new prediction.
    relearned : int
        Rows between snapshot and committed offset, of all partitions.
    """

    assigned: float
    restored: float
    running: float
    predicted: float
    relearned: int


class Traffic(threading.Thread):
    """Live rows at a fixed rate until the end of its ``with`` block.

    Parameters
    ----------
    loader : Loader
        Where they go; nobody else may use it.
    values : sequence of bytes
        Sent round and round.
    rate : float
        Rows a second.
    """

    def __init__(self, loader: Loader, values: Sequence[bytes], rate: float) -> None:
        super().__init__(name="traffic", daemon=True)
        self._loader, self._rate = loader, rate
        self._values: Iterator[bytes] = cycle(values)
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        self.join()
        if kind is None:
            self._loader.finish()

    def run(self) -> None:
        """Send what is due."""
        started, sent = time.monotonic(), 0
        while not self._ended.wait(SLICE_SECONDS):
            due = int((time.monotonic() - started) * self._rate)
            if due > sent:
                self._loader.send(list(islice(self._values, due - sent)))
                sent = due


class Arrivals(threading.Thread):
    """Reads predictions from given ends on, and notes when each was there.

    Parameters
    ----------
    bootstrap : str
        The broker.
    topic : str
        The predictions.
    ends : mapping
        (topic, partition) -> where to start.
    """

    def __init__(self, bootstrap: str, topic: str, ends: dict[tuple[str, int], int]) -> None:
        super().__init__(name="arrivals", daemon=True)
        own = {
            "group.id": "driftway-reader",  # the client wants a name; assign() never joins a group
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 5,
            "fetch.queue.backoff.ms": 1,
        }
        self._reader = Consumer(quiet({**base_properties(bootstrap, {}), **own}))
        self._reader.assign([TopicPartition(topic, p, end) for (_, p), end in ends.items()])
        self._seen: dict[int, list[tuple[int, float]]] = {p: [] for _, p in ends}
        self.complaints: list[str] = []
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()
        self._reader.close()

    def first(self, partition: int, offset: int) -> float:
        """When the first prediction of a row from input offset `offset` on was there; infinite if it was not yet."""
        return next((at for last, at in self._seen[partition] if last >= offset), float("inf"))

    def run(self) -> None:
        """Read until the end of the ``with`` block."""
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
        """Only the ends are parsed: in a backlog's full flight the machine has better things to do."""
        begin, end = (read_json(message.value())["offset"] for message in (share[0], share[-1]))
        seen = self._seen[partition]
        expected = seen[-1][0] + 1 if seen else begin
        if begin != expected or end - begin + 1 != len(share):
            self.complaints.append(
                f"partition {partition}: {len(share)} predictions {begin}..{end} after {expected - 1}"
            )
        seen.append((end, now))


class FailoverRun:
    """The one worker that lives, and its successors; a context manager that ends whoever is alive.

    Parameters
    ----------
    bootstrap : str
        The broker.
    topics : Topics
        Input and group.
    partitions : int
        Of the input.
    make : callable
        Makes a worker of the group, not started yet.
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
        """Let a worker in a backlog's full flight go on until a snapshot is as old as they get, or all is read."""
        while group.backlog() and max(at.relearned for at in group.standing()) < WORST_SHARE * oldest:
            self.worker.require_running()
            time.sleep(SLICE_SECONDS)

    def await_live(self, group: Group, rate: float) -> None:
        """Wait until the worker has caught up with live traffic, and a little longer."""
        self.worker.await_until(lambda: group.backlog() < rate, CATCH_UP_SECONDS, "the worker has caught up")
        time.sleep(LIVE_SECONDS)

    def kill(self) -> Failover:
        """SIGKILL the worker and let another one take over.

        Raises
        ------
        Failure
            It does not, or the reader saw a gap or a repetition.
        """
        predictions = self._topics.predictions
        ends = LogEnds(self._bootstrap, {}).of({predictions: self._partitions})
        self.worker.require_running()
        self.worker.close()
        killed = time.time()
        heir = self.worker = self._make()
        heir.start()
        with Arrivals(self._bootstrap, predictions, ends) as arrivals:
            heir.await_until(self.running, START_SECONDS, "everything is running")
            restored = heir.by_partition("restored")

            def predicted() -> float:
                return max(arrivals.first(partition, event["committed"]) for partition, event in restored.items())

            heir.await_until(lambda: predicted() < float("inf"), FIRST_SECONDS, "every partition predicts")
            last = predicted()
        if arrivals.complaints:
            raise Failure(f"the predictions are not whole: {arrivals.complaints[0]}")
        assigned = max(event["time"] for event in heir.by_partition("assigned").values())
        if last - assigned > TOLD_SECONDS:
            sys.stderr.write(heir.story())
        return Failover(
            assigned=assigned - killed,
            restored=max(event["time"] for event in restored.values()) - assigned,
            running=max(event["time"] for event in heir.by_partition("running").values()) - assigned,
            predicted=last - assigned,
            relearned=sum(event["committed"] - event["position"] for event in restored.values()),
        )

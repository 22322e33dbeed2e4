"""The workload of a bench: rows, their bytes, their topics, and the paced load.

Row i goes to partition i mod P at offset i div P, written without transactions. All sides keep the order within a
partition, so the k-th record of an output partition belongs to the k-th of the input's: nothing needs to be parsed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.workbench.bench.cases import FULL_DIGITS, MAPPED, Case
from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import admin_client, base_properties, quiet, require_broker
from driftway.worker.kafka.topics import Topics, create_topics, output_plan
from driftway.worker.wire import packed
from driftway.worker.wire.codec import PACKED, encode_events

SEED = 4
BLOCK_ROWS = 50_000
QUEUE_ROWS = 400_000
DELIVERY_SECONDS = 60.0
DELETE_SECONDS = 30.0
GONE_SECONDS = 30.0
SLICE_SECONDS = 0.001
"""The paced load is sent in slices of a millisecond; the wait for its slice is part of a row's latency."""


def blocks(case: Case, n: int) -> Iterator[list[bytes]]:
    """Yield the first n messages of a case in blocks: uniform features, labels by a noisy linear rule."""
    rng = np.random.default_rng(SEED)
    weight = rng.normal(size=case.features)
    for start in range(0, n, BLOCK_ROWS):
        rows = min(BLOCK_ROWS, n - start)
        X = rng.uniform(-1.0, 1.0, (rows, case.features))
        if case.digits < FULL_DIGITS:
            X = X.round(case.digits)
        noise = 0.1 * np.sqrt(case.features) * rng.normal(size=rows)
        y = (X @ weight + noise > 0).astype(np.float64)
        names = case.feature_names or None
        events = packed.encode_events(X, y) if case.form == PACKED else encode_events(X, y, start, names)
        yield list(map(_flat, events)) if case.form == MAPPED else events


def _flat(event: bytes) -> bytes:
    """Return an event with its named features as top-level fields."""
    return event.replace(b'"x":{', b"", 1).replace(b'},"y"', b',"y"', 1)


class Loader:
    """Writes messages to an input, row i to partition i mod P.

    Parameters
    ----------
    bootstrap, properties
        Those of the client.
    topic : str
        The input.
    partitions : int
        P.
    linger_ms : float
        Linger of the client; 0 for a paced load.
    """

    def __init__(
        self, bootstrap: str, properties: Mapping[str, Any], topic: str, partitions: int, linger_ms: float
    ) -> None:
        from confluent_kafka import Producer

        self.topic, self.partitions = topic, partitions
        self._sent = 0
        self._failed = 0
        self._producer = Producer(
            quiet(
                {
                    "queue.buffering.max.messages": 2 * QUEUE_ROWS,
                    "queue.buffering.max.kbytes": 1 << 20,
                    **base_properties(bootstrap, properties),
                    "linger.ms": linger_ms,
                    "enable.idempotence": True,
                    "delivery.report.only.error": True,
                    "on_delivery": self._count_failure,
                }
            )
        )

    def send(self, values: Sequence[bytes]) -> None:
        """Queue the next rows."""
        while len(self._producer) + len(values) > QUEUE_ROWS:
            self._producer.poll(0.01)
        for partition in range(self.partitions):
            share = values[(partition - self._sent) % self.partitions :: self.partitions]
            if share:
                self._producer.produce_batch(self.topic, [{"value": v} for v in share], partition=partition)
        self._sent += len(values)
        self._producer.poll(0)

    def finish(self) -> None:
        """Flush, and wait for all delivery reports.

        Raises
        ------
        Failure
            The broker did not accept all messages.
        """
        undelivered = self._producer.flush(DELIVERY_SECONDS)
        if undelivered or self._failed:
            raise Failure(f"{undelivered + self._failed} messages of {self.topic} were not accepted by the broker")

    def _count_failure(self, _error: object, _message: object) -> None:
        self._failed += 1


def fill(bootstrap: str, properties: Mapping[str, Any], topic: str, case: Case, n: int) -> int:
    """Create an input and write the first n messages of a case; return their bytes."""
    create_topics(bootstrap, properties, {topic: (case.partitions, {})})
    loader = Loader(bootstrap, properties, topic, case.partitions, linger_ms=5)
    size = 0
    for values in blocks(case, n):
        loader.send(values)
        size += sum(map(len, values))
    loader.finish()
    return size


def send_paced(loader: Loader, values: Sequence[bytes], rate: float) -> tuple[NDArray[np.float64], float]:
    """Send row i at i / rate seconds after the start; return the due time of each row, and the largest delay.

    Times are those of `time.monotonic`. If the sender falls behind, later rows keep their due times: their wait
    counts (no coordinated omission).
    """
    n = len(values)
    start = time.monotonic() + SLICE_SECONDS
    sent, latest = 0, 0.0
    while sent < n:
        elapsed = time.monotonic() - start
        due = min(n, int(elapsed * rate) + 1) if elapsed >= 0 else 0
        if due > sent:
            latest = max(latest, elapsed - sent / rate)
            loader.send(values[sent:due])
            sent = due
        time.sleep(SLICE_SECONDS)
    return start + np.arange(n) / rate, latest


def make_outputs(bootstrap: str, properties: Mapping[str, Any], topics: Topics, case: Case) -> None:
    """Create the topics that a side writes to; predictions have LogAppendTime."""
    plan = output_plan(topics, case.partitions)
    partitions, config = plan[topics.predictions]
    plan[topics.predictions] = partitions, {**config, "message.timestamp.type": "LogAppendTime"}
    create_topics(bootstrap, properties, plan)


def drop(bootstrap: str, properties: Mapping[str, Any], names: Sequence[str]) -> None:
    """Delete topics and wait until they are gone, so that their names can be used again.

    Raises
    ------
    Failure
        They were not deleted in time.
    """
    present = require_broker(bootstrap, properties).topics
    to_delete = [name for name in names if name in present]
    if not to_delete:
        return
    admin = admin_client(bootstrap, properties)
    for future in admin.delete_topics(to_delete, operation_timeout=DELETE_SECONDS).values():
        future.exception(timeout=DELETE_SECONDS)
    deadline = time.monotonic() + GONE_SECONDS
    while set(to_delete) & set(require_broker(bootstrap, properties).topics):
        if time.monotonic() > deadline:
            raise Failure(f"topics {', '.join(to_delete)} were not deleted in {GONE_SECONDS:.0f} s")
        time.sleep(0.1)

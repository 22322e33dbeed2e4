"""Measure latency, from the intended sending of a message until a read_committed reader has its output.

**What is timed.** Rows are sent at a fixed rate; row i is due at i / rate, and its latency starts then, whether or not
the sender, the client or the broker was late (no coordinated omission). It ends when a reader of the output topic
has the record: read_committed, so after its transaction is committed. Sender and reader run in this process, and both
timestamps come from one monotonic clock. The first seconds are warm-up and not counted.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.workbench.bench.cases import Case, Repetitions
from driftway.workbench.bench.contender import Contender
from driftway.workbench.bench.throughput import BenchCluster
from driftway.workbench.bench.workload import Loader, blocks, make_outputs, send_paced
from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import base_properties, quiet
from driftway.worker.kafka.topics import Topics, create_topics

READY_SECONDS = 240.0
"""Timeout of the first output: the first start on a machine compiles all kernels."""
WARM_UP_SECONDS = 2.0
ARRIVAL_SECONDS = 60.0
PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9}
READER_TUNING = {"fetch.wait.max.ms": 5, "fetch.queue.backoff.ms": 1, "queued.min.messages": 10_000}


@dataclass(frozen=True)
class LatencyRun:
    """One side's latencies, in milliseconds.

    Parameters
    ----------
    pair : int
        Number of the repetition.
    side : str
        ``passthrough`` or ``worker``.
    p50, p95, p99, p99_9 : float
        Percentiles over all rows after the warm-up.
    largest : float
        Latency of the worst row.
    sender_late : float
        Largest delay of the sender behind its schedule; part of the latencies.
    """

    pair: int
    side: str
    p50: float
    p95: float
    p99: float
    p99_9: float
    largest: float
    sender_late: float


class LatencyReader:
    """Reads an output topic in a thread and notes when each record arrived.

    Parameters
    ----------
    cluster : BenchCluster
        Cluster and client properties.
    topic : str
        The output topic.
    partitions : int
        Number of its partitions.
    """

    def __init__(self, cluster: BenchCluster, topic: str, partitions: int) -> None:
        from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

        self._consumer = Consumer(
            quiet(
                {
                    **READER_TUNING,
                    **base_properties(cluster.bootstrap, cluster.properties),
                    "group.id": "driftway-bench-reader",  # the client requires one; assign() never joins a group
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                }
            )
        )
        self._consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
        self._arrivals: list[list[tuple[int, float]]] = [[] for _ in range(partitions)]
        self._count = 0
        self._error: Any = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, name="bench-reader")
        self._thread.start()

    @property
    def count(self) -> int:
        """Number of records read.

        Raises
        ------
        Failure
            The reader got an error that is fatal or not retriable.
        """
        if self._error is not None:
            raise Failure(f"the outputs cannot be read: {self._error.str()}")
        return self._count

    def stop(self) -> None:
        """Stop the thread; may be called twice."""
        if not self._ended.is_set():
            self._ended.set()
            self._thread.join()
            self._consumer.close()

    def times(self, partition: int) -> NDArray[np.float64]:
        """Return the arrival time of each record of a partition, in order."""
        counts, stamps = zip(*self._arrivals[partition], strict=True)
        return np.repeat(np.array(stamps), counts)

    def _read(self) -> None:
        while not self._ended.is_set():
            first = self._consumer.poll(0.1)
            if first is None:
                continue
            messages = [first, *self._consumer.consume(9_999, timeout=0)]
            now = time.monotonic()
            rows = [message.partition() for message in messages if message.error() is None]
            for message in messages if len(rows) < len(messages) else ():
                error = message.error()
                if error is not None and (error.fatal() or not error.retriable()):
                    self._error = error
                    return
            for partition, count in Counter(rows).items():
                self._arrivals[partition or 0].append((count, now))
            self._count += len(rows)


def measure_latency(
    pair: int, side: str, case: Case, effort: Repetitions, cluster: BenchCluster, topics: Topics
) -> LatencyRun:
    """Measure the latencies of one side under the paced load, on an input of its own.

    Raises
    ------
    Failure
        The side failed, or outputs are missing.
    """
    probes = case.partitions
    skipped = int(WARM_UP_SECONDS * effort.rate)
    n = skipped + max(1, int(effort.latency_seconds * effort.rate))
    values = [value for block in blocks(case, probes + n) for value in block]
    create_topics(cluster.bootstrap, cluster.properties, {topics.input: (case.partitions, {})})
    make_outputs(cluster.bootstrap, cluster.properties, topics, case)
    reader = LatencyReader(cluster, topics.predictions, case.partitions)
    try:
        loader = Loader(cluster.bootstrap, cluster.properties, topics.input, case.partitions, linger_ms=0)
        with cluster.contender(
            side, case, cluster.bootstrap, cluster.properties, topics, stop_at_end=False
        ) as processes:
            # One row per partition first: once their outputs arrive, every partition is being processed.
            loader.send(values[:probes])
            _await(reader, probes, READY_SECONDS, processes)
            due, late = send_paced(loader, values[probes:], effort.rate)
            loader.finish()
            _await(reader, probes + n, ARRIVAL_SECONDS, processes)
            processes.end()
    finally:
        reader.stop()
        cluster.drop(topics, input_too=True)
    arrivals = np.empty(probes + n)
    for p in range(case.partitions):
        arrivals[p :: case.partitions] = reader.times(p)
    delays_ms = 1000 * (arrivals[probes:] - due)[skipped:]
    percentiles = {name: float(np.percentile(delays_ms, q)) for name, q in PERCENTILES.items()}
    return LatencyRun(pair, side, **percentiles, largest=float(delays_ms.max()), sender_late=1000 * late)


def _await(reader: LatencyReader, wanted: int, seconds: float, processes: Contender) -> None:
    deadline = time.monotonic() + seconds
    while reader.count < wanted:
        processes.require_running()
        if time.monotonic() > deadline:
            raise Failure(f"{reader.count} of {wanted} outputs had arrived after {seconds:.0f} s")
        time.sleep(0.05)

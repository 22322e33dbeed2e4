"""Measure the throughput and cost of one side over a full input, timed by the broker's clock.

**What is timed.** The predictions topic stamps records when they are appended (LogAppendTime). A run's seconds are
those between its first and its last output record, over all partitions; start-up, group join and compilation come
before the first, leaving the group after the last. The rate is messages / seconds; the first batch counts in the
messages but not in the seconds, for all sides alike (1 % at 10^6 messages). A run counts only if its processes
exited with code 0 after committing everything, and every output partition is as long as its input.

**What is counted.** CPU seconds (user + system, all threads) of the side's processes as the operating system reports
them at exit, less those of the same process over a tiny input: interpreter, imports, kernels, joining, leaving. The
broker's CPU seconds are not included, but its work takes its share of the machine from all sides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from driftway.workbench.bench.cases import Case
from driftway.workbench.bench.contender import Contender, Cost
from driftway.workbench.bench.workload import drop, make_outputs
from driftway.worker.errors import Failure
from driftway.worker.kafka.topics import Topics

RUN_SECONDS = 900.0
READ_SECONDS = 30.0
VISIBLE_SECONDS = 5.0
TAIL_RECORDS = 100
"""Number of last offsets read: each commit adds a transaction marker, which no reader sees."""
MILLION = 1_000_000


@dataclass(frozen=True)
class Run:
    """One side's run.

    Parameters
    ----------
    pair : int
        Number of the repetition.
    side : str
        ``passthrough``, ``limit`` or ``worker``.
    messages_per_second : float
        Throughput as defined above.
    cpu_seconds : float
        CPU seconds per million messages, start-up subtracted.
    peak_rss : int
        Peak RSS of the largest process, in bytes.
    seconds : float
        Seconds between first and last output.
    """

    pair: int
    side: str
    messages_per_second: float
    cpu_seconds: float
    peak_rss: int
    seconds: float


@dataclass(frozen=True)
class BenchCluster:
    """Where a benchmark runs: the cluster, properties of all clients, the prefix of its topics, and the programs."""

    bootstrap: str
    properties: Mapping[str, Any]
    prefix: str
    contender: type[Contender] = Contender

    def topics(self, number: int, topic: str) -> Topics:
        """Return the topics of a run on an input; each run has a group of its own."""
        return Topics(topic, f"{self.prefix}-{number}")

    def drop(self, topics: Topics, input_too: bool = False) -> None:
        """Delete a run's outputs."""
        names = [*topics.outputs(), *([topics.input] if input_too else [])]
        drop(self.bootstrap, self.properties, names)


def copy_all(side: str, case: Case, cluster: BenchCluster, topics: Topics, n: int) -> tuple[Cost, float]:
    """Run a side over an input of n messages; return its cost, and the seconds from first to last output.

    Raises
    ------
    Failure
        The side failed, or its output is not complete.
    """
    make_outputs(cluster.bootstrap, cluster.properties, topics, case)
    try:
        with cluster.contender(
            side, case, cluster.bootstrap, cluster.properties, topics, stop_at_end=True
        ) as processes:
            cost = processes.wait(RUN_SECONDS)
        return cost, output_span(cluster, topics.predictions, case.partitions, n)
    finally:
        cluster.drop(topics)


def startup(side: str, case: Case, cluster: BenchCluster, topic: str, n: int, number: Callable[[], int]) -> Cost:
    """Return the cost of a side over a tiny input: the smaller of two runs, after one that fills caches."""
    costs = [copy_all(side, case, cluster, cluster.topics(number(), topic), n)[0] for _ in range(3)]
    return min(costs[1:], key=lambda cost: cost.cpu_seconds)


def measure(pair: int, side: str, case: Case, cluster: BenchCluster, topics: Topics, tiny: tuple[Cost, int]) -> Run:
    """Measure one run over the full input; `tiny` is the cost and the number of messages of a tiny one."""
    cost, seconds = copy_all(side, case, cluster, topics, case.messages)
    start, rows = tiny
    more = max(1, case.messages - rows)
    cpu = max(0.0, cost.cpu_seconds - start.cpu_seconds) * MILLION / more
    return Run(pair, side, case.messages / seconds, cpu, cost.peak_rss, seconds)


def output_span(cluster: BenchCluster, topic: str, partitions: int, n: int) -> float:
    """Return the seconds between the first and the last record of a topic, at least a millisecond, the stamps' unit."""
    from driftway.worker.admin.watch.topic_tail import LogEnds

    reader, deadline = LogEnds(cluster.bootstrap, cluster.properties), time.monotonic() + VISIBLE_SECONDS
    ends = reader.of({topic: partitions})
    for p in range(partitions):
        wanted = n // partitions + (p < n % partitions)
        # A commit returns before its markers are in every partition: the last one may appear a moment later.
        while ends[topic, p] < wanted:
            if time.monotonic() > deadline:
                raise Failure(f"{topic}/{p} holds {ends[topic, p]} records of {wanted}: the run is not complete")
            time.sleep(0.1)
            ends = reader.of({topic: partitions})
    first = min(_stamps(cluster, topic, partitions, dict.fromkeys(ends, 0), last=False))
    last = max(_stamps(cluster, topic, partitions, {at: max(0, end - TAIL_RECORDS) for at, end in ends.items()}, True))
    return max(1, last - first) / 1000


def _stamps(
    cluster: BenchCluster, topic: str, partitions: int, starts: dict[tuple[str, int], int], last: bool
) -> list[int]:
    """Return the timestamp of each partition's first, or last, record from `starts` on."""
    from driftway.worker.admin.watch.topic_tail import TopicTail

    found: dict[int, int] = {}
    deadline = time.monotonic() + READ_SECONDS
    with closing(TopicTail(cluster.bootstrap, cluster.properties, {topic: partitions}, starts)) as tail:
        while not tail.at_end if last else len(found) < partitions:
            for message in tail.poll(0.1):
                if last or message.partition() not in found:
                    found[message.partition()] = message.timestamp()[1]
            if time.monotonic() > deadline:
                raise Failure(f"{topic} could not be read in {READ_SECONDS:.0f} s")
    return list(found.values())

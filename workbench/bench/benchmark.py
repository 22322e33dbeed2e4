"""Run the sides in turn: their order, their topics, and progress messages."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping

from driftway.workbench.bench.cases import LATENCY_SIDES, Case, Repetitions, order
from driftway.workbench.bench.contender import Cost
from driftway.workbench.bench.latency import LatencyRun, measure_latency
from driftway.workbench.bench.report import BenchResult
from driftway.workbench.bench.throughput import BenchCluster, Run, measure, startup
from driftway.workbench.bench.workload import drop, fill

TINY_MESSAGES = 2_000


class Benchmark:
    """Measures cases on a running broker; a context manager whose exit removes every topic it created.

    Parameters
    ----------
    bootstrap : str
        The broker's address.
    effort : Repetitions
        Number and length of the runs, and client properties.
    say : callable
        Called with a line of text about progress and results.
    """

    def __init__(self, bootstrap: str, effort: Repetitions, say: Callable[[str], None]) -> None:
        self.effort = effort
        self.cluster = BenchCluster(bootstrap, effort.passthrough, f"driftway-bench-{uuid.uuid4().hex[:8]}")
        self._say = say
        self._numbers = itertools.count()
        self._filled: tuple[tuple[object, ...], dict[str, int], int] | None = None

    def __enter__(self) -> Benchmark:
        return self

    def __exit__(self, *_: object) -> None:
        self._forget()

    def run(self, case: Case) -> BenchResult:
        """Measure one case.

        Raises
        ------
        Failure
            A side failed.
        """
        full, tiny, message_bytes = self._inputs(case)
        runs: list[Run] = []
        if self.effort.repetitions:
            start = {
                side: startup(side, case, self.cluster, tiny, _tiny(case), self._next) for side in self.effort.sides
            }
            for side, cost in start.items():
                self._say(f"{side}: {cost.cpu_seconds:.2f} CPU seconds to start, subtracted from its runs")
            runs = list(self._throughput(case, full, start))
        latency_runs = list(self._latency(case))
        return BenchResult(case, self.effort, message_bytes, runs, latency_runs)

    def _throughput(self, case: Case, topic: str, start: Mapping[str, Cost]) -> Iterator[Run]:
        for pair in range(self.effort.repetitions):
            for side in order(pair, self.effort.sides):
                topics = self.cluster.topics(self._next(), topic)
                run = measure(pair, side, case, self.cluster, topics, (start[side], _tiny(case)))
                self._say(
                    f"{pair + 1}/{self.effort.repetitions} {side}: {run.messages_per_second:,.0f} messages/s, "
                    f"{run.cpu_seconds:.2f} CPU-s per million, {run.peak_rss / 1e6:.0f} MB"
                )
                yield run

    def _latency(self, case: Case) -> Iterator[LatencyRun]:
        for pair in range(self.effort.latency_repetitions):
            for side in order(pair, LATENCY_SIDES):
                number = self._next()
                topics = self.cluster.topics(number, f"{self.cluster.prefix}-paced-{number}")
                result = measure_latency(pair, side, case, self.effort, self.cluster, topics)
                self._say(
                    f"{pair + 1}/{self.effort.latency_repetitions} {side} at {self.effort.rate:,.0f}/s: "
                    f"p50 {result.p50:.0f}, p95 {result.p95:.0f}, p99 {result.p99:.0f}, p99.9 {result.p99_9:.0f} ms"
                )
                yield result

    def _next(self) -> int:
        return next(self._numbers)

    def _inputs(self, case: Case) -> tuple[str, str, int]:
        """Return the names of the full and the tiny input, and bytes per message; fill them unless already filled."""
        full, tiny = f"{self.cluster.prefix}-full", f"{self.cluster.prefix}-tiny"
        if self._filled is None or self._filled[0] != case.rows_key:
            self._forget()
            self._filled = case.rows_key, {full: case.messages, tiny: _tiny(case)}, 0
            self._say(f"writing {case.messages:,} messages")
            size = 0
            for topic, n in self._filled[1].items():
                size += fill(self.cluster.bootstrap, self.cluster.properties, topic, case, n)
            self._filled = *self._filled[:2], round(size / (case.messages + _tiny(case)))
        return full, tiny, self._filled[2]

    def _forget(self) -> None:
        if self._filled is not None:
            drop(self.cluster.bootstrap, self.cluster.properties, list(self._filled[1]))
            self._filled = None


def _tiny(case: Case) -> int:
    return max(case.partitions, min(TINY_MESSAGES, case.messages // 2))

"""The full pipeline on one machine: topics, workers and a replay as child processes, watched until all is predicted."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftway.workbench.demo.subprocesses import DriftwayProcess, end_all
from driftway.worker.admin.watch.completeness import OutcomeCounter, PartitionCount
from driftway.worker.admin.watch.dashboard import Dashboard, DashboardRow
from driftway.worker.admin.watch.topic_tail import LogEnds, TopicTail, read_prediction, read_rejection, readings
from driftway.worker.errors import Failure
from driftway.worker.kafka.log_reader.reader import PartitionId
from driftway.worker.kafka.topics import Topics, create_topics, output_plan
from driftway.worker.plots.curves import Curves, Dip, dips, scaled

WINDOW = 500
ACCURACY_EVERY = 100
START_SECONDS = 240.0
"""Time limit for every worker to subscribe: the first start on a machine compiles all kernels."""
STALL_SECONDS = 60.0
"""Without any progress for this long, something is wrong: a rebalance after a lost member takes less."""
END_SECONDS = 30.0
LAST_READ_SECONDS = 30.0


@dataclass(frozen=True)
class DemoPlan:
    """What a demo runs.

    Parameters
    ----------
    name : str
        Display name of the stream.
    total : int or None
        Number of rows, if known.
    drifts : tuple of int
        Rows at which a new concept starts.
    partitions, workers : int
        How many.
    replay, worker : tuple of str
        Arguments of the two commands besides topic, group and address.
    """

    name: str
    total: int | None
    drifts: tuple[int, ...]
    partitions: int
    workers: int
    replay: tuple[str, ...]
    worker: tuple[str, ...]


@dataclass(frozen=True)
class DemoProgress:
    """Progress of a demo: rows sent, outcomes read, total rows (None: unknown), dashboard, seconds of an outage."""

    sent: int
    done: int
    total: int | None
    seconds: float
    rows: list[DashboardRow]
    silent_seconds: float | None = None


@dataclass(frozen=True)
class DemoResult:
    """The result of a demo."""

    partition_counts: list[PartitionCount]
    curves: Curves
    dips: dict[str, list[Dip]]
    seconds: float
    sent_per_second: float
    sent: int
    rejected: dict[str, int]
    """Kind of reason -> number of rejections."""

    @property
    def exact(self) -> bool:
        """Whether every row sent has exactly one outcome."""
        return all(one.exact for one in self.partition_counts) and self.sent == sum(
            one.end for one in self.partition_counts
        )


@dataclass
class Demo:
    """One run of the demo on a running broker; a context manager that leaves no child process behind.

    Parameters
    ----------
    bootstrap : str
        The broker's address.
    plan : DemoPlan
        What to run.
    say : callable
        Called with a sentence on what happens next.
    show : callable
        Called several times a second until all rows have an outcome.
    """

    bootstrap: str
    plan: DemoPlan
    say: Callable[[str], None]
    show: Callable[[DemoProgress], None]
    input: str = field(default_factory=lambda: f"driftway-demo-{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.dashboard, self.curves, self.outcome_counter = Dashboard(), Curves(), OutcomeCounter()
        # A new group: members of an earlier demo that was killed would keep it waiting.
        self._topics = Topics(self.input, self.input, self.input)
        self._children: list[DriftwayProcess] = []
        self._tails: list[TopicTail] = []
        self._started = 0.0

    def __enter__(self) -> Demo:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.close()
        for tail in self._tails:
            tail.close()

    def run(self) -> DemoResult:
        """Create topics, start the children, watch until everything is accounted for, end the workers, count.

        Raises
        ------
        Failure
            A child failed, or there is no more progress.
        """
        n = self.plan.partitions
        create_topics(self.bootstrap, {}, {self.input: (n, {}), **output_plan(self._topics, n)})
        workers = self._start_workers()
        self._ends = LogEnds(self.bootstrap, {})
        self._points = self._tail(self._topics.accuracy)
        self._outcomes = self._tail(self._topics.predictions, self._topics.rejected)
        replay = self._start("replay", "replay", *self.plan.replay, "--to", self.input, "--quiet", "--json")
        report = self._watch(replay, workers)
        seconds = time.monotonic() - self._started
        self.say("all rows are predicted; stopping the workers")
        end_all(workers, END_SECONDS)
        return self._judge(report, seconds)

    def clear_up(self) -> None:
        """Delete topics and group, on a cluster that outlives the demo."""
        from driftway.worker.kafka.client_config import admin_client

        for child in self._children:
            child.close()  # a worker would complain about missing topics, and keep the group
        admin = admin_client(self.bootstrap, {})
        for future in admin.delete_topics([self.input, *self._topics.outputs()]).values():
            future.exception(timeout=END_SECONDS)
        for future in admin.delete_consumer_groups([self._topics.group]).values():
            future.exception(timeout=END_SECONDS)  # members just killed keep it alive; it expires by itself

    def _start(self, name: str, command: str, *arguments: str) -> DriftwayProcess:
        child = DriftwayProcess(name, command, *arguments, "--bootstrap", self.bootstrap)
        self._children.append(child)
        return child

    def _start_workers(self) -> list[DriftwayProcess]:
        count = self.plan.workers
        self.say(f"starting {'the worker' if count == 1 else f'{count} workers'} (a first start compiles the kernels)")
        common = (
            "--input",
            self.input,
            "--group",
            self._topics.group,
            "--output-prefix",
            self.input,
            "--start",
            "earliest",
        )
        shape = ("--metric-window", str(WINDOW), "--accuracy-every", str(ACCURACY_EVERY))
        workers = [
            self._start("worker" if count == 1 else f"worker {i + 1}", "worker", *common, *shape, *self.plan.worker)
            for i in range(count)
        ]
        deadline = time.monotonic() + START_SECONDS
        # Every partition runs somewhere, and every worker is in the group: then no row has to wait.
        while not (
            all(worker.has_printed(" subscribed ") for worker in workers)
            and all(
                any(w.has_printed(f" running partition={p} ") for w in workers) for p in range(self.plan.partitions)
            )
        ):
            _require_running(workers)
            if time.monotonic() > deadline:
                raise Failure(f"no worker was ready after {START_SECONDS:.0f} s{workers[0].output_end()}")
            time.sleep(0.05)
        return workers

    def _tail(self, *topics: str) -> TopicTail:
        tail = TopicTail(self.bootstrap, {}, dict.fromkeys(topics, self.plan.partitions))
        self._tails.append(tail)
        return tail

    def _watch(self, replay: DriftwayProcess, workers: Sequence[DriftwayProcess]) -> dict[str, Any]:
        """Show progress until the replay ended and every input offset has an outcome; return the replay's report."""
        report: dict[str, Any] | None = None
        moved, moved_at = -1, time.monotonic()
        self._started = moved_at
        while True:
            _require_running(workers)
            if report is None and (code := replay.exit_code()) is not None:
                if code != 0:
                    raise Failure(f"the replay ended with exit code {code}{replay.output_end()}")
                report = replay.report()
            self._read(0.2)
            ends = self._input_ends(self._ends.lately)
            sent = sum(ends.values())
            if not sent:
                self._started = time.monotonic()  # the replay's own start is not part of the throughput
            total = self.plan.total if report is None else sent
            seconds, silent = time.monotonic() - self._started, self.dashboard.silent_seconds
            self.show(DemoProgress(sent, self.outcome_counter.total, total, seconds, self.dashboard.rows(), silent))
            if report is not None and self.outcome_counter.complete(ends):
                return report
            if sent + self.outcome_counter.total > moved or self.dashboard.silent_seconds is not None:
                moved, moved_at = sent + self.outcome_counter.total, time.monotonic()
            elif time.monotonic() - moved_at > STALL_SECONDS:
                raise Failure(
                    f"no progress for {STALL_SECONDS:.0f} s: {self.outcome_counter.total:,} of {sent:,} rows are "
                    f"predicted{workers[0].output_end()}"
                )

    def _read(self, seconds: float) -> None:
        for message in self._outcomes.poll(seconds):
            place, rejected, _ = self._outcome(message)
            if place is not None:
                self.outcome_counter.count(*place, rejected)
                self.dashboard.add_outcome(*place)
        for point, written_at in readings(self._points.poll(0.0)):
            self.dashboard.add_point(point, written_at)
            self.curves.add(point)

    def _outcome(self, message: Any) -> tuple[tuple[int, int] | None, bool, str]:
        """Partition and offset of an event's outcome (None: only a label was set aside), whether and why rejected."""
        if message.topic() != self._topics.rejected:
            return read_prediction(message)[:2], False, ""
        found = read_rejection(message)
        return None if found.offset is None else (found.partition, found.offset), True, found.kind

    def _input_ends(self, asked: Callable[[dict[str, int]], dict[PartitionId, int]]) -> dict[int, int]:
        ends = {p: end for (_, p), end in asked({self.input: self.plan.partitions}).items()}
        self.dashboard.silent_seconds = self._ends.silent_seconds
        self.dashboard.ends(ends)
        return ends

    def _judge(self, report: dict[str, Any], seconds: float) -> DemoResult:
        """Count again, as seen by a reader that starts after everything has ended; last commits included."""
        counter, kinds = OutcomeCounter(), Counter[str]()
        tail = self._tail(self._topics.predictions, self._topics.rejected, self._topics.accuracy)
        deadline = time.monotonic() + LAST_READ_SECONDS
        while not tail.at_end:
            messages = tail.poll(0.2)
            for point, _ in readings([m for m in messages if m.topic() == self._topics.accuracy]):
                self.curves.add(point)
            for message in (m for m in messages if m.topic() != self._topics.accuracy):
                place, rejected, kind = self._outcome(message)
                if place is not None:
                    counter.count(*place, rejected)
                if kind:
                    kinds[kind] += 1
            if messages:
                deadline = time.monotonic() + LAST_READ_SECONDS
            elif time.monotonic() > deadline:
                raise Failure(f"the end of {self._topics.predictions} was not reached")
        n = self.plan.partitions
        found = {
            learner: dips(
                scaled(self.curves.mean(learner, "window_accuracy"), n), self.plan.drifts, self.curves.window * n
            )
            for learner in self.curves.learners
            if "window_accuracy" in self.curves.metrics
        }
        return DemoResult(
            counter.partition_counts(self._input_ends(self._ends.of)),
            self.curves,
            found,
            seconds,
            float(report["rate"]),
            int(report["rows"]),
            kinds,
        )


def _require_running(workers: Sequence[DriftwayProcess]) -> None:
    for worker in workers:
        if (code := worker.exit_code()) is not None:
            raise Failure(f"the {worker.name} ended unexpectedly with exit code {code}{worker.output_end()}")

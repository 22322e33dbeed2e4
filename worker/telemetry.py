"""The closed list of metrics that `/metrics` shows, each with unit and meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

if TYPE_CHECKING:
    from worker.model import Outputs
    from worker.task import Task
    from worker.verdicts import Verdict
    from worker.ways import Restored

STATES = ("created", "restoring", "running", "closed")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Telemetry:
    """Counters, gauges and histograms of one worker, on a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        one = ["partition"]
        self.records = Counter("driftway_records", "Input records taken", one, registry=registry)
        self.predictions = Counter("driftway_predictions", "Predictions emitted", one, registry=registry)
        self.rejections = Counter("driftway_rejections", "Records rejected", one, registry=registry)
        self.replayed = Counter("driftway_replayed", "Records relearned by restores", one, registry=registry)
        self.lag = Gauge("driftway_lag", "Records between position and end of the log", one, registry=registry)
        self.batch_seconds = Histogram(
            "driftway_batch_seconds",
            "Seconds from taking a batch to its outputs",
            buckets=SECONDS,
            registry=registry,
        )
        self.commit_seconds = Histogram(
            "driftway_commit_seconds", "Seconds of one commit", one, buckets=SECONDS, registry=registry
        )
        self.failures = Counter(
            "driftway_commit_failures",
            "Commits that failed, by verdict",
            ["partition", "verdict"],
            registry=registry,
        )
        self.restore_failures = Counter(
            "driftway_restore_failures",
            "Restores that failed, by verdict",
            ["partition", "verdict"],
            registry=registry,
        )
        self.restores = Counter(
            "driftway_restores",
            "Restores that succeeded, by where the state came from: memory or log",
            ["partition", "source"],
            registry=registry,
        )
        self.mends = Counter(
            "driftway_mends", "Restores that found outputs of a commit missing", one, registry=registry
        )
        self.strays = Counter(
            "driftway_strays", "Times that rows came from elsewhere than asked for", one, registry=registry
        )
        self.passed = Counter(
            "driftway_offsets_passed",
            "Input offsets without a record: transaction markers, aborted or compacted records",
            one,
            registry=registry,
        )
        self.snapshot_bytes = Gauge("driftway_snapshot_bytes", "Bytes of a task's state", one, registry=registry)
        self.snapshot_age = Gauge(
            "driftway_snapshot_age_seconds", "Seconds since a task's last snapshot", one, registry=registry
        )
        self.restore_left = Gauge(
            "driftway_restore_left", "Records that a restore still has to relearn", one, registry=registry
        )
        self.rebalances = Counter("driftway_rebalances", "Assignments received", registry=registry)
        self.task_state = Gauge(
            "driftway_task_state",
            "1 for the state that a task is in",
            ["partition", "state"],
            registry=registry,
        )
        self.accuracy = Gauge(
            "driftway_rolling",
            "Rolling metrics of a learner (window_accuracy, accuracy, mse, ...)",
            ["partition", "learner", "metric"],
            registry=registry,
        )

    def advanced(self, task: Task, records: int, outputs: Outputs | None, passed: int = 0) -> None:
        """Count a batch that a task took, and the offsets before it that had no record."""
        name = str(task.partition)
        self.records.labels(name).inc(records)
        self.passed.labels(name).inc(passed)
        if outputs is None:
            self.replayed.labels(name).inc(records)
            return
        self.predictions.labels(name).inc(outputs.rows)
        self.rejections.labels(name).inc(len(outputs.rejected))

    def committed(self, task: Task, seconds: float, consumer: Consumer) -> None:
        """Note a commit that took `seconds`."""
        name = str(task.partition)
        self.commit_seconds.labels(name).observe(seconds)
        self.snapshot_bytes.labels(name).set(task.state_bytes)
        place = TopicPartition(task.settings.input, task.partition)
        try:
            known = consumer.get_watermark_offsets(place, cached=True)
        except KafkaException:
            return
        if known is not None:
            self.lag.labels(name).set(max(0, known[1] - task.position))

    def failed(self, task: Task, what: str, verdict: Verdict) -> None:
        """Count a commit or a restore that failed, as `what` says."""
        counter = self.restore_failures if what.startswith("restore") else self.failures
        counter.labels(str(task.partition), verdict.value).inc()

    def restored(self, task: Task, found: Restored) -> None:
        """Count a restore that succeeded."""
        name = str(task.partition)
        self.restores.labels(name, "memory" if found.model is None else "log").inc()
        self.mends.labels(name).inc(found.mend is not None)

    def state(self, task: Task) -> None:
        """Show the state that a task is in."""
        for state in STATES:
            self.task_state.labels(str(task.partition), state).set(task.state.value == state)

    def points(self, tasks: list[Task]) -> None:
        """Refresh what moves by itself, and the rolling metrics; called when someone looks."""
        for task in tasks:
            self.snapshot_age.labels(str(task.partition)).set(task.snapshot_age)
            self.restore_left.labels(str(task.partition)).set(max(0, task.committed - task.position))
            for learner, point in task.model.latest_points().items():
                for metric, value in point.items():
                    if isinstance(value, int | float):
                        self.accuracy.labels(str(task.partition), learner, metric).set(value)


def readiness(tasks: list[Task]) -> tuple[bool, dict[str, Any]]:
    """Whether every assigned task is running, and what to say about it."""
    states = {str(task.partition): task.state.value for task in tasks}
    ready = all(state == "running" for state in states.values())
    return ready, {"ready": ready, "standby": not tasks, "tasks": states}

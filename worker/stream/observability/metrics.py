"""The closed list of metrics that `/metrics` shows, each with unit and meaning.

All have the labels group and topic, and most a partition; those are removed when the partition moves away. The
documents, the dashboard and the alert rules name metrics of this list only, which a test checks.
"""

from __future__ import annotations

import json
import platform
import time
from collections import Counter as Counted
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

import confluent_kafka
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.metrics import MetricWrapperBase

from driftway.worker.kafka.client_config import PYTHON
from driftway.worker.wire.rejections import kind_of

if TYPE_CHECKING:
    from driftway.worker.kafka.error_handling import ErrorAction
    from driftway.worker.state.outputs import Outputs
    from driftway.worker.stream.observability.health import HealthMonitor
    from driftway.worker.stream.task.restoring.restore_result import RestoreResult
    from driftway.worker.stream.task.task import Task
    from driftway.worker.wire.events import Records

STATES = ("created", "restoring", "running", "closed")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
WORKER = ("group", "topic")
Kind = TypeVar("Kind", bound=MetricWrapperBase)


class WorkerMetrics:
    """Counters, gauges and histograms of one worker, on a registry of its own.

    Parameters
    ----------
    group, topic : str
        The worker's, as labels of all metrics.
    client : str
        Its Kafka client, see `driftway.worker.kafka.client_factory`.
    """

    def __init__(self, group: str, topic: str, client: str = PYTHON) -> None:
        self.registry = CollectorRegistry()
        self._worker = group, topic
        self._partitioned: list[MetricWrapperBase] = []
        self._invisible: dict[int, deque[tuple[int, int]]] = {}
        """Partition -> batches that are not visible yet: the offset after each, and its first event's time in ms."""
        self._name_rows()
        self._name_shares()
        self._name_commits()
        self._name_restores()
        self._name_worker(client)

    def _name_rows(self) -> None:
        self.records = self._per_partition(Counter, "records", "Input records taken")
        self.predictions = self._per_partition(Counter, "predictions", "Predictions emitted")
        self.rejections = self._per_partition(Counter, "rejections", "Records rejected, by kind of reason", "reason")
        self.labels_set_aside = self._per_partition(
            Counter, "labels_set_aside", "Labels set aside, by kind of reason", "reason"
        )
        self.offsets_passed = self._per_partition(
            Counter, "offsets_passed", "Input offsets without a record: markers, aborted or compacted records"
        )
        self.drifts = self._per_partition(Counter, "drifts", "Drifts that a detector reported", "detector")
        self.wrong_offsets = self._per_partition(
            Counter, "wrong_offsets", "Times that the client delivered records from an offset that was not requested"
        )
        self.lag = self._per_partition(Gauge, "lag", "Offsets from the committed one to the end of the log")
        self.held_back = self._per_partition(
            Gauge, "held_back", "Offsets behind an open transaction of another producer, which cannot be read yet"
        )
        self.held_back_seconds = self._per_partition(
            Gauge, "held_back_seconds", "Seconds since that transaction wrote its first record; 0 if there is none"
        )
        self.rolling = self._per_partition(
            Gauge,
            "rolling",
            "Rolling metrics of a learner and of the baselines (window_accuracy, no_change_accuracy, "
            "calibration_error, mse, ...)",
            "learner",
            "metric",
        )
        self.plan = self._per_partition(Gauge, "plan", "Number of the plan of models that the partition has")
        self.relearn_left = self._per_partition(
            Gauge,
            "relearn_left",
            "Input offsets that models of the next plan still have to relearn",
        )
        self.expert_share = self._per_partition(
            Gauge,
            "expert_share",
            "Weight of an expert in a mixture such as auto; the weights sum to 1",
            "learner",
            "expert",
        )

        self.delayed_labels = self._per_partition(
            Gauge,
            "delayed_labels",
            "Rows that wait for their labels, rows whose label never arrived, recent delays of labels, and how far "
            "clocks are apart (waiting, never_labelled, delay_rows_median, delay_ms_p95, wrong_timestamps, "
            "furthest_ms, labels_waiting, labels_ahead_ms)",
            "figure",
        )

    def _name_shares(self) -> None:
        self.share_bytes = self._per_partition(
            Counter,
            "share_bytes",
            "Bytes of the exchange records written: models sent to and received from other partitions",
        )
        self.share_staleness = self._per_partition(
            Gauge, "share_staleness_seconds", "Age of the oldest update in the last exchange with other partitions"
        )
        self.shares = self._per_partition(
            Gauge,
            "shares",
            "Exchanges with other partitions since the partition began, updates since the restore that could not be "
            "merged, and records of incompatible learners (rounds, refused, incompatible)",
            "figure",
        )

    def _name_commits(self) -> None:
        self.latency = self._per_partition(
            Histogram, "latency_seconds", "Seconds from a batch's first event to its visible prediction"
        )
        self.commit_seconds = self._per_partition(Histogram, "commit_seconds", "Seconds of one commit")
        self.commit_failures = self._per_partition(
            Counter, "commit_failures", "Commits that failed, by verdict", "verdict"
        )
        self.aborts = self._per_partition(
            Counter, "aborts", "Transactions with outputs that were abandoned, to be aborted"
        )
        self.fences = self._per_partition(
            Counter, "fences", "Times that the partition's producer was fenced by another"
        )
        self.snapshot_written = self._per_partition(Counter, "snapshot_bytes", "Bytes of snapshots written")
        self.state_bytes = self._per_partition(Gauge, "state_bytes", "Bytes of a task's state")
        self.snapshot_age = self._per_partition(
            Gauge, "snapshot_age_seconds", "Seconds since a task's last snapshot, or its restore"
        )

    def _name_restores(self) -> None:
        self.restores = self._per_partition(
            Counter, "restores", "Restores that succeeded, by source of the state: memory or log", "source"
        )
        self.restore_failures = self._per_partition(
            Counter, "restore_failures", "Restores that failed, by verdict", "verdict"
        )
        self.restore_seconds = self._per_partition(
            Histogram, "restore_seconds", "Seconds that a restore took to load its state"
        )
        self.replayed = self._per_partition(Counter, "replayed", "Records relearned by restores")
        self.restore_left = self._per_partition(Gauge, "restore_left", "Records that a restore still has to relearn")
        self.output_repairs = self._per_partition(
            Counter, "output_repairs", "Restores that found outputs of a commit missing, which are written again"
        )
        self.task_state = self._per_partition(Gauge, "task_state", "1 for the state that a task is in", "state")

    def _name_worker(self, client: str) -> None:
        self.batch_seconds = self._of_worker(Histogram, "batch_seconds", "Seconds from taking a batch to its outputs")
        self.rebalances = self._of_worker(Counter, "rebalances", "Assignments received")
        self.reachable = self._of_worker(Gauge, "cluster_reachable", "1 if the cluster answered when last asked")
        self.turn_age = self._of_worker(Gauge, "turn_age_seconds", "Seconds since the loop last turned")
        self.client_errors = self._of_worker(
            Counter, "client_errors", "Errors reported by the Kafka clients, by kind", "kind"
        )
        self.promotions = self._of_worker(
            Counter, "promotions", "Challengers that this worker has promoted, with --promote"
        )
        self.throttled = self._of_worker(Counter, "throttled", "Requests that a broker has throttled")
        self.unknown_fields = self._of_worker(
            Counter, "unknown_fields", "Events with a field that is not read, with --unknown-fields count", "field"
        )
        self.broker_seconds = self._of_worker(
            Gauge, "broker_round_trip_seconds", "Mean round trip to a broker, of the group member's client", "broker"
        )
        self.fetched = self._of_worker(Gauge, "fetched_records", "Records fetched that the loop has not taken yet")
        build = Info("driftway_build", "Versions, and the Kafka client", WORKER, registry=self.registry)
        build.labels(*self._worker).info(
            {
                "version": _version(),
                "python": platform.python_version(),
                "librdkafka": confluent_kafka.libversion()[0],
                "client": client,
            }
        )

    def _per_partition(self, kind: type[Kind], name: str, text: str, *more: str) -> Kind:
        made = self._named(kind, name, text, (*WORKER, "partition", *more))
        self._partitioned.append(made)
        return made

    def _of_worker(self, kind: type[Kind], name: str, text: str, *more: str) -> Kind:
        made = self._named(kind, name, text, (*WORKER, *more))
        if not more:
            made.labels(*self._worker)  # shown from the start
        return made

    def _named(self, kind: type[Kind], name: str, text: str, labels: tuple[str, ...]) -> Kind:
        buckets = {"buckets": SECONDS} if kind is Histogram else {}
        return kind(f"driftway_{name}", text, labels, registry=self.registry, **buckets)  # type: ignore[arg-type]

    def partition_metric(self, metric: Kind, partition: int, *more: str) -> Kind:
        """Return the metric of a partition."""
        return metric.labels(*self._worker, str(partition), *more)

    def worker_metric(self, metric: Kind, *more: str) -> Kind:
        """Return the metric of the worker."""
        return metric.labels(*self._worker, *more)

    def advanced(
        self, task: Task, records: Records | None, outputs: Outputs | None, skipped: int = 0, waited: bool = False
    ) -> None:
        """Count a batch that a task took, None for events that had waited, and `skipped` offsets before it.

        A batch without outputs waits for labels if `waited`; otherwise it was relearned.
        """
        partition, n = task.partition, 0 if records is None else len(records)
        self.partition_metric(self.records, partition).inc(n)
        self.partition_metric(self.offsets_passed, partition).inc(skipped)
        if outputs is None:
            self.partition_metric(self.replayed, partition).inc(0 if waited else n)
            return
        self.partition_metric(self.predictions, partition).inc(outputs.rows)
        kinds = Counted((one.set_aside, kind_of(one.reason, one.set_aside)) for one in outputs.rejected)
        for (set_aside, kind), count in kinds.items():
            metric = self.labels_set_aside if set_aside else self.rejections
            self.partition_metric(metric, partition, kind).inc(count)
        for alarm in outputs.alarms:
            self.partition_metric(self.drifts, partition, alarm.detector).inc()
        if outputs.shares and task.model.exchange is not None:
            self.partition_metric(self.share_bytes, partition).inc(
                sum(len(one.key) + len(one.value) for one in outputs.shares)
            )
            if (sent_at := task.model.exchange.oldest_sent_at) is not None:
                self.partition_metric(self.share_staleness, partition).set(max(0.0, time.time() - sent_at / 1000))
        if records is not None:
            self._invisible.setdefault(partition, deque()).append((outputs.next_offset, records.timestamps[0]))

    def committed(self, task: Task, seconds: float) -> None:
        """Count a commit that took `seconds`; batches before it are visible now."""
        partition, now = task.partition, 1000 * time.time()
        self.partition_metric(self.commit_seconds, partition).observe(seconds)
        self.partition_metric(self.state_bytes, partition).set(task.state_bytes)
        self.partition_metric(self.snapshot_written, partition).inc(task.snapshot_bytes)
        unseen = self._invisible.get(partition, deque())
        while unseen and unseen[0][0] <= task.committed:
            self.partition_metric(self.latency, partition).observe(max(0.0, (now - unseen.popleft()[1]) / 1000))

    def failed(self, task: Task, what: str, verdict: ErrorAction) -> None:
        """Count a failed commit or restore, as `what` says."""
        counter = self.restore_failures if what.startswith("restore") else self.commit_failures
        self.partition_metric(counter, task.partition, verdict.value).inc()
        self.partition_metric(self.fences, task.partition).inc(verdict.value == "fenced")

    def aborted(self, task: Task) -> None:
        """Count an open transaction that is left for a takeover to abort."""
        self.partition_metric(self.aborts, task.partition).inc(task.checkpoint.open)
        self._invisible.pop(task.partition, None)

    def restored(self, task: Task, found: RestoreResult, seconds: float) -> None:
        """Count a restore that took `seconds`."""
        self.partition_metric(self.restores, task.partition, "memory" if found.model is None else "log").inc()
        self.partition_metric(self.restore_seconds, task.partition).observe(seconds)
        self.partition_metric(self.output_repairs, task.partition).inc(found.missing_outputs is not None)

    def state(self, task: Task) -> None:
        """Show a task's state; if it is closed, remove all metrics of its partition."""
        if task.state.value == "closed":
            self._invisible.pop(task.partition, None)
            for metric in self._partitioned:
                metric.remove_by_labels({"partition": str(task.partition)})
            return
        for state in STATES:
            self.partition_metric(self.task_state, task.partition, state).set(task.state.value == state)

    def refresh(self, tasks: list[Task], health: HealthMonitor) -> None:
        """Update metrics that change with time, and rolling metrics; called when they are read."""
        self.worker_metric(self.reachable).set(health.reachable)
        self.worker_metric(self.turn_age).set(health.idle_seconds)
        for partition, lag in lags(tasks, health.ends).items():
            self.partition_metric(self.lag, partition).set(lag)
        for task in tasks:
            held = health.open_transactions.found.get(task.partition)
            self.partition_metric(self.held_back, task.partition).set(0 if held is None else held.waiting)
            self.partition_metric(self.held_back_seconds, task.partition).set(0 if held is None else held.seconds)
            self.partition_metric(self.plan, task.partition).set(task.model.plan.number)
            self.partition_metric(self.relearn_left, task.partition).set(task.relearning.left)
            self.partition_metric(self.snapshot_age, task.partition).set(task.snapshot_age)
            self.partition_metric(self.restore_left, task.partition).set(max(0, task.committed - task.position))
            for learner, point in task.model.latest_points().items():
                for metric, value in point.items():
                    if isinstance(value, int | float):
                        self.partition_metric(self.rolling, task.partition, learner, metric).set(value)
            for figure, value in (task.model.delay_metrics() | task.clocks).items():
                self.partition_metric(self.delayed_labels, task.partition, figure).set(value)
            for figure, value in ({} if task.model.exchange is None else task.model.exchange.figures()).items():
                self.partition_metric(self.shares, task.partition, figure).set(value)
            for learner, shares in task.model.experts().items():
                for expert, share in shares.items():
                    self.partition_metric(self.expert_share, task.partition, learner, expert).set(share)

    def plan_taken(self, task: Task, before: Iterable[str]) -> None:
        """Forget the figures of models that a partition has no more; `before` are the names of those that it had."""
        for learner in set(before) - set(task.model.settings.names):
            for metric in (self.rolling, self.expert_share):
                metric.remove_by_labels({"partition": str(task.partition), "learner": learner})

    def unknown_fields_seen(self, fields: Mapping[str, int]) -> None:
        """Count unknown fields, which are not read: field -> events that had it."""
        for field, count in fields.items():
            self.worker_metric(self.unknown_fields, field).inc(count)

    def promoted(self) -> None:
        """Count a challenger that this worker has promoted."""
        self.worker_metric(self.promotions).inc()

    def client_error(self, kind: str) -> None:
        """Count an error that a client reported by itself."""
        self.worker_metric(self.client_errors, kind).inc()

    def request_throttled(self) -> None:
        """Count a request that a broker has throttled."""
        self.worker_metric(self.throttled).inc()

    def statistics(self, text: str) -> None:
        """Record the statistics of the group member's client; its `stats_cb`."""
        stats = json.loads(text)
        for broker in stats.get("brokers", {}).values():
            if broker.get("nodeid", -1) >= 0:
                self.worker_metric(self.broker_seconds, str(broker["nodeid"])).set(broker["rtt"]["avg"] / 1e6)
        waiting = (p["fetchq_cnt"] for t in stats.get("topics", {}).values() for p in t["partitions"].values())
        self.worker_metric(self.fetched).set(sum(waiting))


def lags(tasks: Collection[Task], ends: Mapping[int, int]) -> dict[int, int]:
    """Return partition -> offsets between the committed one and the log's end, where that is known."""
    return {task.partition: max(0, ends[task.partition] - task.committed) for task in tasks if task.partition in ends}


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("driftway")
    except PackageNotFoundError:
        return "unknown"

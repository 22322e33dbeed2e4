"""The closed list of metrics that `/metrics` shows, each with unit and meaning.

All have the labels group and topic, and most a partition; those are removed when the partition moves away. Those of
the process (`process_cpu_seconds_total` and others) are what Prometheus' client libraries show, without labels. The
documents, the dashboard and the alert rules name metrics of this list only, which a test checks.
"""

from __future__ import annotations

import platform
import time
from collections import Counter as Counted
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import confluent_kafka
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.metrics import MetricWrapperBase

from driftway import __version__
from driftway.worker.kafka.client_config import PYTHON
from driftway.worker.kafka.error_handling import ErrorAction
from driftway.worker.stream.observability.health import STARTING
from driftway.worker.stream.observability.task_figures import FIGURES
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.wire.rejections import kind_of

if TYPE_CHECKING:
    from driftway.worker.state.outputs import Outputs
    from driftway.worker.stream.observability.health import HealthMonitor
    from driftway.worker.stream.task.restoring.restore_result import RestoreResult
    from driftway.worker.stream.task.task import Task
    from driftway.worker.wire.events import Records

STATES = tuple(state.value for state in State)
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
        self._connected = set[str]()
        """Ids of the brokers that the member's client is connected with."""
        self._name_rows()
        self._name_shares()
        self._name_figures()
        self._name_commits()
        self._name_restores()
        self._name_worker(client)
        ProcessCollector(registry=self.registry)  # shows nothing where there is no /proc

    def _name_rows(self) -> None:
        self.records = self._per_partition(Counter, "records", "Input records processed")
        self.predictions = self._per_partition(Counter, "predictions", "Predictions written")
        self.challenger_predictions = self._per_partition(
            Counter, "challenger_predictions", "Predictions of challengers written, with --emit all"
        )
        self.rejections = self._per_partition(Counter, "rejections", "Records rejected, by kind of reason", "reason")
        self.labels_set_aside = self._per_partition(
            Counter, "labels_set_aside", "Labels set aside, by kind of reason", "reason"
        )
        self.skipped_offsets = self._per_partition(
            Counter,
            "skipped_offsets",
            "Input offsets without a record: transaction markers, aborted or compacted records",
        )
        self.drift_alarms = self._per_partition(Counter, "drift_alarms", "Drift alarms of a detector", "detector")
        self.unexpected_offsets = self._per_partition(
            Counter,
            "unexpected_offsets",
            "How often the client delivered records from an offset that was not requested",
        )
        self.consumer_lag = self._per_partition(
            Gauge,
            "consumer_lag_offsets",
            "Offsets between the committed offset and the end of the log; 0 if there is no record among them",
        )
        self.blocked_offsets = self._per_partition(
            Gauge,
            "open_transaction_blocked_offsets",
            "Offsets behind an open transaction of another producer, which cannot be read yet",
        )
        self.open_transaction_age = self._per_partition(
            Gauge,
            "open_transaction_age_seconds",
            "Seconds since that transaction wrote its first record; 0 if there is none",
        )
        self.learner_metric = self._per_partition(
            Gauge,
            "learner_metric",
            "Rolling metrics of a learner, and of the baselines (window_accuracy, no_change_accuracy, "
            "calibration_error, mse, ...)",
            "learner",
            "metric",
        )
        self.plan_number = self._per_partition(
            Gauge, "plan_number", "Number of the plan of models that the partition uses"
        )
        self.relearn_remaining = self._per_partition(
            Gauge,
            "relearn_remaining_offsets",
            "Input offsets that models of the next plan still have to relearn",
        )
        self.expert_weight = self._per_partition(
            Gauge,
            "expert_weight",
            "Weight of an expert in a mixture such as auto; the weights sum to 1",
            "learner",
            "expert",
        )

    def _name_shares(self) -> None:
        self.share_bytes = self._per_partition(
            Counter,
            "model_sharing_bytes",
            "Bytes of exchange records written, with the models sent to and received from other partitions",
        )
        self.share_staleness = self._per_partition(
            Gauge,
            "model_sharing_staleness_seconds",
            "Age of the oldest update in the last exchange with other partitions",
        )

    def _name_figures(self) -> None:
        self.figures: dict[str, Gauge] = {}
        """Name of a gauge in FIGURES -> the gauge."""
        for name, text, _, quantile in FIGURES.values():
            if name not in self.figures:
                self.figures[name] = self._per_partition(Gauge, name, text, *(("quantile",) if quantile else ()))

    def _name_commits(self) -> None:
        self.latency = self._per_partition(
            Histogram, "prediction_latency_seconds", "Seconds from a batch's first event to its visible prediction"
        )
        self.commit_duration = self._per_partition(
            Histogram, "commit_duration_seconds", "Duration of a commit in seconds"
        )
        self.commit_failures = self._per_partition(
            Counter, "commit_failures", "Commits that failed, by what the worker does about it", "action"
        )
        self.transaction_aborts = self._per_partition(
            Counter, "transaction_aborts", "Transactions with outputs that were given up and are aborted"
        )
        self.producer_fences = self._per_partition(
            Counter, "producer_fences", "How often the producer of the partition was fenced by another producer"
        )
        self.snapshot_written = self._per_partition(Counter, "snapshot_written_bytes", "Bytes of snapshots written")
        self.state_bytes = self._per_partition(Gauge, "state_bytes", "Bytes of a task's state")
        self.snapshot_age = self._per_partition(
            Gauge, "snapshot_age_seconds", "Seconds since the last snapshot of a task, or since its restore"
        )

    def _name_restores(self) -> None:
        self.restores = self._per_partition(
            Counter, "restores", "Restores that succeeded, by source of the state: memory or log", "source"
        )
        self.restore_failures = self._per_partition(
            Counter, "restore_failures", "Restores that failed, by what the worker does about it", "action"
        )
        self.restore_duration = self._per_partition(
            Histogram, "restore_duration_seconds", "Seconds that a restore took to load its state"
        )
        self.replayed_records = self._per_partition(Counter, "replayed_records", "Records relearned by restores")
        self.restore_remaining = self._per_partition(
            Gauge, "restore_remaining_offsets", "Input offsets that a restore still has to relearn"
        )
        self.output_repairs = self._per_partition(
            Counter, "output_repairs", "Restores that found outputs of a commit missing and wrote them again"
        )
        self.task_state = self._per_partition(Gauge, "task_state", "1 for the state that a task is in", "state")

    def _name_worker(self, client: str) -> None:
        self.batch_duration = self._of_worker(
            Histogram, "batch_duration_seconds", "Seconds from taking a batch to its outputs"
        )
        self.rebalances = self._of_worker(Counter, "rebalances", "Assignments received")
        self.reachable = self._of_worker(Gauge, "cluster_reachable", "1 if the cluster answered when last asked")
        self.poll_loop_age = self._of_worker(
            Gauge, "poll_loop_age_seconds", "Seconds since the poll loop last ran; 0 while the worker starts"
        )
        self.client_errors = self._of_worker(
            Counter, "client_errors", "Errors reported by the Kafka clients, by kind", "kind"
        )
        self.promotions = self._of_worker(
            Counter, "promotions", "Challengers that this worker has promoted, with --promote"
        )
        self.throttled_requests = self._of_worker(Counter, "throttled_requests", "Requests that a broker throttled")
        self.unknown_fields = self._of_worker(
            Counter, "unknown_fields", "Events with a field that is not read, with --unknown-fields count", "field"
        )
        self.broker_seconds = self._of_worker(
            Gauge,
            "broker_round_trip_seconds",
            "Mean round-trip time to a connected broker, for the consumer in the group",
            "broker",
        )
        self.fetch_queue = self._of_worker(
            Gauge, "fetch_queue_records", "Records that were fetched but that the poll loop has not processed yet"
        )
        build = Info("driftway_build", "Versions, and the Kafka client", WORKER, registry=self.registry)
        build.labels(*self._worker).info(
            {
                "version": __version__,
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
        self.partition_metric(self.skipped_offsets, partition).inc(skipped)
        if outputs is None:
            self.partition_metric(self.replayed_records, partition).inc(0 if waited else n)
            return
        self.partition_metric(self.predictions, partition).inc(outputs.rows)
        challengers = sum(len(one.offsets) for one in outputs.challengers)
        self.partition_metric(self.challenger_predictions, partition).inc(challengers)
        kinds = Counted((one.set_aside, kind_of(one.reason, one.set_aside)) for one in outputs.rejected)
        for (set_aside, kind), count in kinds.items():
            metric = self.labels_set_aside if set_aside else self.rejections
            self.partition_metric(metric, partition, kind).inc(count)
        for alarm in outputs.alarms:
            self.partition_metric(self.drift_alarms, partition, alarm.detector).inc()
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
        self.partition_metric(self.commit_duration, partition).observe(seconds)
        self.partition_metric(self.state_bytes, partition).set(task.state_bytes)
        self.partition_metric(self.snapshot_written, partition).inc(task.snapshot_bytes)
        unseen = self._invisible.get(partition, deque())
        while unseen and unseen[0][0] <= task.committed:
            self.partition_metric(self.latency, partition).observe(max(0.0, (now - unseen.popleft()[1]) / 1000))

    def failed(self, task: Task, what: str, action: ErrorAction) -> None:
        """Count a failed commit or restore, as `what` says."""
        counter = self.restore_failures if what.startswith("restore") else self.commit_failures
        self.partition_metric(counter, task.partition, action.value).inc()
        self.partition_metric(self.producer_fences, task.partition).inc(action is ErrorAction.FENCED)

    def aborted(self, task: Task) -> None:
        """Count an open transaction that is left for a takeover to abort."""
        self.partition_metric(self.transaction_aborts, task.partition).inc(task.checkpoint.open)
        self._invisible.pop(task.partition, None)

    def restored(self, task: Task, found: RestoreResult, seconds: float) -> None:
        """Count a restore that took `seconds`."""
        self.partition_metric(self.restores, task.partition, "memory" if found.model is None else "log").inc()
        self.partition_metric(self.restore_duration, task.partition).observe(seconds)
        self.partition_metric(self.output_repairs, task.partition).inc(found.missing_outputs is not None)

    def state(self, task: Task) -> None:
        """Show a task's state; if it is closed, remove all metrics of its partition."""
        if task.state is State.CLOSED:
            self._invisible.pop(task.partition, None)
            for metric in self._partitioned:
                metric.remove_by_labels({"partition": str(task.partition)})
            return
        for state in STATES:
            self.partition_metric(self.task_state, task.partition, state).set(task.state.value == state)

    def refresh(self, tasks: list[Task], health: HealthMonitor) -> None:
        """Update metrics that change with time, and those of learners; called when they are read."""
        self.worker_metric(self.reachable).set(health.reachable)
        self.worker_metric(self.poll_loop_age).set(0.0 if health.phase == STARTING else health.idle_seconds)
        for partition, lag in lags(tasks, health.ends).items():
            self.partition_metric(self.consumer_lag, partition).set(lag)
        for task in tasks:
            held = health.open_transactions.found.get(task.partition)
            self.partition_metric(self.blocked_offsets, task.partition).set(0 if held is None else held.waiting)
            self.partition_metric(self.open_transaction_age, task.partition).set(0 if held is None else held.seconds)
            self.partition_metric(self.plan_number, task.partition).set(task.model.plan.number)
            self.partition_metric(self.relearn_remaining, task.partition).set(task.relearning.left)
            self.partition_metric(self.snapshot_age, task.partition).set(task.snapshot_age)
            self.partition_metric(self.restore_remaining, task.partition).set(max(0, task.committed - task.position))
            for learner, point in task.model.latest_points().items():
                for metric, value in point.items():
                    if isinstance(value, int | float):
                        self.partition_metric(self.learner_metric, task.partition, learner, metric).set(value)
            shared = {} if task.model.exchange is None else task.model.exchange.figures()
            self._show_figures(task.partition, task.model.delay_metrics() | task.clocks | shared)
            for learner, shares in task.model.experts().items():
                for expert, share in shares.items():
                    self.partition_metric(self.expert_weight, task.partition, learner, expert).set(share)

    def _show_figures(self, partition: int, found: Mapping[str, int]) -> None:
        for figure, value in found.items():
            if (shown := FIGURES.get(figure)) is not None:
                metric = self.figures[shown.name]
                self.partition_metric(metric, partition, *filter(None, [shown.quantile])).set(shown.factor * value)

    def plan_taken(self, task: Task, before: Iterable[str]) -> None:
        """Forget the figures of models that a partition has no more; `before` are the names of those that it had."""
        for learner in set(before) - set(task.model.settings.names):
            for metric in (self.learner_metric, self.expert_weight):
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
        self.worker_metric(self.throttled_requests).inc()

    def statistics(self, stats: Mapping[str, Any]) -> None:
        """Record the statistics of the group member's client."""
        up = [one for one in stats.get("brokers", {}).values() if one.get("nodeid", -1) >= 0 and one["state"] == "UP"]
        found = {str(broker["nodeid"]): broker["rtt"]["avg"] / 1e6 for broker in up}
        for broker, seconds in found.items():
            self.worker_metric(self.broker_seconds, broker).set(seconds)
        for broker in self._connected - found.keys():
            self.broker_seconds.remove_by_labels({"broker": broker})
        self._connected = set(found)
        waiting = (p["fetchq_cnt"] for t in stats.get("topics", {}).values() for p in t["partitions"].values())
        self.worker_metric(self.fetch_queue).set(sum(waiting))


def lags(tasks: Collection[Task], ends: Mapping[int, int]) -> dict[int, int]:
    """Return partition -> offsets between the committed one and the log's end, where both are known."""
    # What is committed is not known before the first restore; from 0 on it would be the whole log.
    known = (task for task in tasks if task.partition in ends and (task.committed or task.state is not State.CREATED))
    return {task.partition: max(0, ends[task.partition] - task.committed) for task in known}

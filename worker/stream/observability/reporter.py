"""All reporting on a worker: metrics, progress log, health, spans, and errors of the clients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.kafka.error_handling import ErrorAction, TaskError, classify_failure
from driftway.worker.settings import CONSUMER, WorkerSettings
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.observability.client_errors import ClientErrors
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.health import RUNNING, HealthMonitor
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.stream.observability.progress_log import ProgressLog
from driftway.worker.stream.observability.service_manager import ServiceManager
from driftway.worker.stream.observability.tracing.tracing import Tracing
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.codec import parse_json
from driftway.worker.wire.events import Records
from driftway.worker.wire.schema.unknown_fields import COUNT, UnknownFields


class Reporter:
    """Passes what happens in a worker's loop to metrics, log, health and spans.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    event_log : EventLog
        The log.
    metrics : WorkerMetrics
        The metrics.
    tasks : mapping
        Partition -> task, as the loop keeps it.
    """

    def __init__(
        self, settings: WorkerSettings, event_log: EventLog, metrics: WorkerMetrics, tasks: Mapping[int, Task]
    ) -> None:
        self.metrics, self._event_log, self._tasks = metrics, event_log, tasks
        self._protocol = settings.protocol
        self.health = HealthMonitor(settings, event_log, lambda: {p: task.committed for p, task in list(tasks.items())})
        self.progress_log = ProgressLog(event_log, settings.input, settings.model.usage_example)
        self._manager = ServiceManager()
        self.tracing = Tracing(settings, event_log)
        model = settings.model
        counted = settings.unknown_fields == COUNT
        self._unknown = UnknownFields(model.events, model.loads() or parse_json) if counted else None
        self._client_errors = ClientErrors(event_log, metrics.client_error, metrics.request_throttled)
        self.misplaced: dict[int, tuple[int, int]] = {}
        """Partition -> sought offset, and the one that came instead; until a restore has read what is between."""
        self.callbacks: dict[str, Any] = {"error_cb": self._client_error, "throttle_cb": self._throttled}
        """Properties of every client that are callbacks."""

    def begin(self) -> dict[str, Any]:
        """Start monitoring; return the callbacks for the group member's client."""
        self.health.begin()
        self.tracing.begin()
        return {**self.callbacks, "stats_cb": self._statistics}

    def _statistics(self, text: str) -> None:
        """Record the statistics of the group member's client."""
        statistics = json.loads(text)
        self.metrics.statistics(statistics)
        group = statistics.get("cgrp", {})
        # In the newer protocol a member without partitions stays in the state "init".
        steady = self._protocol == CONSUMER or group.get("join_state") == "steady"
        self.health.record_membership(group.get("state") == "up" and steady)

    def _client_error(self, error: KafkaError) -> None:
        self._client_errors.error(error)
        self.health.record_client_error(error)

    def failure(self, error: KafkaException | TaskError) -> tuple[ErrorAction, str]:
        """Return what to do about a failure, and its message; if a broker refuses the worker's login, with that."""
        action, sentence = classify_failure(error)
        return action, self.health.with_refusal(sentence) if action is ErrorAction.UNKNOWN else sentence

    def _throttled(self, event: Any) -> None:
        self._client_errors.throttled(event)
        self.health.record_throttled(event.throttle_time)

    def turned(self) -> None:
        """Record a turn of the loop.

        Raises
        ------
        Unreachable
            The cluster has been silent for longer than --unavailable-timeout.
        """
        self.health.require_reachable()
        self.health.heartbeat(committed=not any(task.uncommitted for task in self._tasks.values()))
        self._manager.turned(lambda: self.health.alive)
        self.progress_log.tick(list(self._tasks.values()), self.health.ends)

    def advanced(
        self, task: Task, records: Records | None, outputs: Outputs | None, skipped: int, waited: bool = False
    ) -> None:
        """Record that a task took records: its outputs, None if it emitted nothing, and `skipped` offsets before.

        Records without outputs wait for labels if `waited`; otherwise they were relearned.
        """
        self.metrics.advanced(task, records, outputs, skipped, waited)
        if outputs is not None:
            n = outputs.rows + sum(not one.set_aside for one in outputs.rejected)
            self.progress_log.count(task.partition, n, outputs.rejected)
            self.progress_log.report_drifts(task.partition, outputs.alarms)
        if self._unknown is not None and records is not None:
            # What a restore only relearns is below the committed offset.
            seen = self._unknown.count(records.after(int(records.offsets.searchsorted(task.committed))))
            self.metrics.unknown_fields_seen(seen.events)
            self.progress_log.report_unknown_fields(task.partition, seen.first)

    def restored(self, task: Task, found: RestoreResult, seconds: float) -> None:
        """Record a restore that took `seconds`, after the task has taken its result."""
        position = {"partition": task.partition, "position": task.position, "committed": task.committed}
        self._report_misplaced(task.partition, task.position if found.start is None else found.start)
        remembered = {"from": "memory"} if found.model is None else {}
        self._event_log.event("restored", **position, **remembered, **({"note": found.note} if found.note else {}))
        self.metrics.restored(task, found, seconds)
        self.tracing.restored(task)
        self.metrics.state(task)

    def _report_misplaced(self, partition: int, start: int) -> None:
        """Report that the client delivered another offset than was sought, unless it has left out no record.

        If a transaction at the end of the log is aborted after a restore, the next record comes after it. `start` is
        the offset of the next record that the log has.
        """
        if (found := self.misplaced.pop(partition, None)) is None:
            return
        expected, received = found
        if not expected < received <= start:
            self._event_log.warning("unexpected offset", partition=partition, expected=expected, received=received)
            self.metrics.partition_metric(self.metrics.unexpected_offsets, partition).inc()

    def assigned(self) -> None:
        """Record that the group has told the worker its partitions, or that it stands by."""
        self.metrics.worker_metric(self.metrics.rebalances).inc()
        self.health.phase = RUNNING
        self._manager.joined()

    def running(self, task: Task) -> None:
        """Record that a task predicts from now on."""
        self.metrics.state(task)
        self._event_log.event("running", partition=task.partition, position=task.position)

    def commit_ended(self, task: Task, seconds: float, error: Exception | None) -> None:
        """Record a commit that took `seconds`; `error` if it failed, which the loop handles."""
        self.tracing.commit_ended(task, seconds, error)
        if error is None:
            self._committed(task, seconds)

    def _committed(self, task: Task, seconds: float) -> None:
        self.metrics.committed(task, seconds)
        for outcome in task.plan_changes.take_outcomes():
            adoption = outcome.adoption
            what = {"partition": task.partition, "plan": adoption.plan.number, "offset": adoption.offset}
            if outcome.passed_over is None:
                relearned = {} if adoption.relearned is None else adoption.relearned.summary
                self._event_log.event("plan adopted", **what, champion=adoption.plan.champion, **relearned)
                self.metrics.plan_taken(task, outcome.before)
            else:
                self._event_log.warning("plan passed over", **what, error=outcome.passed_over)
        self.progress_log.note_clocks(task)
        self.health.heartbeat(committed=True)

    def leaving(self) -> None:
        """Stop monitoring, while the partitions are still known."""
        self._manager.leaving()
        self.health.end()

    def end(self) -> None:
        """Log the summary."""
        self.progress_log.end(list(self._tasks.values()), self.health.open_transactions.summary())

    def refresh(self) -> None:
        """Update what the endpoint shows; called from its thread."""
        tasks = list(self._tasks.values())
        self.metrics.refresh(tasks, self.health)
        for task in tasks:  # what the loop has closed meanwhile would be shown for good
            if task.state is State.CLOSED and self._tasks.get(task.partition) in (None, task):
                self.metrics.state(task)

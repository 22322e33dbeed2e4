"""Everything that tells what a worker does: metrics, the log's progress_log, the health, what clients complain of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftway.worker.settings import WorkerSettings
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.observability.client_errors import ClientErrors
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.health import HealthMonitor
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.stream.observability.progress_log import ProgressLog
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.codec import parse_json
from driftway.worker.wire.events import Records
from driftway.worker.wire.schema.unknown_fields import COUNT, UnknownFields


class Reporter:
    """What a worker's loop tells of itself, in one place.

    Parameters
    ----------
    settings : WorkerSettings
        Whose.
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
        self.metrics, self._tasks = metrics, tasks
        self.health = HealthMonitor(settings, event_log, lambda: list(tasks))
        self.progress_log = ProgressLog(event_log, settings.input, settings.model.usage_example)
        model = settings.model
        counted = settings.unknown_fields == COUNT
        self._unknown = UnknownFields(model.events, model.loads() or parse_json) if counted else None
        complaints = ClientErrors(event_log, metrics.client_error, metrics.request_throttled)
        self.callbacks: dict[str, Any] = {"error_cb": complaints.error, "throttle_cb": complaints.throttled}
        """Properties of every client that are called."""

    def begin(self) -> dict[str, Any]:
        """Look from now on; the group member's client has these callbacks."""
        self.health.begin()
        return {**self.callbacks, "stats_cb": self.metrics.statistics}

    def turned(self) -> None:
        """The loop has turned.

        Raises
        ------
        Unreachable
            The cluster has been silent for longer than the worker waits.
        """
        self.health.require_reachable()
        self.health.heartbeat(committed=not any(task.uncommitted for task in self._tasks.values()))
        self.progress_log.tick(list(self._tasks.values()), self.health.ends)

    def advanced(
        self, task: Task, records: Records | None, outputs: Outputs | None, skipped: int, waited: bool = False
    ) -> None:
        """A task took records; what it emitted, None while it only relearns; offsets before them without a record.

        `waited`: with None they wait for labels.
        """
        self.metrics.advanced(task, records, outputs, skipped, waited)
        if outputs is not None:
            self.progress_log.count(task.partition, outputs.rows + len(outputs.rejected), outputs.rejected)
            self.progress_log.report_drifts(task.partition, outputs.alarms)
        if self._unknown is not None and records is not None:
            # Whatever a restore only learns again lies before what is committed.
            seen = self._unknown.count(records.after(int(records.offsets.searchsorted(task.committed))))
            self.metrics.unknown_fields_seen(seen.events)
            self.progress_log.report_unknown_fields(task.partition, seen.first)

    def committed(self, task: Task, seconds: float) -> None:
        """A commit that took `seconds` succeeded."""
        self.metrics.committed(task, seconds)
        self.health.heartbeat(committed=True)

    def end(self) -> None:
        """Look no more, and say what was done."""
        self.health.end()
        self.progress_log.end(list(self._tasks.values()))

    def refresh(self) -> None:
        """Bring up to date what the endpoint shows; called from its thread."""
        self.metrics.refresh(list(self._tasks.values()), self.health)

"""Everything that tells what a worker does: metrics, the log's chronicle, the pulse, what clients complain of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftway.worker.settings import WorkerSettings
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.observability.client_errors import Complaints
from driftway.worker.stream.observability.event_log import Journal
from driftway.worker.stream.observability.health import Pulse
from driftway.worker.stream.observability.metrics import Telemetry
from driftway.worker.stream.observability.progress_log import Chronicle
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.codec import parse_json
from driftway.worker.wire.events import Records
from driftway.worker.wire.schema.unknown_fields import COUNT, UnknownFields


class Instruments:
    """What a worker's loop tells of itself, in one place.

    Parameters
    ----------
    settings : WorkerSettings
        Whose.
    journal : Journal
        The log.
    telemetry : Telemetry
        The metrics.
    tasks : mapping
        Partition -> task, as the loop keeps it.
    """

    def __init__(
        self, settings: WorkerSettings, journal: Journal, telemetry: Telemetry, tasks: Mapping[int, Task]
    ) -> None:
        self.telemetry, self._tasks = telemetry, tasks
        self.pulse = Pulse(settings, journal, lambda: list(tasks))
        self.chronicle = Chronicle(journal, settings.input, settings.model.expected)
        model = settings.model
        counted = settings.unknown_fields == COUNT
        self._unknown = UnknownFields(model.events, model.loads() or parse_json) if counted else None
        complaints = Complaints(journal, telemetry.complained, telemetry.slowed)
        self.callbacks: dict[str, Any] = {"error_cb": complaints.error, "throttle_cb": complaints.throttled}
        """Properties of every client that are called."""

    def begin(self) -> dict[str, Any]:
        """Look from now on; the group member's client has these callbacks."""
        self.pulse.begin()
        return {**self.callbacks, "stats_cb": self.telemetry.statistics}

    def turned(self) -> None:
        """The loop has turned.

        Raises
        ------
        Unreachable
            The cluster has been silent for longer than the worker waits.
        """
        self.pulse.require_patience()
        self.pulse.beat(settled=not any(task.uncommitted for task in self._tasks.values()))
        self.chronicle.tick(list(self._tasks.values()), self.pulse.ends)

    def advanced(
        self, task: Task, records: Records | None, outputs: Outputs | None, passed: int, waited: bool = False
    ) -> None:
        """A task took records; what it emitted, None while it only relearns; offsets before them without a record.

        `waited`: with None they wait for labels.
        """
        self.telemetry.advanced(task, records, outputs, passed, waited)
        if outputs is not None:
            self.chronicle.count(task.partition, outputs.rows + len(outputs.rejected), outputs.rejected)
            self.chronicle.alarmed(task.partition, outputs.alarms)
        if self._unknown is not None and records is not None:
            # Whatever a restore only learns again lies before what is committed.
            seen = self._unknown.count(records.after(int(records.offsets.searchsorted(task.committed))))
            self.telemetry.passed_over(seen.events)
            self.chronicle.passed_over(task.partition, seen.first)

    def committed(self, task: Task, seconds: float) -> None:
        """A commit that took `seconds` succeeded."""
        self.telemetry.committed(task, seconds)
        self.pulse.beat(settled=True)

    def end(self) -> None:
        """Look no more, and say what was done."""
        self.pulse.end()
        self.chronicle.end(list(self._tasks.values()))

    def look(self) -> None:
        """Bring up to date what the endpoint shows; called from its thread."""
        self.telemetry.look(list(self._tasks.values()), self.pulse)

"""When to check that every partition of the input has a member; `rebalance_trigger` checks, and rebalances if not."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import base_properties, without_membership
from driftway.worker.processes import run_in_processes
from driftway.worker.settings import CONSUMER, WorkerSettings
from driftway.worker.stream.consumer.rebalance_trigger import WatchedGroup, ensure_assigned
from driftway.worker.stream.observability.event_log import EventLog

IDLE_SECONDS, BUSY_SECONDS, MAX_SECONDS = 3.0, 20.0, 60.0
"""Delay from the last change to the first check, for a member without partitions and with some, and the longest
interval between checks, which doubles while nothing changes."""
TICK_SECONDS = 0.25


class AssignmentWatchdog:
    """Watches the group's assignment on a thread of its own.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    event_log : EventLog
        Its format is used for lines about unassigned partitions.
    busy : callable
        Whether the member has partitions.
    """

    def __init__(self, settings: WorkerSettings, event_log: EventLog, busy: Callable[[], bool]) -> None:
        common = without_membership(base_properties(settings.bootstrap, settings.passthrough))
        self._group = WatchedGroup(settings.input, settings.group, common, event_log.form)
        self._protocol = settings.protocol
        self._busy = busy
        self._ended = threading.Event()
        self._changed_at = time.monotonic()

    def begin(self) -> None:
        """Start checking; the classic protocol needs no checks."""
        if self._protocol == CONSUMER:
            threading.Thread(target=self._run, name="assignment-watchdog", daemon=True).start()

    def reset(self) -> None:
        """Restart the schedule: something has happened to the group or its coordinator."""
        self._changed_at = time.monotonic()

    def end(self) -> None:
        """Stop checking."""
        self._ended.set()

    def _run(self) -> None:
        changed_at, checked_at = 0.0, 0.0
        while not self._ended.wait(TICK_SECONDS):
            if self._changed_at != changed_at:
                changed_at = checked_at = self._changed_at
            first = BUSY_SECONDS if self._busy() else IDLE_SECONDS
            now = time.monotonic()
            if now - checked_at >= min(max(first, checked_at - changed_at), MAX_SECONDS):
                checked_at = now
                with contextlib.suppress(Failure):  # no process can be started now
                    run_in_processes(ensure_assigned, (self._group,), self._ended.is_set)

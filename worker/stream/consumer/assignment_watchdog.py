"""When to check that every partition of the input has a member; what is done then: `rebalance_trigger`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from driftway.worker.kafka.client_config import base_properties, without_membership
from driftway.worker.processes import run_in_process
from driftway.worker.settings import CONSUMER, WorkerSettings
from driftway.worker.stream.consumer.rebalance_trigger import WatchedGroup, ensure_assigned
from driftway.worker.stream.observability.event_log import EventLog

IDLE_SECONDS, BUSY_SECONDS, MAX_SECONDS = 3.0, 20.0, 60.0
"""From the last change until the first look of a member without partitions, of one with some, and between looks: each
look without a change is twice as far from the one before."""
TICK_SECONDS = 0.25


class AssignmentWatchdog:
    """Looks after the group on a thread of its own, beside the member.

    Parameters
    ----------
    settings : WorkerSettings
        Whose group.
    event_log : EventLog
        Whose form the lines have that say that partitions were left unassigned.
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
        """Look from now on; in the classic protocol there is nothing to be looked after."""
        if self._protocol == CONSUMER:
            threading.Thread(target=self._run, name="assignment-watchdog", daemon=True).start()

    def reset(self) -> None:
        """Something has happened to the group, or to its coordinator."""
        self._changed_at = time.monotonic()

    def end(self) -> None:
        """Look no more."""
        self._ended.set()

    def _run(self) -> None:
        changed_at, looked_at = 0.0, 0.0
        while not self._ended.wait(TICK_SECONDS):
            if self._changed_at != changed_at:
                changed_at = looked_at = self._changed_at
            first = BUSY_SECONDS if self._busy() else IDLE_SECONDS
            now = time.monotonic()
            if now - looked_at >= min(max(first, looked_at - changed_at), MAX_SECONDS):
                looked_at = now
                run_in_process(ensure_assigned, self._group, self._ended.is_set)

"""Watches the assignment of a group with the `consumer` protocol.

It decides when to check that every partition of the input has a member, which `rebalance_trigger` does, and when a
worker that stops at the end of the log may leave the others.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import base_properties, without_membership
from driftway.worker.processes import run_in_processes
from driftway.worker.settings import CONSUMER, WorkerSettings
from driftway.worker.stream.consumer.rebalance_trigger import WatchedGroup, ensure_assigned
from driftway.worker.stream.consumer.unread import unread_partitions
from driftway.worker.stream.observability.event_log import EventLog

IDLE_SECONDS, BUSY_SECONDS, MAX_SECONDS = 3.0, 20.0, 60.0
"""Delay from the last change to the first check, for a member without partitions and with some, and the longest
interval between checks, which doubles while nothing changes."""
TICK_SECONDS = 0.25
SESSION_SECONDS, LOOK_SECONDS = 60.0, 0.5
"""Longest session that brokers allow by default (group.consumer.max.session.timeout.ms), and how often to look whether
the partitions of other members are read."""


class AssignmentWatchdog:
    """Watches the group's assignment on a thread of its own.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    event_log : EventLog
        Where waiting is logged; its format is used for lines about unassigned partitions.
    busy : callable
        Whether the member has partitions.
    """

    def __init__(self, settings: WorkerSettings, event_log: EventLog, busy: Callable[[], bool]) -> None:
        common = without_membership(base_properties(settings.bootstrap, settings.passthrough))
        self._group = WatchedGroup(settings.input, settings.group, common, event_log.form)
        self._settings, self._event_log, self._protocol = settings, event_log, settings.protocol
        self._next_look, self._logged = 0.0, False
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

    def others_have_read(self, owned: Collection[int]) -> bool:
        """Whether no dead member can have partitions with unread records, so that a worker may stop at the end.

        A member that has died keeps its partitions until its session ends; then they are assigned to the others. In
        the classic protocol, nobody gets partitions before that.
        """
        now = time.monotonic()
        if self._protocol != CONSUMER or now - self._changed_at > SESSION_SECONDS:
            return True
        if now < self._next_look:
            return False
        self._next_look = now + LOOK_SECONDS
        unread = unread_partitions(self._settings, owned)
        if unread and not self._logged:
            self._logged = True
            self._event_log.event("waiting for partitions of other members", partitions=unread)
        return unread == []

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

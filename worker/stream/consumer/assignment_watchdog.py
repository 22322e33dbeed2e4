"""Sees to it that every partition of the input is some member's: when to look. What for: see `stirring`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from driftway.worker.kafka.client_config import base_properties, without_membership
from driftway.worker.processes import run_apart
from driftway.worker.settings import CONSUMER, WorkerSettings
from driftway.worker.stream.consumer.rebalance_trigger import Group, settle
from driftway.worker.stream.observability.event_log import Journal

IDLE_SECONDS, BUSY_SECONDS, LONGEST_SECONDS = 3.0, 20.0, 60.0
"""From the last change until the first look of a member without partitions, of one with some, and between looks: each
look without a change is twice as far from the one before."""
TICK_SECONDS = 0.25


class Lookout:
    """Looks after the group on a thread of its own, beside the member.

    Parameters
    ----------
    settings : WorkerSettings
        Whose group.
    journal : Journal
        Whose form the lines have that say that partitions were forgotten.
    busy : callable
        Whether the member has partitions.
    """

    def __init__(self, settings: WorkerSettings, journal: Journal, busy: Callable[[], bool]) -> None:
        common = without_membership(base_properties(settings.bootstrap, settings.passthrough))
        self._group = Group(settings.input, settings.group, common, journal.form)
        self._protocol = settings.protocol
        self._busy = busy
        self._ended = threading.Event()
        self._changed_at = time.monotonic()

    def begin(self) -> None:
        """Look from now on; in the classic protocol there is nothing to be looked after."""
        if self._protocol == CONSUMER:
            threading.Thread(target=self._run, name="lookout", daemon=True).start()

    def unsettled(self) -> None:
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
            if now - looked_at >= min(max(first, looked_at - changed_at), LONGEST_SECONDS):
                looked_at = now
                run_apart(settle, self._group, self._ended.is_set)

"""The group as its output topics show it, read in a thread of its own, and only while somebody looks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from confluent_kafka import KafkaException

from driftway.worker.admin.page.history import GroupDashboard
from driftway.worker.admin.watch.dashboard import DashboardRow
from driftway.worker.admin.watch.watcher import Watcher
from driftway.worker.errors import Failure, Unreachable
from driftway.worker.kafka.error_handling import message_of
from driftway.worker.kafka.topics import present_topics
from driftway.worker.settings import WorkerSettings

FIRST_SECONDS, REFRESH_SECONDS = 0.2, 1.0
"""Time from one look at the rows to the next: the first, and the longest; each is twice the one before."""
IDLE_SECONDS = 15.0
"""Time without a request after which reading stops, and what was read is forgotten."""
RETRY_SECONDS = 2.0
POINTS_BACK = 60_000
"""Accuracy points read from before the first request, of all partitions together: a second of decoding."""


class DashboardReader(Protocol):
    """What reads a group's topics into a dashboard."""

    def refresh(self, seconds: float) -> list[DashboardRow]:
        """Read for `seconds`; return the rows."""

    @property
    def at_end(self) -> bool:
        """Whether everything that existed at the start has been read."""

    def close(self) -> None:
        """Close the clients."""


def open_group(settings: WorkerSettings, dashboard: GroupDashboard) -> Watcher:
    """Open what reads accuracy points, alarms and rejections, and asks for committed and end offsets.

    Predictions are not read: there may be hundreds of thousands a second. How far the group is, its commits say.

    Parameters
    ----------
    settings : WorkerSettings
        Of a worker of the group.
    dashboard : GroupDashboard
        Receives everything that is read.

    Raises
    ------
    Unreachable
        No broker answers.
    """
    topics, given = settings.topics, (settings.bootstrap, settings.passthrough)
    found = present_topics(*given)
    wanted = topics.input, topics.accuracy, topics.rejected, topics.alarms
    counts = {topic: found[topic] for topic in wanted if topic in found}
    if topics.accuracy not in counts or topics.input not in counts:
        raise Unreachable(f"topic {topics.accuracy} is not there yet")
    back = max(1, POINTS_BACK // counts[topics.accuracy])
    return Watcher(*given, topics, counts, False, dashboard, back)


class GroupView:
    """What the group's topics show, as long as somebody asks.

    Parameters
    ----------
    open_reading : callable
        Opens what reads the topics into a dashboard.
    clock : callable
        Returns seconds.
    """

    def __init__(
        self, open_reading: Callable[[GroupDashboard], DashboardReader], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._open_reading, self._clock = open_reading, clock
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked_at = float("-inf")
        self._began = 0
        self._dashboard = GroupDashboard()
        self._rows: list[DashboardRow] = []
        self._last = 0
        """Number of the newest point in the rows: newer ones are not drawn before the tables have them, too."""
        self._complete, self._error = False, ""

    @property
    def reading(self) -> bool:
        """Whether the thread is running."""
        return self._thread is not None

    def ask(self, view: int = 0, since: int = 0) -> dict[str, Any]:
        """Return what is known, and read on.

        Parameters
        ----------
        view, since : int
            ``view`` and ``cursor`` of the answer before: its points are then left out.
        """
        with self._lock:
            self._asked_at = self._clock()
            if self._thread is None:
                self._complete, self._error = False, ""
                self._thread = threading.Thread(target=self._run, daemon=True, name="page")
                self._thread.start()
            rows, last, dashboard, began, error = self._rows, self._last, self._dashboard, self._began, self._error
        champions = {row.partition: row.learner for row in reversed(rows)}  # the first of each partition
        models = [{**row.as_object(), "champion": row.learner == champions[row.partition]} for row in rows]
        for found in models:
            found.pop("reliability", None)
        drawn = dashboard.drawn(since if view == began else 0, last)
        return {"view": began, "complete": self._complete, "error": error or None, "models": models, **drawn}

    @property
    def _asked(self) -> bool:
        return self._clock() - self._asked_at < IDLE_SECONDS

    def _run(self) -> None:
        while self._wanted():
            try:
                self._read()
            except (Failure, KafkaException) as error:
                # What was read is still shown. It is read anew once that works again, so that nothing counts twice.
                self._error = message_of(error)
                time.sleep(RETRY_SECONDS)

    def _wanted(self) -> bool:
        with self._lock:
            if self._asked:
                return True
            self._thread = None
            self._dashboard, self._rows, self._last = GroupDashboard(), [], 0
            return False

    def _read(self) -> None:
        dashboard = GroupDashboard()
        reading = self._open_reading(dashboard)
        with self._lock:
            self._dashboard, self._last, self._began = dashboard, 0, self._began + 1
        try:
            seconds = FIRST_SECONDS
            while self._asked:
                rows = reading.refresh(seconds)
                seconds = min(2 * seconds, REFRESH_SECONDS)
                silent = dashboard.silent_seconds
                self._error = "" if silent is None else f"the broker has not answered for {silent:.0f} s"
                with self._lock:
                    self._rows, self._last = rows, dashboard.number
                    self._complete = self._complete or reading.at_end
        finally:
            reading.close()

"""Accuracy points over time for the page, thinned out to a bounded number per partition and learner. No Kafka here."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from typing import Any

from driftway.worker.admin.watch.dashboard import Dashboard

MAX_POINTS = 1000
"""Most points per series; with one more, every second one is dropped, and only every second of the next is kept."""
MAX_VALUES = 2_000_000
"""Most numbers of all series together: with many partitions and learners, each series has fewer points."""
FEWEST_POINTS = 50
MAX_ALARMS = 200
"""Newest drift alarms kept per partition."""
DRAWN = (
    "window_accuracy", "no_change_accuracy", "majority_accuracy", "window_mse", "mse", "window_coverage",
    "better_log_e", "worse_log_e",
)  # fmt: skip
"""Fields of accuracy points that are drawn."""


class Series:
    """What is drawn of one learner on one partition.

    Parameters
    ----------
    max_points : int
        Most points kept, >= 2.
    """

    def __init__(self, max_points: int = MAX_POINTS) -> None:
        self.max_points = max_points
        self._numbers: list[int] = []
        self._rows: list[tuple[Any, ...]] = []
        """Of each point: input offset, time in s since 1970 at which it was written, values of DRAWN."""
        self._stride, self._seen, self._last = 1, 0, -1

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, number: int, point: Mapping[str, Any], written_at: float | None) -> None:
        """Add a point; `number` is larger than that of each point before. A repetition is ignored."""
        offset = int(point["offset"])
        if offset <= self._last:
            return
        self._last = offset
        if self._seen % self._stride == 0:
            self._numbers.append(number)
            self._rows.append((offset, written_at, *(point.get(name) for name in DRAWN)))
        self._seen += 1
        while len(self._rows) > self.max_points:
            self._numbers, self._rows = self._numbers[::2], self._rows[::2]
            self._stride *= 2

    def since(self, number: int, last: int) -> dict[str, list[Any]]:
        """Return the points with larger numbers, up to `last`, as columns; empty: there are none.

        Columns without a value are left out.

        Column ``offset`` is always there; ``at`` is when a point was written.
        """
        first, end = bisect_right(self._numbers, number), bisect_right(self._numbers, last)
        columns = zip(*self._rows[first:end], strict=True)
        named = zip(("offset", "at", *DRAWN), map(list, columns), strict=False)
        return {name: column for name, column in named if any(value is not None for value in column)}


class GroupDashboard(Dashboard):
    """A dashboard that also keeps what is drawn; read by other threads than the one that fills it."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._series: dict[tuple[int, str], Series] = {}
        self._alarms: dict[int, deque[tuple[int, str]]] = {}
        self.number = 0
        """Offset of the newest point."""

    def add_point(self, point: dict[str, Any], written_at: float | None = None) -> None:
        super().add_point(point, written_at)
        key = int(point["partition"]), str(point["learner"])
        with self._lock:
            self.number += 1
            if key not in self._series:
                self._series[key] = Series()
                max_points = max(FEWEST_POINTS, min(MAX_POINTS, MAX_VALUES // (len(DRAWN) + 3) // len(self._series)))
                for series in self._series.values():
                    series.max_points = max_points
            self._series[key].add(self.number, point, written_at)

    def alarm(self, alarm: dict[str, Any], written_at: float | None = None) -> None:
        super().alarm(alarm, written_at)
        with self._lock:
            newest = self._alarms.setdefault(int(alarm["partition"]), deque(maxlen=MAX_ALARMS))
            newest.append((int(alarm["offset"]), str(alarm["detector"])))

    def drawn(self, since: int, last: int) -> dict[str, Any]:
        """Return the points after number `since` up to number `last`, which is the cursor, and the newest alarms."""
        with self._lock:
            found = [
                {"partition": partition, "learner": learner, **columns}
                for (partition, learner), series in self._series.items()
                if (columns := series.since(since, last))
            ]
            alarms = {str(p): [list(alarm) for alarm in newest] for p, newest in self._alarms.items()}
            return {"cursor": last, "series": found, "alarms": alarms}

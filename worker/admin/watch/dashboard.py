"""The watcher's view of an input: accuracy points and offsets aggregated into rows. No Kafka and no rendering here."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.admin.watch.recent_predictions import RecentPredictions

RATE_SECONDS = 5.0
"""Window of the rate in rows per second: several commits, yet short enough to show a stall."""
SHORTEST_SECONDS = 0.5
"""No rate is given over a shorter time, because it would be that of a single commit."""
HISTORY_POINTS = 480
"""Points kept per row; beyond that, the older half is dropped at once, so that a sparkline seldom shifts."""
WINDOWED = {True: "window_accuracy", False: "window_mse"}
"""The metric that shows drift, in classification and in regression."""

DRIFT_FIELDS = "detector", "offset"

BLOCKS = "▁▂▃▄▅▆▇█"
LEAST_SPAN = 0.05
"""Minimum range of a sparkline's scale, relative to the values, so that noise does not look like drift."""


@dataclass(frozen=True)
class DashboardRow:
    """One learner on one partition.

    Parameters
    ----------
    partition : int
        Partition of the input.
    learner : str
        The learner's spec; empty while the partition has predictions but no accuracy point.
    rows : int
        Input offsets accounted for: up to the newest one that has been predicted or rejected.
    rows_per_second : float or None
        Rate over the last RATE_SECONDS; None if not known yet.
    lag : int or None
        Input offsets without an outcome yet; None if the input's end is not known.
    point : dict
        The newest accuracy point, as on the wire.
    history : tuple of float
        The windowed metric, oldest first.
    rejected, set_aside : dict
        Kind of reason -> number of rejections, and of labels set aside, seen in the partition.
    drifts : dict
        Detector -> number of drift alarms seen in the partition.
    last_drift : tuple or None
        Detector and input offset of the newest alarm.
    clocks : mapping
        How far the clocks of producers are apart, see `driftway.worker.stream.task.task.Task.clocks`; empty: labels
        are not delayed.
    newest : mapping
        The champion's newest prediction, and how sure it is; empty for challengers, and before there is one.
    """

    partition: int
    learner: str
    rows: int
    rows_per_second: float | None
    lag: int | None
    point: dict[str, Any]
    history: tuple[float, ...]
    rejected: dict[str, int] = field(default_factory=dict)
    set_aside: dict[str, int] = field(default_factory=dict)
    drifts: dict[str, int] = field(default_factory=dict)
    last_drift: tuple[str, int] | None = None
    clocks: Mapping[str, int] = field(default_factory=dict)
    newest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows_since_drift(self) -> int | None:
        """Input offsets accounted for since the last alarm; None if there was none."""
        return None if self.last_drift is None else self.rows - 1 - self.last_drift[1]

    def as_object(self) -> dict[str, Any]:
        """The row as JSON: the fields of its point, overridden by the row's own."""
        return {
            **self.point,
            "partition": self.partition,
            "learner": self.learner or None,
            "offsets": self.rows,
            "rows_per_second": self.rows_per_second,
            "lag": self.lag,
            "rejected": self.rejected,
            "labels_set_aside": self.set_aside,
            "drifts": self.drifts,
            "last_drift": None if self.last_drift is None else dict(zip(DRIFT_FIELDS, self.last_drift, strict=True)),
            "rows_since_drift": self.rows_since_drift,
            **({"clocks": dict(self.clocks)} if self.clocks else {}),
            **({"newest_prediction": dict(self.newest)} if self.newest else {}),
        }


class Dashboard:
    """Aggregates what arrives into one row per partition and learner.

    Parameters
    ----------
    clock : callable
        Returns seconds since the epoch, on the same clock as the times given to `add_point`.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._points: dict[tuple[int, str], dict[str, Any]] = {}
        self._history: dict[tuple[int, str], list[float]] = {}
        self._plans: dict[int, tuple[int, list[str]]] = {}
        """Partition -> number of its newest plan, and the learners of that in order of appearance."""
        self._last_outcome: dict[int, int] = {}
        self._seen: dict[int, deque[tuple[float, int]]] = {}
        self._ends: dict[int, int] = {}
        self._rejected: dict[int, Counter[str]] = {}
        self._set_aside: dict[int, Counter[str]] = {}
        self._drifts: dict[int, dict[str, tuple[int, int]]] = {}
        """Partition -> detector -> number of alarms, and input offset of the last one."""
        self._newest: dict[int, tuple[int, Mapping[str, Any]]] = {}
        """Partition -> input offset of its newest prediction, and what that says."""
        self.silent_seconds: float | None = None
        """Seconds since the broker stopped answering; None if it answers."""
        self.recent: RecentPredictions | None = None
        """The champions' newest predictions with labels, if metrics of them are to be shown."""
        self.clocks: Mapping[int, Mapping[str, int]] = {}
        """Partition -> how far clocks are apart."""

    @property
    def delayed_partitions(self) -> list[int]:
        """Partitions whose labels are delayed, as their accuracy points say."""
        return sorted({partition for (partition, _), point in self._points.items() if "waiting" in point})

    @property
    def accounted(self) -> dict[int, int]:
        """Partition -> offset up to which its input is predicted or rejected."""
        return {partition: offset + 1 for partition, offset in self._last_outcome.items()}

    def add_point(self, point: dict[str, Any], written_at: float | None = None) -> None:
        """Add an accuracy point as on the wire, written at `written_at` (default: now)."""
        partition, learner = int(point["partition"]), str(point["learner"])
        number, plan = int(point.get("plan", 1)), self._plans.get(partition, (0, []))
        if number > plan[0]:
            plan = self._plans[partition] = number, []
        if number == plan[0] and learner not in plan[1]:
            plan[1].append(learner)
        self.add_outcome(partition, int(point["offset"]), written_at)
        series = partition, learner
        if int(point["offset"]) < self._points.get(series, point)["offset"]:
            return  # a duplicate by an at-least-once worker
        self._points[series] = point
        value = point.get(WINDOWED["window_accuracy" in point])
        if value is not None:
            history = self._history.setdefault(series, [])
            history.append(value)
            if len(history) > HISTORY_POINTS:
                del history[: HISTORY_POINTS // 2]

    def add_outcome(self, partition: int, offset: int, at: float | None = None) -> None:
        """Record that the input is predicted or rejected up to and including `offset`."""
        if offset <= self._last_outcome.get(partition, -1):
            return
        self._last_outcome[partition] = offset
        now = self._clock()
        seen = self._seen.setdefault(partition, deque())
        seen.append((now if at is None else min(at, now), offset))
        while len(seen) > 1 and seen[1][0] <= now - RATE_SECONDS:
            seen.popleft()

    def predict(self, partition: int, offset: int, said: Mapping[str, Any]) -> None:
        """Record a prediction; `said` as `DashboardRow.newest`."""
        self.add_outcome(partition, offset)
        if offset >= self._newest.get(partition, (-1, {}))[0]:
            self._newest[partition] = offset, said

    def reject(self, partition: int, kind: str, set_aside: bool = False) -> None:
        """Count a rejection, or a label that was set aside."""
        counts = self._set_aside if set_aside else self._rejected
        counts.setdefault(partition, Counter())[kind] += 1

    def alarm(self, alarm: dict[str, Any], written_at: float | None = None) -> None:
        """Count a drift alarm as on the wire; the input is accounted for up to its offset."""
        partition, detector, offset = int(alarm["partition"]), str(alarm["detector"]), int(alarm["offset"])
        self.add_outcome(partition, offset, written_at)
        drifts = self._drifts.setdefault(partition, {})
        count, last = drifts.get(detector, (0, -1))
        if offset > last:  # otherwise a duplicate by an at-least-once worker
            drifts[detector] = count + 1, offset

    def ends(self, ends: Mapping[int, int]) -> None:
        """Update the input's end offsets by partition."""
        self._ends.update(ends)

    def rows(self) -> list[DashboardRow]:
        """The rows by partition, then by learner of its newest plan in order of appearance (the champion first)."""
        all_series = [(p, learner) for p in sorted(self._last_outcome) for learner in self._plans.get(p, (0, [""]))[1]]
        champions = dict(reversed(all_series))
        found = []
        for series in all_series:
            partition, learner = series
            accounted, end = self._last_outcome[partition], self._ends.get(partition)
            drifts, champion = self._drifts.get(partition, {}), learner == champions[partition]
            point, recent = self._points.get(series, {}), {}
            if self.recent is not None and champion and "window_accuracy" in point:  # else targets are numbers
                recent = self.recent.figures(partition)
            last = max(((offset, detector) for detector, (_, offset) in drifts.items()), default=None)
            found.append(
                DashboardRow(
                    partition,
                    learner,
                    accounted + 1,
                    self._rate(partition),
                    None if end is None else max(0, end - accounted - 1),
                    {**point, **recent},
                    tuple(self._history.get(series, ())),
                    dict(self._rejected.get(partition, Counter()).most_common()),
                    dict(self._set_aside.get(partition, Counter()).most_common()),
                    {detector: count for detector, (count, _) in drifts.items()},
                    None if last is None else (last[1], last[0]),
                    self.clocks.get(partition, {}),
                    self._newest.get(partition, (-1, {}))[1] if champion else {},
                )
            )
        return found

    def _rate(self, partition: int) -> float | None:
        """Offsets per second over the last RATE_SECONDS; the offset counts as constant between two observations."""
        now, seen = self._clock(), self._seen[partition]
        start = max(seen[0][0], now - RATE_SECONDS)
        before = [offset for at, offset in seen if at <= start] or [seen[0][1]]
        if now - start < SHORTEST_SECONDS:
            return None
        return (seen[-1][1] - before[-1]) / (now - start)


def grouped(values: tuple[float, ...], width: int) -> list[float]:
    """Average consecutive values in groups, giving at most `width` means."""
    per = max(1, -(-len(values) // max(1, width)))
    # Groups start at the first value: if they ended at the last one, each new value would redraw the whole line.
    groups = [values[start : start + per] for start in range(0, len(values), per)]
    return [sum(group) / len(group) for group in groups]


def scale(lines: Iterable[Sequence[float]]) -> tuple[float, float]:
    """Lower and upper bound of a scale that is shared by all lines, so that equal values look the same."""
    values = [value for line in lines for value in line]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    return low, max(high, low + max(LEAST_SPAN * max(abs(high), abs(low)), 1e-12))


def sparkline(means: Sequence[float], bounds: tuple[float, float]) -> str:
    """Draw values as a line of block characters, on the scale given by `bounds`."""
    low, high = bounds
    top = len(BLOCKS) - 1
    return "".join(BLOCKS[min(top, int((mean - low) / (high - low) * len(BLOCKS)))] for mean in means)

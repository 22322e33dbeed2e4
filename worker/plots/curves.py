"""Accuracy points as curves over rows: per partition, mean over partitions, baselines, dips after drifts. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RECOVERED = 0.01
"""A dip is over when the metric is back within this of its level before: about one standard deviation of a
window of 1000 rows at 87 %."""
SEARCH_WINDOWS = 4
"""A drift's dip is searched for up to this many windows after it: later lows are noise or another drift's."""

NO_METRICS = (
    *("partition", "offset", "labels", "window", "experts", "drift", "learner", "group", "model_digest", "t"),
    *("better_since", "worse_since"),
    "model",  # the digest's name in earlier versions
)
"""Fields of a point that cannot be drawn."""


class Line(NamedTuple):
    """A curve: x f8[n] rows, increasing; y f8[n] values."""

    x: Floats
    y: Floats


@dataclass(frozen=True)
class Dip:
    """What a drift did to a curve.

    Parameters
    ----------
    drift : int
        Row of the drift.
    before : float
        Mean level over the windows before it.
    deepest : float
        Lowest value after it.
    recovered : int or None
        Rows from the drift until the curve was back at its level; None: not before the next drift or the end.
    """

    drift: int
    before: float
    deepest: float
    recovered: int | None

    @property
    def visible(self) -> bool:
        """Whether the curve fell by more than it fluctuates."""
        return self.deepest < self.before - RECOVERED


class Curves:
    """All accuracy points of an input, by learner and partition."""

    def __init__(self) -> None:
        self._points: dict[str, dict[int, dict[int, dict[str, Any]]]] = {}

    def add(self, point: dict[str, Any]) -> None:
        """Add a point as on the wire; it replaces an earlier one of the same offset."""
        partitions = self._points.setdefault(str(point["learner"]), {})
        partitions.setdefault(int(point["partition"]), {})[int(point["offset"])] = point

    @property
    def learners(self) -> list[str]:
        """Learners in order of appearance: the champion first."""
        return list(self._points)

    @property
    def partitions(self) -> list[int]:
        """Partitions that have points."""
        return sorted({p for partitions in self._points.values() for p in partitions})

    @property
    def metrics(self) -> list[str]:
        """Metrics that can be drawn: the numbers of the newest points, those of challengers included."""
        found = (pair for _, point in self._newest() for pair in point.items())
        names = dict.fromkeys(name for name, value in found if not isinstance(value, list | dict))
        return [name for name in names if name not in NO_METRICS]

    @property
    def window(self) -> int:
        """Rows of the rolling window, as far as it has been filled."""
        return max((int(point["window"]) for _, point in self._newest()), default=0)

    def alarms(self) -> list[int]:
        """Offsets of alarms of a worker's own drift detectors: each detector's last one in every point."""
        series = (s for partitions in self._points.values() for s in partitions.values())
        points = (point for one in series for point in one.values())
        return sorted({int(offset) for point in points for offset in (point.get("drift") or {}).values()})

    def line(self, learner: str, partition: int, metric: str) -> Line:
        """A metric of a learner on a partition, over the rows of that partition."""
        points = self._sorted(learner, partition)
        return _line((point["offset"] + 1, point.get(metric)) for point in points)

    def mean(self, learner: str, metric: str) -> Line:
        """A metric of a learner, averaged over the partitions."""
        return _mean([self.line(learner, p, metric) for p in self._points[learner]])

    def findings(self, learner: str, metric: str, side: str) -> Line:
        """Where, on its line of each partition, a challenger was first ``better`` or ``worse`` than the champion."""
        marks = []
        for partition in self._points[learner]:
            line, since = (
                self.line(learner, partition, metric),
                self._sorted(learner, partition)[-1].get(f"{side}_since"),
            )
            if since is not None and len(line.x):
                marks.append((since + 1, float(np.interp(since + 1, *line))))
        return _line(marks)

    def baseline(self, metric: str) -> Line:
        """A baseline's accuracy (``no_change_accuracy``, ``majority_accuracy``) over the same rolling window.

        Points hold it over all rows so far; the difference of two points is exact, because hits are integers.
        """
        learner = self.learners[0]
        lines = []
        for partition in self._points[learner]:
            points = [p for p in self._sorted(learner, partition) if p.get(metric) is not None]
            labels = np.array([0, *(p["labels"] for p in points)], np.float64)
            hits = np.rint(np.array([0.0, *(p[metric] * p["labels"] for p in points)]))
            starts = labels[1:] - [p["window"] for p in points]
            back = np.maximum(labels.searchsorted(starts, "right") - 1, 0)
            rolling = (hits[1:] - hits[back]) / np.maximum(labels[1:] - labels[back], 1.0)
            lines.append(_line((p["offset"] + 1, v) for p, v in zip(points, rolling.tolist(), strict=True)))
        return _mean(lines)

    def totals(self, learner: str) -> dict[str, float]:
        """Each metric at the newest points, weighted by labelled rows over the partitions; and ``labels``."""
        newest = [point for name, point in self._newest() if name == learner]
        labels = sum(point["labels"] for point in newest)
        found = {"labels": float(labels)}
        for metric in self.metrics:
            known = [(point[metric], point["labels"]) for point in newest if point.get(metric) is not None]
            if weight := sum(n for _, n in known):
                found[metric] = sum(value * n for value, n in known) / weight
        return found

    def _sorted(self, learner: str, partition: int) -> list[dict[str, Any]]:
        series = self._points[learner].get(partition, {})
        return [series[offset] for offset in sorted(series)]

    def _newest(self) -> list[tuple[str, dict[str, Any]]]:
        return [
            (learner, series[max(series)])
            for learner, partitions in self._points.items()
            for series in partitions.values()
        ]


def scaled(line: Line, rows: float) -> Line:
    """Scale a line so that each of its rows stands for `rows` rows."""
    return Line(line.x * rows, line.y)


def dips(line: Line, drifts: Sequence[int], window: float) -> list[Dip]:
    """What each drift did to a curve on which higher is better; drifts before the first window are left out.

    Parameters
    ----------
    line : Line
        The curve.
    drifts : sequence of int
        Rows at which a new concept starts, on the line's x.
    window : float
        Rows of the rolling window, on the line's x.
    """
    found = []
    edges = [*sorted(drifts), np.inf]
    for drift, following in itertools.pairwise(edges):
        earlier = line.y[(line.x > max(window, drift - SEARCH_WINDOWS * window)) & (line.x <= drift)]
        segment = (line.x > drift) & (line.x <= following)
        searched = segment & (line.x <= drift + SEARCH_WINDOWS * window)
        if not len(earlier) or not searched.any():
            continue
        before = float(earlier.mean())
        low = int(np.flatnonzero(searched)[line.y[searched].argmin()])
        back = np.flatnonzero(segment & (line.x >= line.x[low]) & (line.y >= before - RECOVERED))
        recovered = int(line.x[back[0]] - drift) if len(back) else None
        found.append(Dip(int(drift), before, float(line.y[low]), recovered))
    return found


def _line(pairs: Any) -> Line:
    known = [(x, y) for x, y in pairs if y is not None]
    return Line(np.array([x for x, _ in known], np.float64), np.array([y for _, y in known], np.float64))


def _mean(lines: list[Line]) -> Line:
    """Mean of lines at every x of any, each interpolated inside its own range only."""
    lines = [line for line in lines if len(line.x)]
    if not lines:
        return Line(np.empty(0), np.empty(0))
    x = np.unique(np.concatenate([line.x for line in lines]))
    total, count = np.zeros(len(x)), np.zeros(len(x))
    for line in lines:
        inside = (x >= line.x[0]) & (x <= line.x[-1])
        total[inside] += np.interp(x[inside], line.x, line.y)
        count[inside] += 1
    covered = count == len(lines) if (count == len(lines)).any() else count > 0
    return Line(x[covered], total[covered] / count[covered])

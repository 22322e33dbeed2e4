"""Figures for the page from a worker's own metrics: about itself and its partitions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from driftway.worker.stream.observability.metrics import lags
from driftway.worker.stream.worker import Worker

if TYPE_CHECKING:
    from prometheus_client import Counter, Histogram
    from prometheus_client.samples import Sample

QUANTILES = 0.5, 0.99
RECENT_SECONDS = 60.0
"""Quantiles are those of what came about this long ago or later; of all since the start while that is younger."""
LEAST_SECONDS = 1.0
"""Least time between two looks at the metrics, however many ask."""

Buckets = tuple[tuple[float, float], ...]


class OwnFigures:
    """Figures of one worker, of about the last minute where they are quantiles.

    Parameters
    ----------
    worker : Worker
        The worker.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        metrics = worker.metrics
        self._counters = (
            metrics.records, metrics.predictions, metrics.restores, metrics.restore_failures, metrics.output_repairs,
            metrics.commit_failures, metrics.transaction_aborts, metrics.producer_fences, metrics.rejections,
            metrics.labels_set_aside, metrics.drift_alarms, metrics.replayed_records, metrics.rebalances,
            metrics.promotions, metrics.client_errors, metrics.throttled_requests,
        )  # fmt: skip
        self._histograms = metrics.latency, metrics.commit_duration, metrics.restore_duration
        self._seen: deque[tuple[float, dict[tuple[str, str], Buckets]]] = deque()
        """When it was looked, and (histogram, partition) -> its buckets then."""
        self._known: dict[str, Any] = {}
        self._known_at = float("-inf")

    def get(self) -> dict[str, Any]:
        """Return the figures, at most LEAST_SECONDS old."""
        if time.monotonic() - self._known_at >= LEAST_SECONDS:
            self._known, self._known_at = self._look(), time.monotonic()
        return self._known

    def _look(self) -> dict[str, Any]:
        worker, health = self._worker, self._worker.reporter.health
        tasks = list(worker.tasks.values())
        own: dict[str, Any] = {}
        behind = lags(tasks, health.ends)
        partitions: dict[str, dict[str, Any]] = {
            str(task.partition): {
                "state": task.state.value,
                "position": task.position,
                "committed": task.committed,
                "lag": behind.get(task.partition),
                "plan": task.model.plan.number,
                "state_bytes": task.state_bytes,
                "snapshot_age_seconds": round(task.snapshot_age, 1),
            }
            for task in tasks
        }
        buckets: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for name, sample in _samples(self._counters, "_total"):
            place = partitions.get(sample.labels["partition"]) if "partition" in sample.labels else own
            if place is not None:
                _count(place, name, sample.labels, sample.value)
        for name, sample in _samples(self._histograms, "_bucket"):
            if (partition := sample.labels["partition"]) in partitions:
                buckets.setdefault((name, partition), []).append((float(sample.labels["le"]), sample.value))
        now = {key: tuple(sorted(found)) for key, found in buckets.items()}
        before = self._a_minute_ago(now)
        for (name, partition), found in now.items():
            partitions[partition][name] = quantiles(found, before.get((name, partition), ()))
        ready, facts = health.readiness(tasks)
        return {
            **own,
            "phase": health.phase,
            "ready": ready,
            "cluster": facts["cluster"],
            "behind_open_transactions": facts.get("behind_open_transactions", {}),
            "partitions": partitions,
        }

    def _a_minute_ago(self, now: dict[tuple[str, str], Buckets]) -> dict[tuple[str, str], Buckets]:
        at = time.monotonic()
        self._seen.append((at, now))
        while len(self._seen) > 1 and self._seen[1][0] <= at - RECENT_SECONDS:
            self._seen.popleft()
        return self._seen[0][1] if len(self._seen) > 1 else {}


def _samples(metrics: Iterable[Counter | Histogram], kind: str) -> Iterator[tuple[str, Sample]]:
    """Yield the samples whose names end with `kind`, each with its metric's name without the prefix of all."""
    for metric in metrics:
        for family in metric.collect():
            for sample in family.samples:
                if sample.name.endswith(kind):
                    yield family.name.removeprefix("driftway_"), sample


def _count(into: dict[str, Any], name: str, labels: dict[str, str], value: float) -> None:
    """Add a sample: as a number, or as a mapping if it has a label of its own."""
    own = [text for label, text in labels.items() if label not in ("group", "topic", "partition")]
    if own:
        into.setdefault(name, {})["/".join(own)] = int(value)
    else:
        into[name] = int(value)


def quantiles(now: Iterable[tuple[float, float]], before: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return count and quantiles of what a cumulative histogram gained; interpolated, as Prometheus does it.

    Parameters
    ----------
    now, before : sequence of (float, float)
        Upper bound of each bucket, and observations up to it; `before` is empty: all counts.
    """
    earlier = dict(before)
    gained = [(bound, count - earlier.get(bound, 0.0)) for bound, count in now]
    total = gained[-1][1] if gained else 0.0
    found: dict[str, Any] = {"count": int(total)}
    for q in QUANTILES:
        found[f"p{round(100 * q)}"] = _quantile(gained, q * total) if total else None
    return found


def _quantile(gained: Sequence[tuple[float, float]], rank: float) -> float:
    low, below = 0.0, 0.0
    for bound, count in gained:
        if count >= rank:
            if bound == float("inf"):
                break
            return round(low + (bound - low) * (rank - below) / max(count - below, 1e-12), 6)
        low, below = bound, count
    return low

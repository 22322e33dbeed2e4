"""A worker's metrics over half an hour as a Prometheus sees them, and what may happen to the worker meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import yaml
from prometheus_client import generate_latest

from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.observability.health import RUNNING
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from tests.support.process import ROOT
from tests.support.promql import Scrapes
from tests.unit.worker.rows import events, records
from tests.unit.worker.stream.test_metrics import a_task, worker_metrics

EVERY_SECONDS, HISTORY_SECONDS = 60, 1800
STEPS = HISTORY_SECONDS // EVERY_SECONDS
LAST = HISTORY_SECONDS - EVERY_SECONDS
TARGET = {"job": "driftway", "instance": "w:8000"}
HEALTHY = {"window_accuracy": 0.9, "no_change_accuracy": 0.7, "majority_accuracy": 0.6}
EXCHANGE: Any = SimpleNamespace(figures=lambda: {"rounds": 3, "refused": 0, "incompatible": 0}, oldest_sent_at=1000)
PLAN: Any = SimpleNamespace(number=2)
UPDATE: Any = SimpleNamespace(key=b"3/1", value=b"{}")
Cause = Callable[["ScrapedWorker", int], None]


def batch(n: int, seconds: float = 0.0) -> Any:
    """Return a batch of events that are `seconds` old."""
    return replace(records(events(n)), timestamps=[int(1000 * (time.time() - seconds))] * n)


class ScrapedWorker:
    """A worker with one partition; `cause` happens to it before each scrape.

    The text of `/metrics` is made by the worker's code. Only `process`, where it is not empty, replaces lines that
    `ProcessCollector` reads from the system.
    """

    def __init__(self, cause: Cause = lambda *_: None) -> None:
        self.metrics, self.scrapes = worker_metrics(), Scrapes()
        self.task: Any = a_task()
        self.task.committed = 0
        self.points = {"arow": dict(HEALTHY)}
        self.task.model = SimpleNamespace(
            latest_points=lambda: self.points,
            experts=lambda: {"auto": {"nearest": 0.5}},
            delay_metrics=lambda: {
                "waiting": 7, "never_labelled": 1, "delay_rows_median": 3, "delay_rows_p95": 5,
                "delay_ms_median": 300, "delay_ms_p95": 500, "wrong_timestamps": 0, "furthest_ms": 0,
                "labels_waiting": 0, "labels_ahead_ms": 10,
            },
            exchange=EXCHANGE,
            plan=PLAN,
        )  # fmt: skip
        self.health: Any = SimpleNamespace(
            reachable=True, idle_seconds=0.05, ends={3: 0}, open_transactions=SimpleNamespace(found={}), phase=RUNNING
        )
        self.answers, self.discovered, self.assigned = True, True, True
        self.process: dict[str, float] = {}
        self.metrics.restored(self.task, RestoreResult(None, 0, 0, None), 0.5)
        for step in range(STEPS):
            if self.assigned:
                self._work(cause, step)
            else:
                cause(self, step)
            self._scrape(EVERY_SECONDS * step)

    def _work(self, cause: Cause, step: int) -> None:
        task, health = self.task, self.health
        self.metrics.state(task)
        task.committed += 100
        health.ends[3] = task.committed + 5
        self.metrics.advanced(task, batch(100), Outputs(task.committed, np.arange(100), shares=[UPDATE]))
        cause(self, step)
        self.metrics.committed(task, 0.02)
        self.metrics.refresh([task], health)

    def _scrape(self, at: float) -> None:
        if not self.discovered:
            self.scrapes.forget(at, **TARGET)
        elif not self.answers:
            self.scrapes.fail(at, **TARGET)
        else:
            lines = generate_latest(self.metrics.registry).decode().splitlines(keepends=True)
            kept = [line for line in lines if line.split(" ")[0] not in self.process]
            text = "".join([*kept, *(f"{name} {value}\n" for name, value in self.process.items())])
            self.scrapes.take(text, at, **TARGET)


@cache
def rules() -> dict[str, dict[str, Any]]:
    """Return alert -> its rule."""
    (group,) = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def restoring(worker: ScrapedWorker, _step: int) -> None:
    """Let the worker's task restore at every step."""
    worker.task.state = State.RESTORING
    worker.metrics.state(worker.task)

"""Dashboard, rules and documents name existing metrics; each rule fires on its cause, and only then."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from driftway.worker.kafka.error_handling import ErrorAction
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.stream.task.lifecycle import State
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.wire.events import RejectedEvent
from tests.support.process import ROOT
from tests.support.promql import Scrapes, selectors
from tests.unit.worker.rows import events, records
from tests.unit.worker.stream.test_metrics import a_task, worker_metrics

PAGES = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
EVERY_SECONDS, HISTORY_SECONDS = 30, 1800
FOR_SECONDS = {"s": 1, "m": 60}


def rules() -> dict[str, dict[str, Any]]:
    (group,) = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"]
    return {rule["alert"]: rule for rule in group["rules"]}


def panels() -> list[dict[str, Any]]:
    dashboard = json.loads((ROOT / "deploy/grafana/dashboards/driftway.json").read_text())
    return [panel for panel in dashboard["panels"] if panel.get("targets")]


def asked() -> list[str]:
    """Return every expression of the rules and the dashboard, as Prometheus gets it."""
    targets = [target["expr"] for panel in panels() for target in panel["targets"]]
    every = [re.sub(r"\$(instance|group|topic)", ".*", text.replace("$__rate_interval", "1m")) for text in targets]
    return [*every, *(rule["expr"] for rule in rules().values())]


TALK: Any = SimpleNamespace(figures=lambda: {"rounds": 3, "refused": 0, "incompatible": 0}, oldest_sent_at=1000)
PLAN: Any = SimpleNamespace(number=2)
TOLD: Any = SimpleNamespace(key=b"3/1", value=b"{}")


class Life:
    """A worker's metrics over half an hour, scraped; `deed` is what happens to it before each scrape."""

    def __init__(self, deed: Callable[[WorkerMetrics, Any, Any, int], None] = lambda *_: None) -> None:
        self.metrics, self.scrapes = worker_metrics(), Scrapes()
        task: Any = a_task()
        task.committed, batch = 0, records(events(100))
        point = {"window_accuracy": 0.9, "no_change_accuracy": 0.7}
        task.model = SimpleNamespace(
            latest_points=lambda: {"arow": point},
            experts=lambda: {"auto": {"nearest": 0.5}},
            delay_metrics=lambda: {"waiting": 7},
            exchange=TALK,
            plan=PLAN,
        )
        health: Any = SimpleNamespace(
            reachable=True, idle_seconds=0.05, ends={3: 0}, open_transactions=SimpleNamespace(found={})
        )
        self.metrics.restored(task, RestoreResult(None, 0, 0, None), 0.5)
        for step in range(HISTORY_SECONDS // EVERY_SECONDS):
            self.metrics.state(task)
            task.committed += 100
            health.ends[3] = task.committed + 5
            fresh = replace(batch, timestamps=[int(1000 * time.time())] * 100)
            self.metrics.advanced(task, fresh, Outputs(task.committed, np.arange(100), shares=[TOLD]))
            deed(self.metrics, task, health, step)
            self.metrics.committed(task, 0.02)
            self.metrics.refresh([task], health)
            self.scrapes.take(self.metrics.registry, EVERY_SECONDS * step, instance="w:8000")

    def fires(self, rule: dict[str, Any]) -> bool:
        """Return whether a rule has been true for as long as it requires, at the end."""
        waits = re.fullmatch(r"(\d+)([sm])", rule.get("for", "0s"))
        assert waits is not None
        last = HISTORY_SECONDS - EVERY_SECONDS
        span = range(0, int(waits[1]) * FOR_SECONDS[waits[2]] + 1, EVERY_SECONDS)
        return all(self.scrapes.ask(rule["expr"], last - back) for back in span)


def silent(_telemetry: WorkerMetrics, _task: Any, health: Any, _step: int) -> None:
    health.reachable = False


def stuck(_telemetry: WorkerMetrics, _task: Any, health: Any, step: int) -> None:
    health.idle_seconds = 30.0 * step


def restoring(metrics: WorkerMetrics, task: Any, _pulse: Any, _step: int) -> None:
    task.state = State.RESTORING
    metrics.state(task)


def behind(_telemetry: WorkerMetrics, task: Any, health: Any, step: int) -> None:
    health.ends[3] = task.committed + 1000 * step


def held_back(_telemetry: WorkerMetrics, _task: Any, health: Any, step: int) -> None:
    health.open_transactions.found = {3: SimpleNamespace(waiting=4, seconds=EVERY_SECONDS * step)}


def rejecting(metrics: WorkerMetrics, task: Any, _pulse: Any, _step: int) -> None:
    bad = [RejectedEvent("not JSON", 5, b"?", None, 0)] * 10
    metrics.advanced(task, records(events(10)), Outputs(task.committed, np.arange(0), rejected=bad))


def setting_aside(metrics: WorkerMetrics, task: Any, _pulse: Any, _step: int) -> None:
    labels = [RejectedEvent("label 7 is not one of 0, 1", 5, b"?", None, 0, set_aside=True)] * 10
    metrics.advanced(task, records(events(10)), Outputs(task.committed, np.arange(10), rejected=labels))


def failing(what: str) -> Callable[[WorkerMetrics, Any, Any, int], None]:
    return lambda metrics, task, _pulse, _step: metrics.failed(task, what, ErrorAction.UNKNOWN)


def mending(metrics: WorkerMetrics, task: Any, _pulse: Any, step: int) -> None:
    metrics.partition_metric(metrics.output_repairs, task.partition).inc(step == 20)


def straying(metrics: WorkerMetrics, task: Any, _pulse: Any, step: int) -> None:
    metrics.partition_metric(metrics.unexpected_offsets, task.partition).inc(step == 20)


def late(metrics: WorkerMetrics, task: Any, _pulse: Any, _step: int) -> None:
    old = replace(records(events(10)), timestamps=[int(1000 * (time.time() - 45))] * 10)
    metrics.advanced(task, old, Outputs(task.committed, np.arange(10)))


def learning_nothing(_telemetry: WorkerMetrics, task: Any, _pulse: Any, _step: int) -> None:
    point = {"window_accuracy": 0.5, "no_change_accuracy": 0.7}
    task.model = SimpleNamespace(
        latest_points=lambda: {"arow": point},
        experts=lambda: {"auto": {"nearest": 0.5}},
        delay_metrics=lambda: {"waiting": 7},
        exchange=TALK,
        plan=PLAN,
    )


CAUSES = {
    "DriftwayHeldBack": held_back,
    "DriftwayClusterSilent": silent, "DriftwayLoopStuck": stuck, "DriftwayNotRunning": restoring,
    "DriftwayLagRising": behind, "DriftwayRejecting": rejecting, "DriftwayLabelsSetAside": setting_aside,
    "DriftwayCommitsFail": failing("commit failed"),
    "DriftwayRestoresFail": failing("restore failed"), "DriftwayOutputsRepaired": mending,
    "DriftwayWrongOffsets": straying, "DriftwaySlowToSee": late, "DriftwayLearnsNothing": learning_nothing,
}  # fmt: skip


@pytest.fixture(scope="module")
def quiet() -> Life:
    return Life()


def test_every_rule_has_a_cause() -> None:
    assert set(CAUSES) == set(rules())


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_rule_fires_on_its_cause_and_on_nothing_else(name: str, quiet: Life) -> None:
    rule = rules()[name]
    assert not quiet.fires(rule), "on a healthy worker"
    assert Life(CAUSES[name]).fires(rule)
    assert rule["labels"]["severity"] in ("page", "ticket")
    for label in re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])):
        assert label in ("instance", "group", "topic", "partition", "learner", "reason", "action")


def test_every_expression_names_metrics_and_labels_that_there_are(quiet: Life) -> None:
    known: dict[str, set[str]] = {}
    for family in quiet.metrics.registry.collect():
        wrapped = set(family.samples[0].labels) if family.samples else set()
        for ending in ("", "_total", "_bucket", "_sum", "_count", "_info"):
            known[family.name + ending] = wrapped | {"instance", "job", "le"}
    for expression in asked():
        for selector in selectors(expression):
            assert selector.name in known, expression
            named = set(re.findall(r"(\w+)=", str(selector.matchers)))
            more = {"group", "topic", "partition", "state", "metric", "learner", "reason", "action", "source"}
            assert named <= known[selector.name] | more, expression


def test_every_metric_is_on_the_dashboard(quiet: Life) -> None:
    shown = {selector.name for expression in asked() for selector in selectors(expression)}
    names = {family.name for family in quiet.metrics.registry.collect()}
    missing = {name for name in names if not any(one.startswith(name) for one in shown)}
    assert missing == set()


def test_documents_name_metrics_that_there_are(quiet: Life) -> None:
    names = {family.name for family in quiet.metrics.registry.collect()}
    for page in PAGES:
        for word in set(re.findall(r"\bdriftway_[a-z_]+", page.read_text())):
            plain = re.sub(r"_(total|bucket|sum|count|info)$", "", word)
            assert plain in names or word in names, f"{page.name}: {word}"


def test_panels_do_not_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not taken & cells, panel["title"]
        taken |= cells

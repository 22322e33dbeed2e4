"""Dashboard, rules and documents name existing metrics; the objectives on the dashboard tell good from bad."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from driftway.worker.state.outputs import Outputs
from driftway.worker.wire.events import RejectedEvent
from tests.support.process import ROOT
from tests.support.promql import selectors
from tests.unit.scraped_worker import LAST, ScrapedWorker, batch, restoring, rules

PAGES = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))


def panels() -> list[dict[str, Any]]:
    dashboard = json.loads((ROOT / "deploy/grafana/dashboards/driftway.json").read_text())
    return [panel for panel in dashboard["panels"] if panel.get("targets")]


def as_asked(expression: str) -> str:
    """Return an expression of the dashboard with the variables replaced, for all workers."""
    return re.sub(r"\$(instance|group|topic)", ".*", expression.replace("$__rate_interval", "1m"))


def asked() -> list[str]:
    """Return every expression of the rules and the dashboard, as Prometheus gets it."""
    targets = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [*map(as_asked, targets), *(rule["expr"] for rule in rules().values())]


@pytest.fixture(scope="module")
def quiet() -> ScrapedWorker:
    return ScrapedWorker()


def test_every_expression_names_metrics_and_labels_that_there_are(quiet: ScrapedWorker) -> None:
    known: dict[str, set[str]] = {}
    for family in quiet.metrics.registry.collect():
        wrapped = set(family.samples[0].labels) if family.samples else set()
        for ending in ("", "_total", "_bucket", "_sum", "_count", "_info"):
            known[family.name + ending] = wrapped | {"instance", "job", "le"}
    for expression in asked():
        for selector in selectors(expression):
            if selector.name == "up":  # made by Prometheus
                continue
            assert selector.name in known, expression
            named = set(re.findall(r"(\w+)=", str(selector.matchers)))
            more = {"group", "topic", "partition", "state", "metric", "learner", "reason", "action", "source"}
            assert named <= known[selector.name] | more, expression


def test_every_metric_is_on_the_dashboard(quiet: ScrapedWorker) -> None:
    shown = {selector.name for expression in asked() for selector in selectors(expression)}
    names = {family.name for family in quiet.metrics.registry.collect()}
    missing = {name for name in names if not any(one.startswith(name) for one in shown)}
    assert missing == set()


def test_documents_name_metrics_that_there_are(quiet: ScrapedWorker) -> None:
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


def objectives(worker: ScrapedWorker, title: str) -> list[float]:
    """Return the values of the panel of an objective at the end, one for each of its expressions."""
    (panel,) = [panel for panel in panels() if panel["title"].startswith(f"SLO {title}")]
    found = [worker.scrapes.ask(as_asked(target["expr"]), LAST) for target in panel["targets"]]
    return [value for ((_, value),) in found]


def slow(worker: ScrapedWorker, _step: int) -> None:
    worker.metrics.advanced(worker.task, batch(10, 3.0), Outputs(worker.task.committed, np.arange(10)))


def rejecting(worker: ScrapedWorker, _step: int) -> None:
    bad = [RejectedEvent("not JSON", 5, b"?", None, 0)] * 25
    worker.metrics.advanced(worker.task, batch(25), Outputs(worker.task.committed, np.arange(0), rejected=bad))


def test_objectives_are_met_by_a_healthy_worker(quiet: ScrapedWorker) -> None:
    assert {title: objectives(quiet, title) for title in ("freshness", "availability", "quality")} == {
        "freshness": [1.0, 1.0], "availability": [1.0], "quality": [1.0, 1.0]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("title", "cause", "values"),
    [("freshness", slow, [0.5, 1.0]), ("availability", restoring, [0.0]), ("quality", rejecting, [0.8, 1.0])],
)
def test_objectives_are_missed_by_their_cause(title: str, cause: Any, values: list[float]) -> None:
    assert objectives(ScrapedWorker(cause), title) == pytest.approx(values)

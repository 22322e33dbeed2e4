"""The page's parts without Kafka: thinned series, quantiles, reading on demand, and one file without other assets."""

from __future__ import annotations

import itertools
import re
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from driftway.worker.admin.page.group_view import IDLE_SECONDS, GroupView
from driftway.worker.admin.page.history import DRAWN, MAX_ALARMS, MAX_POINTS, GroupDashboard, Series
from driftway.worker.admin.page.own_figures import OwnFigures, quantiles
from driftway.worker.admin.page.routes import page
from driftway.worker.admin.watch.dashboard import DashboardRow
from driftway.worker.errors import Failure
from driftway.worker.kafka.error_handling import ErrorAction
from tests.support.kafka import await_until
from tests.unit.scraped_worker import ScrapedWorker


def point(offset: int, learner: str = "pa1", partition: int = 0, **fields: Any) -> dict[str, Any]:
    return {"partition": partition, "offset": offset, "learner": learner, "window_accuracy": offset / 1e6, **fields}


def test_a_series_is_thinned_evenly_and_keeps_its_first_point() -> None:
    series = Series()
    for i in range(10_000):
        series.add(i + 1, point(i), 1.0 * i)
    columns = series.since(0, 10_000)
    offsets = columns["offset"]
    assert MAX_POINTS / 2 <= len(series) == len(offsets) <= MAX_POINTS
    steps = {b - a for a, b in itertools.pairwise(offsets)}
    assert (offsets[0], steps) == (0, {16})
    assert columns["window_accuracy"] == [offset / 1e6 for offset in offsets]
    assert columns["at"] == [float(offset) for offset in offsets]
    assert set(columns) == {"offset", "at", "window_accuracy"}  # nothing without values


def test_repetitions_are_ignored_and_only_what_is_new_is_sent() -> None:
    dashboard = GroupDashboard()
    for offset in (99, 199, 199, 299):
        dashboard.add_point(point(offset), 1.0)
    first = dashboard.drawn(0, dashboard.number)
    assert [one["offset"] for one in first["series"]] == [[99, 199, 299]]
    dashboard.add_point(point(399, better_log_e=0.5), 2.0)
    assert dashboard.drawn(first["cursor"], dashboard.number)["series"] == [
        {"partition": 0, "learner": "pa1", "offset": [399], "at": [2.0], "window_accuracy": [0.000399],
         "better_log_e": [0.5]}
    ]  # fmt: skip
    assert dashboard.drawn(dashboard.number, dashboard.number)["series"] == []


def test_points_newer_than_the_table_are_sent_with_the_next_one() -> None:
    dashboard = GroupDashboard()
    for offset in (99, 199, 299):
        dashboard.add_point(point(offset), 1.0)
    first = dashboard.drawn(0, 2)
    assert [one["offset"] for one in first["series"]] == [[99, 199]]
    assert [one["offset"] for one in dashboard.drawn(first["cursor"], 3)["series"]] == [[299]]


def test_many_series_together_hold_a_bounded_number_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 300 * (len(DRAWN) + 3)
    monkeypatch.setattr("driftway.worker.admin.page.history.MAX_VALUES", most)
    monkeypatch.setattr("driftway.worker.admin.page.history.FEWEST_POINTS", 10)
    dashboard = GroupDashboard()
    for offset in range(500):
        for partition in range(5):
            dashboard.add_point(point(offset, partition=partition), 1.0)
            dashboard.alarm({"partition": partition, "detector": "ddm", "offset": offset}, 1.0)
    drawn = dashboard.drawn(0, dashboard.number)
    assert sum(len(one["offset"]) for one in drawn["series"]) <= 300
    assert {partition: len(alarms) for partition, alarms in drawn["alarms"].items()} == {
        str(partition): MAX_ALARMS for partition in range(5)
    }


def test_quantiles_are_those_since_the_last_figures() -> None:
    now = ((0.1, 100.0), (1.0, 190.0), (float("inf"), 200.0))
    assert quantiles(now, ()) == {"count": 200, "p50": 0.1, "p99": 1.0}
    before = ((0.1, 100.0), (1.0, 100.0), (float("inf"), 100.0))
    found = quantiles(now, before)
    assert (found["count"], found["p50"]) == (100, pytest.approx(0.1 + 0.9 * 50 / 90))
    assert quantiles(now, now) == {"count": 0, "p50": None, "p99": None}
    assert quantiles((), ()) == {"count": 0, "p50": None, "p99": None}


class Points:
    """Reads one more point at each refresh; the second time it is opened."""

    at_end = True

    def __init__(self, dashboard: GroupDashboard, opened: list[Points]) -> None:
        opened.append(self)
        if len(opened) == 1:
            raise Failure("cannot read EVENTS.g.accuracy/0: not authorized")
        self.dashboard, self.refreshed, self.closed = dashboard, 0, threading.Event()

    def refresh(self, seconds: float) -> list[DashboardRow]:
        self.closed.wait(0.01)
        self.dashboard.add_point(point(self.refreshed, reliability=[[1, 2, 3, 4]]), 1.0)
        self.refreshed += 1
        return self.dashboard.rows()

    def close(self) -> None:
        self.closed.set()


def test_topics_are_read_only_while_somebody_looks_at_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftway.worker.admin.page.group_view.RETRY_SECONDS", 0.5)
    opened: list[Points] = []
    now = [0.0]
    view = GroupView(lambda dashboard: Points(dashboard, opened), lambda: now[0])
    assert not view.reading
    first = view.ask()
    assert (first["models"], first["complete"], first["view"]) == ([], False, 0)
    assert view.reading
    await_until(lambda: "not authorized" in (view.ask()["error"] or ""), 20, "the failure's sentence")
    await_until(lambda: view.ask()["complete"], 20, "the second attempt has read")
    found = view.ask()
    (model,) = found["models"]
    assert (model["learner"], model["champion"], found["view"], found["error"]) == ("pa1", True, 1, None)
    assert "reliability" not in model
    assert found["series"][0]["offset"][-1] == model["offset"]
    assert view.ask(view=1, since=10**6)["series"] == []
    assert len(view.ask(view=7, since=10**6)["series"]) == 1  # of another reading: all of this one
    now[0] += IDLE_SECONDS
    await_until(lambda: not view.reading, 20, "it stops")
    assert opened[-1].closed.is_set()
    assert view.ask()["models"] == []
    await_until(lambda: view.ask()["view"] == 2, 20, "it reads anew")
    now[0] += IDLE_SECONDS
    await_until(lambda: not view.reading, 20, "it stops again")


def test_the_page_is_one_file() -> None:
    text = page().decode()
    assert not re.search(r"(?:src|href|@import|url\()\s*=?\s*[\"']?(?!data:,)(?:https?:)?//", text)
    assert not re.search(r"<(?:script|img)[^>]+src=|<link(?![^>]+href=\"data:,\")", text)
    assert text.count("<script>") == text.count("</script>") == 3
    assert "/* page.js */" not in text
    assert "uPlot" in text
    assert '<html lang="en">' in text
    assert re.search("<noscript>.*needs JavaScript.*/v1/status", text)
    assert ".innerHTML" not in text.split("// Charts over input offsets")[1]  # topics' texts are never markup


def test_the_page_shows_only_figures_that_the_worker_has() -> None:
    scraped = ScrapedWorker()
    metrics, task, health = scraped.metrics, scraped.task, scraped.health
    for what in ("restore", "commit"):
        metrics.failed(task, what, ErrorAction.RETRY)
    metrics.client_error("timed out")
    health.readiness = lambda tasks: (True, {"cluster": "answers"})
    worker: Any = SimpleNamespace(metrics=metrics, tasks={3: task}, reporter=SimpleNamespace(health=health))
    found = OwnFigures(worker).get()
    script = page().decode()
    script = script[script.index("function showWorker()") :]
    script = script[: script.index("\n}\n")]
    assert set(re.findall(r"\bown\.(\w+)", script)) <= set(found)
    assert set(re.findall(r"\bone\.(\w+)", script)) <= set(found["partitions"]["3"])
    latency = found["partitions"]["3"]["prediction_latency_seconds"]
    assert latency["count"] > 0
    assert latency["p50"] <= latency["p99"]

"""The page of a real group: what it shows equals the accuracy topic, also for partitions of other workers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from driftway.worker.wire.codec import encode_events, read_json
from tests.broker.test_endpoint import event, get
from tests.support.browser import DESKTOP, FIELDS, LIVE, PHONE, Browser, require_browser, shown
from tests.support.kafka import await_until, create_topic, produce, read_all, unique
from tests.support.process import Driftway

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def pages(kafka: str) -> Iterator[tuple[str, str, list[int]]]:
    """Topic, group and the HTTP ports of two workers with one partition each."""
    topic = unique("page")
    create_topic(kafka, topic, 2)
    X = np.random.default_rng(7).normal(size=(1000, 3))
    events = encode_events(X, (X[:, 0] > 0).astype(float), 0)
    options = (
        "worker", "--input", topic, "--group", "g", "--bootstrap", kafka, "--learner", "pa1", "--learner", "auto",
        "--metric-window", "300", "--accuracy-every", "100", "--http-port", "0", "--log-format", "json",
    )  # fmt: skip
    with contextlib.ExitStack() as running:
        ports = list[int]()
        for owned in ([2], [1, 1]):  # the second worker joins an idle group, and restores its partition once
            ports.append(event(running.enter_context(Driftway(*options)), "listening")["port"])
            await_until(lambda owned=owned: running_partitions(ports) == owned, 60, f"partitions are owned as {owned}")
        produce(kafka, topic, [*events, b"?"], 0)
        produce(kafka, topic, events[:700], 1)
        yield topic, "g", ports


def running_partitions(ports: list[int]) -> list[int]:
    """Number of running partitions of each worker."""
    found = [status(port)["worker"]["partitions"].values() for port in ports]
    return [sum(one["state"] == "running" for one in each) for each in found]


def newest_points(kafka: str, topic: str) -> dict[tuple[int, str], dict[str, Any]]:
    points = (read_json(record.value or b"") for record in read_all(kafka, topic))
    return {(one["partition"], one["learner"]): one for one in points}


def status(port: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(get(port, "/v1/status")[2])
    return found


def shows_all_rows(port: int) -> bool:
    """Whether a worker shows all rows of both partitions, learned and committed."""
    found = status(port)
    ends = {model["partition"]: model["offset"] for model in found["models"] if "offset" in model}
    return found["complete"] and ends == {0: 999, 1: 699} and {m["lag"] for m in found["models"]} == {0}


TIMED = "prediction_latency_seconds", "commit_duration_seconds"


def runs_one_partition(port: int) -> bool:
    """Whether a worker has restored its half; the other one may have predicted all rows before."""
    return [one["state"] for one in status(port)["worker"]["partitions"].values()] == ["running"]


def test_each_worker_shows_the_figures_of_the_whole_group(kafka: str, pages: tuple[str, str, list[int]]) -> None:
    topic, group, ports = pages
    try:
        await_until(lambda: shows_all_rows(ports[1]) and runs_one_partition(ports[1]), 60, "all points")
    except AssertionError as error:
        error.add_note(str([status(port) for port in ports]))
        raise
    found, points = status(ports[1]), newest_points(kafka, f"{topic}.{group}.accuracy")
    assert (found["group"], found["topic"], found["error"]) == (group, topic, None)
    assert {(m["partition"], m["learner"], m["champion"]) for m in found["models"]} == {
        (p, learner, learner == "pa1") for p in (0, 1) for learner in ("pa1", "auto")
    }
    for model in found["models"]:
        point = points[model["partition"], model["learner"]]
        assert {name: model[name] for name in point if name != "reliability"} == {
            name: value for name, value in point.items() if name != "reliability"
        }
    assert sum(sum(m["rejected"].values()) for m in found["models"] if m["champion"]) == 1
    for series in found["series"]:
        assert series["offset"] == list(range(99, 1000 if series["partition"] == 0 else 700, 100))
    assert len(found["series"]) == 4
    (own,) = found["worker"]["partitions"].values()
    assert own["state"] == "running"
    assert own["restores"] == {"log": 1}
    assert found["worker"]["cluster"] == "answers"
    again = json.loads(get(ports[1], f"/v1/status?view={found['view']}&since={found['cursor']}")[2])
    assert again["series"] == []
    assert get(ports[1], "/v1/status?since=all")[0] == 400
    kinds = [get(ports[1], "/")[:2], get(ports[1], "/v1/nothing")[:2]]
    assert kinds == [(200, "text/html; charset=utf-8"), (404, "application/json")]


def test_a_browser_shows_the_page_without_errors(kafka: str, pages: tuple[str, str, list[int]]) -> None:
    path = require_browser()
    topic, group, ports = pages
    await_until(lambda: shows_all_rows(ports[0]), 60, "all points")
    points = newest_points(kafka, f"{topic}.{group}.accuracy")
    with Browser(path) as browser:
        for screen in (DESKTOP, PHONE._replace(dark=True)):
            browser.open(f"http://127.0.0.1:{ports[0]}/", screen)
            browser.await_true(LIVE, 30)
            assert shown(browser) == {place: {name: point[name] for name in FIELDS} for place, point in points.items()}
            labels = browser.evaluate("[...document.querySelectorAll('[role=img]')].map((one) => one.ariaLabel)")
            assert any((label or "").startswith("Rolling accuracy, newest: pa1") for label in labels)
            assert browser.evaluate("document.querySelector('[role=status]').textContent") == "live"
            assert browser.evaluate("document.documentElement.scrollWidth") == screen.width, "it fits the width"
        assert browser.console_messages == []


def test_a_worker_shows_how_long_its_commits_take(kafka: str, pages: tuple[str, str, list[int]]) -> None:
    """This test adds events, so it is the last one of the file.

    The events of the fixture may not suffice: if the group rebalances after their commits, its members count anew.
    """
    topic, _, ports = pages

    def own_partition() -> dict[str, Any]:
        for partition in range(2):
            produce(kafka, topic, encode_events(np.zeros((1, 3)), np.zeros(1), 0), partition)
        own = list(status(ports[1])["worker"]["partitions"].values())
        return own[0] if len(own) == 1 and all(name in own[0] for name in TIMED) else {}

    own = await_until(own_partition, 60, "commits are timed", poll=0.5)
    for name in TIMED:
        assert own[name]["count"] > 0
        assert 0.0 < own[name]["p50"] <= own[name]["p99"]

"""A page over 10,000 accuracy points: how long it takes until it shows them, and how long it keeps the browser busy."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.worker.admin.page.history import MAX_POINTS
from driftway.worker.wire.codec import encode_events
from tests.broker.test_endpoint import event, get
from tests.broker.test_page import newest_points, status
from tests.support.browser import DESKTOP, FIELDS, LIVE, PHONE, Browser, require_browser, shown
from tests.support.kafka import await_until, create_topic, produce, read_all, unique
from tests.support.process import Driftway

pytestmark = [pytest.mark.broker, pytest.mark.slow]

PARTITIONS, ROWS, LEARNERS = 2, 2500, ("pa1", "arow")
POINTS = PARTITIONS * ROWS * len(LEARNERS)
LOAD_MS, DRAW_MS = 5000.0, 200.0
"""Most milliseconds from opening the page until all points are painted, and to draw everything once more."""
WATCH = """
window.measured = { live: null };
new MutationObserver(() => {
  const drawn = document.getElementById("state")?.textContent === "live" && document.querySelector("canvas");
  if (!drawn || measured.live !== null) return;
  measured.live = -1; // the next frame but one comes after the charts were painted
  requestAnimationFrame(() => requestAnimationFrame(() => { measured.live = performance.now(); }));
}).observe(document, { subtree: true, childList: true, characterData: true });
"""


DRAW = """
(async () => {
  const times = [];
  for (let i = 0; i < 5; i += 1) {
    const began = performance.now();
    show();
    Object.values(charts).forEach((chart) => chart.plot?.redraw());
    await null; // charts are drawn in a microtask
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[2];
})()
"""
"""The median time of five drawings of tables and charts."""


@pytest.mark.timeout(300)
def test_a_page_shows_ten_thousand_points_in_time(kafka: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = require_browser()
    topic, group = unique("many"), "g"
    create_topic(kafka, topic, PARTITIONS)
    X = np.random.default_rng(5).normal(size=(ROWS, 3))
    events = encode_events(X, (X[:, 0] + X[:, 1] > 0).astype(float), 0)
    learners = [word for name in LEARNERS for word in ("--learner", name)]
    options = (
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, *learners, "--metric-window", "300",
        "--accuracy-every", "1", "--http-port", "0", "--log-format", "json",
    )  # fmt: skip
    for partition in range(PARTITIONS):
        produce(kafka, topic, events, partition)
    with Driftway(*options) as worker:
        port = event(worker, "listening")["port"]
        event(worker, "subscribed")  # its topics exist
        accuracy = f"{topic}.{group}.accuracy"  # read here: a request to the worker would be a first view of the page
        await_until(lambda: topic_has(kafka, accuracy, POINTS), 120, "all points are committed")
        points = newest_points(kafka, accuracy)
        with Browser(path) as browser:
            browser.before_each_page(WATCH)
            for name, screen in (("a desktop, first look", DESKTOP), ("a phone, second look", PHONE)):
                browser.open(f"http://127.0.0.1:{port}/", screen)
                browser.await_true(f"{LIVE} && measured.live > 0", 60)
                loaded, drawing = browser.evaluate("measured.live"), browser.evaluate(DRAW)
                with capsys.disabled():
                    print(f"\n{name}: {POINTS:,} points painted after {loaded:.0f} ms, drawn in {drawing:.1f} ms")
                assert shown(browser) == {key: {field: one[field] for field in FIELDS} for key, one in points.items()}
                assert 0 < drawing <= DRAW_MS
                assert loaded <= LOAD_MS
            drawn = browser.evaluate("charts.quality.data[0].length")
            assert MAX_POINTS / 2 <= drawn <= MAX_POINTS, "points are left out evenly"
            assert set(np.diff(browser.evaluate("charts.quality.data[0]"))) == {4}
            assert browser.console_messages == []
        first, again = (json.loads(get(port, "/v1/status")[2])["series"] for _ in range(2))
        assert first == again, "which points are left out does not depend on the time of the request"
        assert status(port)["complete"]


def topic_has(kafka: str, topic: str, records: int) -> bool:
    """Whether a topic has this many committed records."""
    found = len(read_all(kafka, topic))
    assert found <= records
    return found == records

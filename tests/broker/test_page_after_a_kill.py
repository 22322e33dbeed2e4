"""Three workers, one killed: a survivor's page shows all partitions, as the accuracy topic has them."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from driftway.worker.wire.codec import encode_events
from tests.broker.test_endpoint import event
from tests.broker.test_page import newest_points, running_partitions, status
from tests.support.browser import DESKTOP, FIELDS, LIVE, Browser, require_browser, shown
from tests.support.kafka import await_until, create_topic, produce, unique
from tests.support.process import Driftway

pytestmark = [pytest.mark.broker, pytest.mark.slow]

PARTITIONS, ROWS = 6, 600
HALF = ROWS // 2


@pytest.mark.timeout(300)
def test_a_page_shows_all_partitions_after_a_worker_was_killed(kafka: str) -> None:
    browser_path = require_browser()
    topic, group = unique("killed"), "g"
    create_topic(kafka, topic, PARTITIONS)
    X = np.random.default_rng(11).normal(size=(ROWS, 3))
    rows = [encode_events(X, (X[:, 0] > 0.1 * p).astype(float), 0) for p in range(PARTITIONS)]
    options = (
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "pa1", "--learner", "arow",
        "--metric-window", "200", "--accuracy-every", "100", "--http-port", "0", "--log-format", "json",
        "-X", "session.timeout.ms=6000",
    )  # fmt: skip

    def shows(place: str, all_rows: int) -> None:
        """The page has each partition's newest point, and its figures are those of the topic."""
        last = "[...document.querySelectorAll('#models tbody [data-field=labels]')].map((one) => +one.dataset.value)"
        complete = f"(({last}).length === {2 * PARTITIONS}) && ({last}).every((labels) => labels === {all_rows})"
        browser.await_true(f"{LIVE} && {complete}", 60)
        points = newest_points(kafka, f"{topic}.{group}.accuracy")
        assert points.keys() == {(p, learner) for p in range(PARTITIONS) for learner in ("pa1", "arow")}
        assert {point["offset"] for point in points.values()} == {all_rows - 1}
        found = shown(browser)
        assert found == {key: {name: point[name] for name in FIELDS} for key, point in points.items()}, place
        assert len({one["window_accuracy"] for one in found.values()}) > 3, (
            "the figures differ, so they can be mixed up"
        )

    with contextlib.ExitStack() as running, Browser(browser_path) as browser:
        workers = [running.enter_context(Driftway(*options)) for _ in range(3)]
        ports = [event(worker, "listening")["port"] for worker in workers]
        await_until(lambda: running_partitions(ports) == [2, 2, 2], 90, "two partitions each")
        for partition, events in enumerate(rows):
            produce(kafka, topic, events[:HALF], partition)
        browser.open(f"http://127.0.0.1:{ports[0]}/", DESKTOP)
        shows("before", HALF)
        workers[1].kill()
        for partition, events in enumerate(rows):  # also for partitions that no worker owns at the moment
            produce(kafka, topic, events[HALF:], partition)
        await_until(lambda: running_partitions([ports[0], ports[2]]) == [3, 3], 90, "three partitions each")
        shows("after", ROWS)
        own = set(status(ports[0])["worker"]["partitions"])
        marked = browser.evaluate(
            "[...document.querySelectorAll('#models tbody tr')].filter((row) => "
            "row.textContent.includes('this worker')).map((row) => row.dataset.partition)"
        )
        assert set(marked) == own
        assert len(own) == PARTITIONS // 2
        assert browser.console_messages == []

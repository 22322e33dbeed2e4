"""/readyz, /healthz and the log during an outage, and when the loop hangs; the worker recovers by itself."""

from __future__ import annotations

import json
import re
import time

import pytest

from driftway.worker.stream.task.committing.checkpoint import Step
from tests.broker.test_endpoint import get, metrics
from tests.support.brokers import own_broker
from tests.support.crash import FaultyDriftway
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until
from tests.support.process import Driftway

pytestmark = pytest.mark.timeout(300)  # as by default; those with a limit start before others

OUTAGE_SECONDS = 90.0
SOON = 10.0
"""Longest time until an outage, or its end, is reported."""
LISTENING = ("--http-port", "0")


def port_of(worker: Driftway) -> int:
    worker.await_text(" listening host=")
    found = re.search(r"listening host=\S+ port=(\d+)", worker.stderr)
    assert found is not None
    return int(found[1])


@pytest.mark.slow
def test_an_outage_is_reported_in_time_and_the_worker_recovers_by_itself(request: pytest.FixtureRequest) -> None:
    """An outage of 90 s under load: longer than any session timeout, shorter than `--unavailable-timeout`."""
    with own_broker(request.config) as kafka:
        scenario = FaultScenario(kafka.bootstrap, partitions=2, rows=1500)
        with scenario.auditor() as auditor, Driftway(*scenario.worker(*LISTENING)) as worker:
            port = port_of(worker)
            scenario.fill(0, 500)
            auditor.await_all(1000)
            assert get(port, "/readyz")[0] == 200
            kafka.kill()
            since = time.monotonic()
            await_until(lambda: get(port, "/readyz")[0] == 503, SOON, "not ready any more")
            assert json.loads(get(port, "/readyz")[2])["cluster"] == "silent"
            worker.await_text("the cluster does not answer, asking again", SOON)
            while time.monotonic() - since < OUTAGE_SECONDS:
                assert get(port, "/readyz")[0] == 503
                assert get(port, "/healthz")[0] == 200, "the worker is healthy"
                time.sleep(1)
            assert metrics(port)("cluster_reachable") == 0
            repeats = worker.stderr.count("the cluster does not answer, asking again")
            assert OUTAGE_SECONDS / 10 - 2 <= repeats <= OUTAGE_SECONDS / 10 + 1
            kafka.restart()
            back = time.monotonic()
            scenario.fill(500, 600)
            auditor.await_all(1200, 60)
            assert time.monotonic() - back < 3 * SOON, "on a quiet machine 10 s are promised"
            await_until(lambda: get(port, "/readyz")[0] == 200, SOON, "ready again")
            worker.await_text("the cluster answers again", SOON)
            scenario.fill(600)
            auditor.await_all(3000)
            worker.terminate()
            assert worker.wait() == 0, worker.summary()
        auditor.require(scenario.expected)


def test_a_worker_ends_if_the_cluster_stays_silent(request: pytest.FixtureRequest) -> None:
    with own_broker(request.config) as kafka:
        scenario = FaultScenario(kafka.bootstrap, partitions=1, rows=100)
        with scenario.auditor() as auditor, Driftway(*scenario.worker("--unavailable-timeout", "6")) as worker:
            scenario.fill()
            auditor.await_all(100)
            kafka.kill()
            assert worker.wait(60) == 5, worker.summary()
            sentence = worker.stderr.splitlines()[-1]
    assert sentence == f"driftway: no Kafka broker has answered at {kafka.bootstrap} for 6 s (--unavailable-timeout)"


@pytest.mark.slow
def test_a_hanging_loop_is_unhealthy_and_its_stacks_are_logged(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=400)
    with (
        scenario.auditor() as auditor,
        FaultyDriftway("stall=50", Step.BEGUN, 3, *scenario.worker(*LISTENING)) as worker,
    ):
        port = port_of(worker)
        scenario.feed_until(auditor, lambda: "stacks of all threads follow" in worker.stderr, 400, piece=10)
        assert get(port, "/healthz")[0] == 503
        assert json.loads(get(port, "/healthz")[2])["seconds_since"]["turn"] > 30
        assert "in produce" in worker.stderr, worker.summary()
        await_until(lambda: get(port, "/healthz")[0] == 200, 60, "the loop runs again")

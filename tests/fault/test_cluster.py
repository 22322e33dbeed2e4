"""One of three brokers dies: every event is predicted once, with the bits of an undisturbed run."""

from __future__ import annotations

import os
import re
import signal
from functools import partial

import pytest

from driftway.workbench.broker import LocalCluster
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from tests.broker.test_log_decides import require_audited
from tests.fault.test_matrix import stop
from tests.support.brokers import leader_of
from tests.support.cluster_faults import SILENT, group_coordinator, place
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import admin
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.cluster

ROWS, BEFORE = 1500, 500
"""Rows per partition, and how many are predicted before a broker dies."""
STANDSTILL_SECONDS = 60
COORDINATOR_SECONDS = 30
"""Well above the broker's session of 9 s; waiting for the end of the commit's time would take 34 s."""


def cluster_answers_again(worker: Driftway) -> bool:
    """Whether the worker has not reported a silent cluster, or has since reported that the cluster answers again."""
    return worker.stderr.rfind("the cluster answers again") >= worker.stderr.rfind(SILENT)


def test_topics_have_three_replicas_spread_over_the_brokers(cluster: LocalCluster) -> None:
    scenario = FaultScenario(cluster.bootstrap, partitions=3, rows=1)
    found = admin(cluster.bootstrap).list_topics(timeout=10)
    assert sorted(found.brokers) == [1, 2, 3]
    assert all(len(one.replicas) == len(one.isrs) == 3 for one in found.topics[scenario.topic].partitions.values())
    assert len({one.leader for one in found.topics[scenario.topic].partitions.values()}) == 3


@pytest.mark.timeout(300)
@pytest.mark.parametrize("of", slow_but([""], ["", ".predictions"]), ids=["input", "predictions"])
def test_no_row_is_lost_or_repeated_when_a_leader_is_killed_under_load(cluster: LocalCluster, of: str) -> None:
    scenario = FaultScenario(cluster.bootstrap, partitions=2, rows=ROWS)
    topic = f"{scenario.prefix}{of}" if of else scenario.topic
    with (
        scenario.auditor() as auditor,
        Driftway(*scenario.worker()) as one,
        Driftway(*scenario.worker()) as other,
    ):
        scenario.fill(0, BEFORE)
        auditor.await_all(2 * BEFORE)
        dead = leader_of(cluster, topic, 0)
        dead.kill()
        scenario.fill(BEFORE, 2 * BEFORE)
        auditor.await_all(4 * BEFORE, STANDSTILL_SECONDS)
        for worker in (one, other):
            worker.await_condition(partial(cluster_answers_again, worker), "the cluster answers")
        dead.restart()
        scenario.fill(2 * BEFORE)
        auditor.await_all(2 * ROWS, STANDSTILL_SECONDS)
        stop(one, other)
    auditor.require(scenario.expected)
    require_audited(scenario)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("client", [PYTHON, NATIVE])
def test_a_worker_continues_without_waiting_for_a_dead_coordinator(cluster: LocalCluster, client: str) -> None:
    """The dead broker also led the predictions; the client still sends it offsets after another has taken them over."""
    scenario = FaultScenario(cluster.bootstrap, partitions=1, rows=ROWS)
    predictions = f"{scenario.prefix}.predictions"
    with scenario.auditor() as auditor, Driftway(*scenario.worker("--client", client)) as worker:
        scenario.fill(0, BEFORE)
        auditor.await_all(BEFORE)
        dead = group_coordinator(cluster, scenario)
        number = cluster.nodes.index(dead) + 1
        place(cluster, {(predictions, 0): [number, *({1, 2, 3} - {number})]})
        dead.kill()
        try:
            scenario.fill(BEFORE)
            auditor.await_all(ROWS, COORDINATOR_SECONDS)
        finally:
            dead.restart()
        stop(worker)
    auditor.require(scenario.expected)
    require_audited(scenario)


@pytest.mark.slow
def test_the_command_reports_that_a_broker_has_ended_and_restarts_it() -> None:
    with Driftway("broker", "--brokers", "3", "--port", "0", "--restart-after", "1") as command:
        command.await_text("broker 3 (")
        killed = int(re.findall(r"broker 2 \(.*\) is running, process (\d+)", command.stderr)[-1])
        os.kill(killed, signal.SIGKILL)
        command.await_text("has ended with exit code -9; it starts again in 1 s")
        command.await_condition(lambda: command.stderr.count("broker 2 (") == 3, "it runs again")
        command.terminate()
        assert command.wait() == 0, command.summary()
        assert command.stdout.count("127.0.0.1:") == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--brokers", "2"), "a cluster has at least 3 brokers"),
        (("--restart-after", "1"), "--restart-after is for --brokers 3 or more"),
        (("--brokers", "3", "--port", "65534"), "and the last port is 65535"),
        (("--brokers", "3", "--broker", "docker"), "--brokers and --restart-after are for --broker local"),
        (("--restart-after", "1", "--broker", "docker"), "--brokers and --restart-after are for --broker local"),
    ],
)
def test_conflicting_options_are_refused_with_one_sentence(options: tuple[str, ...], message: str) -> None:
    assert driftway("broker", *options).stderr.endswith(f"{message}\n")

"""What happens to brokers of a cluster, under load: every event is predicted once, with the right bits.

Two workers, with one client and one group protocol each; rows go on arriving through the fault.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from driftway.workbench.broker import LocalCluster, LocalKafka
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import WorkerSettings
from tests.broker.test_log_decides import require_audited, settings_of
from tests.fault.test_matrix import leave
from tests.support.audit import Auditor
from tests.support.brokers import leader_of
from tests.support.fault_scenario import FaultScenario
from tests.support.groups import member
from tests.support.kafka import admin, java_hash
from tests.support.process import Driftway

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(400)]

PARTITIONS, ROWS, BEFORE = 3, 4000, 500
PIECE, PIECE_SECONDS = 25, 0.25
"""100 rows a second and partition while the fault lasts."""
DOWN_SECONDS, FROZEN_SECONDS = 12.0, 15.0
"""Longer than the brokers' session of 9 s, so that the others have taken over before it is back."""
SHORTLY_SECONDS = 5.0
STANDSTILL_SECONDS = 120.0

Deed = Callable[[LocalCluster, FaultScenario], None]


def group_coordinator(cluster: LocalCluster, stage: FaultScenario) -> LocalKafka:
    """The broker that coordinates the stage's group."""
    client = admin(cluster.bootstrap)
    described = client.describe_consumer_groups([stage.group])[stage.group].result(timeout=10)
    return cluster.nodes[described.coordinator.id - 1]


def transaction_coordinator(cluster: LocalCluster, settings: WorkerSettings) -> LocalKafka:
    """The broker that coordinates partition 0's transactions: the id's Java hash chooses a partition of the log."""
    log = "__transaction_state"
    client = admin(cluster.bootstrap)
    count = len(client.list_topics(log, timeout=10).topics[log].partitions)
    return leader_of(cluster, log, java_hash(settings.transactional_id(0)) % count)


def longest_silence(auditor: Auditor) -> float:
    """Return the longest time for which a reader saw no prediction of a partition, though rows arrived."""
    times: dict[int, list[float]] = {}
    for (partition, offset), arrival in auditor.arrivals.items():
        if offset >= BEFORE - 1:
            times.setdefault(partition, []).append(arrival)
    return max(after - before for arrivals in times.values() for before, after in pairwise(sorted(arrivals)))


def pause(seconds: float) -> None:
    time.sleep(seconds)  # not waiting for a condition: the fault lasts this long


def down(*nodes: LocalKafka) -> None:
    """Kill brokers, and start them again later."""
    for node in nodes:
        node.kill()
    pause(DOWN_SECONDS)
    for node in nodes:
        node.launch()


def frozen(node: LocalKafka, seconds: float) -> None:
    """Stop a broker without ending it, as a machine that swaps or a long garbage collection does."""
    os.kill(node.pid, signal.SIGSTOP)
    try:
        pause(seconds)
    finally:
        os.kill(node.pid, signal.SIGCONT)


def in_turn(cluster: LocalCluster, end: Callable[[LocalKafka], None]) -> None:
    for node in cluster.nodes:
        end(node)
        node.restart()
        pause(SHORTLY_SECONDS)


FAULTS: dict[str, Deed] = {
    "leader": lambda cluster, stage: down(leader_of(cluster, stage.topic, 0)),
    "group-coordinator": lambda cluster, stage: down(group_coordinator(cluster, stage)),
    "transaction-coordinator": lambda cluster, stage: down(transaction_coordinator(cluster, settings_of(stage))),
    "two-of-three": lambda cluster, _: down(*cluster.nodes[:2]),
    "all": lambda cluster, _: down(*cluster.nodes),
    "rolling-restart": lambda cluster, _: in_turn(cluster, LocalKafka.terminate),
    "rolling-kill": lambda cluster, _: in_turn(cluster, LocalKafka.kill),
    "slow-leader": lambda cluster, stage: frozen(leader_of(cluster, stage.topic, 0), SHORTLY_SECONDS),
    "frozen-leader": lambda cluster, stage: frozen(leader_of(cluster, stage.topic, 0), FROZEN_SECONDS),
    "frozen-coordinator": lambda cluster, stage: frozen(group_coordinator(cluster, stage), FROZEN_SECONDS),
}


@pytest.mark.parametrize("protocol", ["range", "consumer"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_event_is_predicted_once(cluster: LocalCluster, fault: str, protocol: str) -> None:
    stage = FaultScenario(cluster.bootstrap, partitions=PARTITIONS, rows=ROWS)
    usual = ("-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=2000") if protocol == "range" else ()
    over = threading.Event()

    def happen() -> None:
        try:
            FAULTS[fault](cluster, stage)
        finally:
            over.set()

    with (
        stage.auditor() as auditor,
        Driftway(*member(stage, protocol, "one", "--client", NATIVE, *usual)) as one,
        Driftway(*member(stage, protocol, "other", "--client", PYTHON, *usual)) as other,
    ):
        stage.fill(0, BEFORE)
        auditor.await_all(PARTITIONS * BEFORE)
        deed = threading.Thread(target=happen, name="fault")
        deed.start()
        fed = BEFORE
        while fed < ROWS and not over.wait(PIECE_SECONDS):
            stage.produce(fed, fed + PIECE)
            fed += PIECE
        deed.join()
        stage.fill(fed)
        auditor.await_all(PARTITIONS * ROWS, STANDSTILL_SECONDS)
        leave(one, other)
    print(f"{fault} {protocol}: longest silence of a partition {longest_silence(auditor):.1f} s")
    auditor.require(stage.expected)
    require_audited(stage)

"""Faults of the brokers of a cluster in use: a table, in which each entry is a function that causes a fault."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from driftway.workbench.broker import LocalCluster, LocalKafka
from driftway.worker.settings import WorkerSettings
from tests.broker.test_log_decides import settings_of
from tests.support import java
from tests.support.broker_links import LinkedCluster
from tests.support.brokers import leader_of
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import admin, await_until, create_topic, java_hash, refusal, unique

DOWN_SECONDS, FROZEN_SECONDS = 12.0, 15.0
"""Longer than the brokers' session of 9 s, so that the others have taken over before it is back."""
SHORTLY_SECONDS, LONG_SECONDS = 5.0, 30.0
CUT_OFF_SECONDS = 60.0
"""Longer than the 30 s for which clients wait for the answer to a request."""
STOPPED_SECONDS, RUNNING_SECONDS = 2.0, 0.5
"""A slow broker alternates between them: it runs for a fifth of the time."""
FULL_BYTES = 4096
"""Largest file on the disk that is full: every segment is already larger, or soon will be."""
NOTICED_SECONDS = 60.0
"""For the cluster to notice a fault and settle, on a busy machine."""
SILENT = "the cluster does not answer"
"""What workers log while they wait for the cluster."""
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
CLUSTER_ADMIN = Path(__file__).with_name("ClusterAdmin.java")

Action = Callable[[LocalCluster, FaultScenario], None]
Partition = tuple[str, int]


@dataclass(frozen=True)
class Fault:
    """A fault, and the kind of cluster that it needs.

    Parameters
    ----------
    cause : callable
        Causes the fault and ends it; all brokers run when it returns.
    cluster : str
        Key of `CLUSTERS`.
    messages : tuple of str
        Each worker must have logged one of these texts by then; empty if it need not log anything.
    """

    cause: Action
    cluster: str = "ordinary"
    messages: tuple[str, ...] = ()


def clusters() -> Mapping[str, Callable[[], LocalCluster]]:
    """Name -> the cluster; in ``one-controller`` the first broker is the only controller."""
    return {
        "ordinary": lambda: LocalCluster(heap="256m"),
        "one-controller": lambda: LocalCluster(heap="256m", controllers=1),
        "linked": lambda: LinkedCluster(heap="256m"),
    }


def group_coordinator(cluster: LocalCluster, scenario: FaultScenario) -> LocalKafka:
    """The broker that coordinates the scenario's group."""
    client = admin(cluster.bootstrap)
    described = client.describe_consumer_groups([scenario.group])[scenario.group].result(timeout=10)
    return cluster.nodes[described.coordinator.id - 1]


def transaction_partition(cluster: LocalCluster, settings: WorkerSettings) -> int:
    """The partition of the transaction log for partition 0's transactions, chosen by the Java hash of their id."""
    client = admin(cluster.bootstrap)
    count = len(client.list_topics(TRANSACTIONS, timeout=10).topics[TRANSACTIONS].partitions)
    return java_hash(settings.transactional_id(0)) % count


def transaction_coordinator(cluster: LocalCluster, scenario: FaultScenario) -> LocalKafka:
    """The broker that coordinates partition 0's transactions."""
    return leader_of(cluster, TRANSACTIONS, transaction_partition(cluster, settings_of(scenario)))


def controller(cluster: LocalCluster) -> LocalKafka:
    """The broker that is the active controller."""
    return cluster.nodes[int(cluster_admin("controller", cluster.bootstrap)) - 1]


def cluster_admin(*arguments: str) -> str:
    """Run ClusterAdmin.java, and return what it prints."""
    with tempfile.TemporaryDirectory(prefix="driftway-test-") as folder:
        return java.run(CLUSTER_ADMIN, Path(folder), *arguments)


def partitions_in_use(cluster: LocalCluster, scenario: FaultScenario) -> Iterator[Partition]:
    """Yield the partitions of input and outputs, of snapshots, offsets and transactions."""
    client = admin(cluster.bootstrap)
    for name, topic in client.list_topics(timeout=10).topics.items():
        if name in (OFFSETS, TRANSACTIONS) or name.startswith(scenario.topic):
            yield from ((name, number) for number in sorted(topic.partitions))


def place(cluster: LocalCluster, replicas: Mapping[Partition, Sequence[int]]) -> None:
    """Assign these replicas to partitions, make the first one of each the leader, and wait until it is."""
    from confluent_kafka import ElectionType, TopicPartition

    words = [
        word for (topic, number), nodes in replicas.items() for word in (topic, str(number), ",".join(map(str, nodes)))
    ]
    cluster_admin("place", cluster.bootstrap, *words)
    client = admin(cluster.bootstrap)
    wanted = {partition: nodes[0] for partition, nodes in replicas.items()}

    def leads() -> bool:
        client.elect_leaders(ElectionType.PREFERRED, [TopicPartition(*one) for one in wanted]).result(timeout=30)
        found = client.list_topics(timeout=10).topics
        return all(found[topic].partitions[number].leader == node for (topic, number), node in wanted.items())

    await_until(leads, NOTICED_SECONDS, "every partition led by the first of its replicas", poll=0.5)


def in_sync(cluster: LocalCluster, topic: str) -> dict[int, list[int]]:
    """Partition -> nodes whose replicas are in sync."""
    client = admin(cluster.bootstrap)
    return {number: one.isrs for number, one in client.list_topics(topic, timeout=10).topics[topic].partitions.items()}


def pause(seconds: float) -> None:
    time.sleep(seconds)  # no condition to wait for: the fault lasts this long


@contextmanager
def killed(*nodes: LocalKafka) -> Iterator[None]:
    """Kill brokers, and start them again after the block."""
    for node in nodes:
        node.kill()
    yield
    for node in nodes:
        node.launch()


@contextmanager
def stopped(*nodes: LocalKafka) -> Iterator[None]:
    """Suspend brokers, as swapping or a long garbage collection would."""
    for node in nodes:
        os.kill(node.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for node in nodes:
            os.kill(node.pid, signal.SIGCONT)


def down(*nodes: LocalKafka) -> None:
    """Kill brokers, and restart them after some seconds."""
    with killed(*nodes):
        pause(DOWN_SECONDS)


def frozen(node: LocalKafka, seconds: float) -> None:
    """Suspend a broker for this long."""
    with stopped(node):
        pause(seconds)


def stopped_repeatedly(node: LocalKafka) -> None:
    """Suspend a broker repeatedly, so that it is slow, but never silent long enough to count as dead."""
    end = time.monotonic() + LONG_SECONDS
    while time.monotonic() < end:
        frozen(node, STOPPED_SECONDS)
        pause(RUNNING_SECONDS)


def in_turn(cluster: LocalCluster, end: Callable[[LocalKafka], None]) -> None:
    """Restart one broker after the other."""
    for node in cluster.nodes:
        end(node)
        node.restart()
        pause(SHORTLY_SECONDS)


def controller_down(cluster: LocalCluster, scenario: FaultScenario) -> None:
    """Kill the active controller, which leads no partition in use, so that only the controller is missing."""
    node = cluster.nodes.index(controller(cluster)) + 1
    others = [other for other in range(1, len(cluster.nodes) + 1) if other != node]
    used = list(partitions_in_use(cluster, scenario))
    place(cluster, {one: [*others[i % 2 :], *others[: i % 2], node] for i, one in enumerate(used)})
    dead = controller(cluster)
    assert dead is cluster.nodes[node - 1], "another broker became the controller"
    assert all(leader_of(cluster, *one) is not dead for one in used)
    down(dead)


def coordinators_down(cluster: LocalCluster, scenario: FaultScenario) -> None:
    """Kill two brokers at once: the coordinators of the group and of its transactions."""
    of_group = group_coordinator(cluster, scenario)
    if transaction_coordinator(cluster, scenario) is of_group:
        node = cluster.nodes.index(of_group) + 1
        others = [other for other in range(1, len(cluster.nodes) + 1) if other != node]
        place(cluster, {(TRANSACTIONS, transaction_partition(cluster, settings_of(scenario))): [*others, node]})
    of_transactions = transaction_coordinator(cluster, scenario)
    assert of_transactions is not of_group
    down(of_group, of_transactions)


def one_in_sync(cluster: LocalCluster, lost: Callable[..., object]) -> None:
    """Lose all replicas except the controller broker's, and check that it then refuses records."""
    probe = create_topic(cluster.bootstrap, unique("probe"))
    left, *others = cluster.nodes
    with lost(*others):
        alone = {number: [1] for number in in_sync(cluster, probe)}
        await_until(lambda: in_sync(cluster, probe) == alone, NOTICED_SECONDS, "one replica in sync")
        # The broker's metadata may show it before its partitions do; until then, records wait in vain.
        await_until(lambda: refusal(left.bootstrap, probe) == "NOT_ENOUGH_REPLICAS", NOTICED_SECONDS, "a refusal")
        pause(FROZEN_SECONDS)
    await_until(lambda: len(in_sync(cluster, probe)[0]) == len(cluster.nodes), NOTICED_SECONDS, "all in sync again")


def leader_cut_off(cluster: LocalCluster, scenario: FaultScenario) -> None:
    """Cut the leader of partition 0 off from the other brokers, which elect a new one; clients still reach all."""
    assert isinstance(cluster, LinkedCluster)
    alone = leader_of(cluster, scenario.topic, 0)
    node = cluster.nodes.index(alone) + 1
    others = ",".join(one.bootstrap for one in cluster.nodes if one is not alone)

    def replaced() -> bool:
        elsewhere = admin(others)  # a client that knows all brokers may go on asking the isolated one
        return bool(
            elsewhere.list_topics(scenario.topic, timeout=10).topics[scenario.topic].partitions[0].leader != node
        )

    with cluster.links.cut_off(node):
        await_until(replaced, NOTICED_SECONDS, "another leader elected")
        pause(CUT_OFF_SECONDS)
    assert cluster.links.unknown_connections == 0
    await_until(lambda: len(in_sync(cluster, scenario.topic)[0]) == len(cluster.nodes), NOTICED_SECONDS, "it is back")


def reassigned(cluster: LocalCluster, scenario: FaultScenario) -> None:
    """Move all partitions in use, with two replicas each, once around the cluster, and then restore three replicas."""
    nodes = [number + 1 for number in range(len(cluster.nodes))]
    used = list(partitions_in_use(cluster, scenario))
    for step in [*nodes, 0]:
        ring = {one: [nodes[(step + i + j) % len(nodes)] for j in range(3)] for i, one in enumerate(used)}
        place(cluster, {one: of[: 2 if step else 3] for one, of in ring.items()})
        pause(SHORTLY_SECONDS)


def disk_full(node: LocalKafka) -> None:
    """Prevent a broker from writing, so that its log directory fails and it exits; then restart it with free space."""
    limit = resource.prlimit(node.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (FULL_BYTES, limit[1]))
    await_until(lambda: node.exit_code() is not None, NOTICED_SECONDS, "the broker whose disk is full ended")
    pause(DOWN_SECONDS)
    node.launch()


FAULTS: dict[str, Fault] = {
    "leader": Fault(lambda cluster, scenario: down(leader_of(cluster, scenario.topic, 0))),
    "group-coordinator": Fault(lambda cluster, scenario: down(group_coordinator(cluster, scenario))),
    "transaction-coordinator": Fault(lambda cluster, scenario: down(transaction_coordinator(cluster, scenario))),
    "both-coordinators": Fault(coordinators_down),
    "controller": Fault(controller_down),
    "two-of-three": Fault(lambda cluster, _: down(*cluster.nodes[:2])),
    "all": Fault(lambda cluster, _: down(*cluster.nodes)),
    "rolling-restart": Fault(lambda cluster, _: in_turn(cluster, LocalKafka.terminate)),
    "rolling-kill": Fault(lambda cluster, _: in_turn(cluster, LocalKafka.kill)),
    "stopped-leader": Fault(lambda cluster, scenario: frozen(leader_of(cluster, scenario.topic, 0), SHORTLY_SECONDS)),
    "frozen-leader": Fault(lambda cluster, scenario: frozen(leader_of(cluster, scenario.topic, 0), FROZEN_SECONDS)),
    "frozen-coordinator": Fault(lambda cluster, scenario: frozen(group_coordinator(cluster, scenario), FROZEN_SECONDS)),
    "slow-leader": Fault(lambda cluster, scenario: stopped_repeatedly(leader_of(cluster, scenario.topic, 0))),
    "slow-coordinator": Fault(lambda cluster, scenario: stopped_repeatedly(group_coordinator(cluster, scenario))),
    "reassigned": Fault(reassigned),
    "full-disk": Fault(lambda cluster, scenario: disk_full(leader_of(cluster, scenario.topic, 0))),
    "replicas-killed": Fault(
        lambda cluster, _: one_in_sync(cluster, killed), "one-controller", (SILENT, "lost partitions")
    ),
    "replicas-frozen": Fault(lambda cluster, _: one_in_sync(cluster, stopped), "one-controller", (SILENT,)),
    "leader-cut-off": Fault(leader_cut_off, "linked"),
}

"""Measure how long predictions stand still when one broker of three is killed.

Two workers, one with each client, and rows that go on arriving. In each round another broker is killed, and started
again later. Printed are, per round, when the cluster itself had leaders for all partitions again, and the longest
time for which a read_committed reader saw nothing of a partition; and their median and maximum at the end:

    python -m tests.bench.cluster_standstill --protocol classic --partitions 4 --rounds 10
"""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median

import click
from confluent_kafka import KafkaException

from driftway.workbench.bench.workload import Loader
from driftway.workbench.broker import LocalCluster
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import CLASSIC, CONSUMER
from tests.bench.failover import Traffic
from tests.support.audit import Auditor
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import admin
from tests.support.process import Driftway

SETTLE_SECONDS, DOWN_SECONDS, BACK_SECONDS = 8.0, 22.0, 10.0
"""Before a broker is killed, until it is started again, and after that."""
ROWS_PER_SECOND = 400
"""Of all partitions together."""
SLICE_SECONDS = 0.1
FIRST_ROWS = 100


def seconds_without_leaders(cluster: LocalCluster, dead: int, began: float) -> float:
    """Return the seconds until no partition is led by the dead broker or by none; infinite if not before it is back."""
    others = ",".join(node.bootstrap for i, node in enumerate(cluster.nodes, 1) if i != dead)
    client, found = admin(others), float("inf")
    while time.monotonic() - began < DOWN_SECONDS:
        time.sleep(SLICE_SECONDS)  # not waiting for a condition: the broker stays down this long
        if found < float("inf"):
            continue
        try:
            topics = client.list_topics(timeout=2).topics.values()
        except KafkaException:
            continue
        if not any(one.leader in (dead, -1) for topic in topics for one in topic.partitions.values()):
            found = time.monotonic() - began
    return found


def longest_silence(auditor: Auditor, partition: int, began: float) -> float:
    """Return the longest time without a prediction of a partition, from shortly before `began` until now."""
    times = sorted(at for (p, _), at in list(auditor.arrivals.items()) if p == partition and at >= began - 1.0)
    return max(after - before for before, after in pairwise([began, *times, time.monotonic()]))


def round_of(cluster: LocalCluster, auditor: Auditor, partitions: int, dead: int) -> tuple[float, float]:
    """Kill a broker and start it again; return the seconds without leaders and those without predictions."""
    time.sleep(SETTLE_SECONDS)  # not waiting for a condition: the group settles
    began = time.monotonic()
    cluster.nodes[dead - 1].kill()
    leaderless = seconds_without_leaders(cluster, dead, began)
    cluster.nodes[dead - 1].restart()
    time.sleep(BACK_SECONDS)  # not waiting for a condition: what its return does is measured too
    return leaderless, max(longest_silence(auditor, p, began) for p in range(partitions))


@click.command(help=__doc__)
@click.option("--protocol", type=click.Choice([CLASSIC, CONSUMER]), default=CLASSIC, show_default=True)
@click.option("--partitions", default=4, show_default=True)
@click.option("--rounds", default=10, show_default=True)
def main(protocol: str, partitions: int, rounds: int) -> None:
    with LocalCluster(heap="256m") as cluster:
        stage = FaultScenario(cluster.bootstrap, partitions=partitions, rows=FIRST_ROWS)
        worker = (
            "worker", "--input", stage.topic, "--group", stage.group, "--bootstrap", cluster.bootstrap,
            "--learner", LEARNER, "-X", f"group.protocol={protocol}", "--client",
        )  # fmt: skip
        found = list[tuple[float, float]]()
        with stage.auditor() as auditor, Driftway(*worker, PYTHON) as one, Driftway(*worker, NATIVE) as other:
            stage.fill()
            auditor.await_all(partitions * FIRST_ROWS)
            loader = Loader(cluster.bootstrap, {}, stage.topic, partitions, linger_ms=0)
            with Traffic(loader, stage.events[0], ROWS_PER_SECOND) as traffic:
                for i in range(rounds):
                    dead = 1 + i % len(cluster.nodes)
                    leaders, predictions = round_of(cluster, auditor, partitions, dead)
                    found.append((leaders, predictions))
                    click.echo(f"broker {dead}: leaders after {leaders:.1f} s, predictions after {predictions:.1f} s")
            auditor.await_all(partitions * FIRST_ROWS + traffic.sent)
            assert not auditor.complaints, auditor.complaints[:3]
            for process in (one, other):
                process.terminate()
                process.wait()
    for what, times in zip(("leaders", "predictions"), zip(*found, strict=True), strict=True):
        click.echo(f"{what}: median {median(times):.1f} s, largest {max(times):.1f} s, {rounds} rounds")


if __name__ == "__main__":
    main()

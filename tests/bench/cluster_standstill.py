"""Measure how long predictions stand still when something happens to brokers of a cluster of three.

Two workers of a group, and rows that go on arriving. Each round has one fault, of another broker each time. Printed
are, per round, when the cluster itself had leaders for all partitions again, and the longest time for which a
read_committed reader saw nothing of a partition, of the input and of the predictions; and their median and maximum at
the end, with how many rows were predicted twice or never:

    python -m tests.bench.cluster_standstill --protocol classic --partitions 4 --fault kill --rounds 10

Any other program that does the same work can have the same faults in the same minutes. It is started twice, as a group
of its own, and told by its environment what to do: BOOTSTRAP, IN_TOPIC, OUT_TOPIC (which has as many partitions as the
input), GROUP, STATE_DIR (of its own), TXN=1 (exactly once), COMMIT_MS and RF (replicas of its topics). Each of
its predictions is an object with the row's ``id``:

    python -m tests.bench.cluster_standstill --peer "streams=java -cp 'streams/*' Worker"
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from statistics import median

import click
from confluent_kafka import ElectionType, KafkaException

from driftway.workbench.bench.cases import Case
from driftway.workbench.bench.workload import Loader, blocks
from driftway.workbench.broker import LocalCluster
from driftway.worker.kafka.client_config import CLIENTS, NATIVE, PYTHON
from driftway.worker.kafka.topics import Topics, create_topics, output_plan
from driftway.worker.settings import CLASSIC, CONSUMER
from tests.bench.failover import Traffic
from tests.bench.output_reader import OutputReader
from tests.bench.peers import peer_environment
from tests.bench.restarted_workers import LOOK_SECONDS, RestartedWorkers
from tests.support.audit import UP_TO_DATE
from tests.support.cluster_faults import FROZEN_SECONDS, LONG_SECONDS, killed, pause, stopped
from tests.support.fault_scenario import LEARNER
from tests.support.kafka import admin, await_until

DOWN_SECONDS, BACK_SECONDS, SETTLE_SECONDS = 22.0, 10.0, 8.0
"""Until a killed broker is started again, after every fault, and until the next one."""
FIRST_SECONDS, RETURN_SECONDS = 240.0, 60.0
"""For the first predictions of all partitions, and for those after a fault."""
SLICE_SECONDS = 0.1
COMMIT_SECONDS = 0.1
INPUT_PROPERTIES = {"request.timeout.ms": 5000, **UP_TO_DATE}
"""Properties of the client that writes the input: it goes to a new leader as soon as there is one."""
MANY_ROWS = 100_000_000
"""More than are ever sent; they are made as they are needed."""
INPUT, DRIFTWAY = "input", "driftway"


def seconds_without_leaders(cluster: LocalCluster, dead: int, seconds: float) -> float:
    """Wait `seconds`; return until when a partition was led by this broker or by none, infinite if all the time."""
    began = time.monotonic()
    others = ",".join(node.bootstrap for i, node in enumerate(cluster.nodes) if i != dead)
    client, found = admin(others), float("inf")
    while time.monotonic() - began < seconds:
        time.sleep(SLICE_SECONDS)  # not waiting for a condition: the fault lasts this long
        if found < float("inf"):
            continue
        try:
            topics = client.list_topics(timeout=2).topics.values()
        except KafkaException:
            continue
        if not any(one.leader in (dead + 1, -1) for topic in topics for one in topic.partitions.values()):
            found = time.monotonic() - began
    return found


def kill(cluster: LocalCluster, at: int) -> float:
    """Kill a broker, and start it again when another has long taken over."""
    with killed(cluster.nodes[at]):
        return seconds_without_leaders(cluster, at, DOWN_SECONDS)


def freeze(cluster: LocalCluster, at: int) -> float:
    """Stop a broker without ending it, for longer than its session."""
    with stopped(cluster.nodes[at]):
        return seconds_without_leaders(cluster, at, FROZEN_SECONDS)


def restart(cluster: LocalCluster, at: int) -> None:
    """End a broker cleanly, and start it again at once."""
    cluster.nodes[at].terminate()
    cluster.nodes[at].restart()


def two_down(cluster: LocalCluster, at: int) -> None:
    """Kill two of the three, so that nothing can be written or elected, and start them again."""
    with killed(cluster.nodes[at], cluster.nodes[at - 1]):
        pause(LONG_SECONDS)


FAULTS: dict[str, Callable[[LocalCluster, int], float | None]] = {
    "kill": kill,
    "restart": restart,
    "freeze": freeze,
    "two-down": two_down,
}
"""Name -> does and undoes it; returns the seconds without leaders where the others can elect some."""


@dataclass(frozen=True)
class Round:
    """What one fault did.

    Parameters
    ----------
    fault : str
        Key of FAULTS.
    broker : int
        Id of the broker that it happened to.
    leaders : float or None
        Seconds until all partitions had leaders; None if that was not measured, infinite if not during the fault.
    silences : dict
        INPUT, DRIFTWAY or a peer -> longest time, s, for which nothing of some partition was seen.
    load : float
        The machine's load (1 minute) at the end of the round.
    """

    fault: str
    broker: int
    leaders: float | None
    silences: dict[str, float]
    load: float

    def __str__(self) -> str:
        leaders = "" if self.leaders is None else f"leaders after {self.leaders:.1f} s; "
        silences = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.silences.items())
        return f"{self.fault} broker {self.broker}: {leaders}longest silence {silences}; load {self.load:.0f}"


def all_in_sync(cluster: LocalCluster) -> bool:
    """Whether all replicas are in sync, so that one broker can go again."""
    try:
        topics = admin(cluster.bootstrap).list_topics(timeout=5).topics.values()
    except KafkaException:
        return False
    return all(set(one.isrs) == set(one.replicas) for topic in topics for one in topic.partitions.values())


def elect_preferred_leaders(cluster: LocalCluster) -> None:
    """Let the first replica of each partition lead again, so that every broker leads a third when its turn comes."""
    client = admin(cluster.bootstrap)
    with contextlib.suppress(KafkaException):  # where all of them lead already
        client.elect_leaders(ElectionType.PREFERRED, None).result(timeout=RETURN_SECONDS)
    pause(SETTLE_SECONDS)


def round_of(cluster: LocalCluster, seen: OutputReader, fault: str, at: int) -> Round:
    """Do and undo a fault, wait until all is as before, and return what was seen meanwhile."""
    elect_preferred_leaders(cluster)
    began = time.monotonic()
    leaders = FAULTS[fault](cluster, at)
    undone = time.monotonic()
    pause(BACK_SECONDS)  # what the return of a broker does is measured too
    if silent := seen.await_all_since(undone, RETURN_SECONDS):
        click.echo(f"still silent after {RETURN_SECONDS:.0f} s: {', '.join(silent)}")
    await_until(lambda: all_in_sync(cluster), RETURN_SECONDS, "all replicas in sync", poll=0.5)
    pause(SETTLE_SECONDS)  # measured too: a group may rebalance late
    silences = {name: one.longest_silence(began, time.monotonic()) for name, one in seen.of.items()}
    return Round(fault, at + 1, leaders, silences, os.getloadavg()[0])


def peer_workers(
    name: str, command: str, cluster: LocalCluster, topic: str, folder: Path
) -> tuple[str, RestartedWorkers]:
    """Return the output topic of a peer, and its two processes."""
    output = f"{topic}.{name}"
    states = [
        peer_environment(
            cluster.bootstrap, (topic, output), output, folder / f"{name}-{number}", COMMIT_SECONDS, len(cluster.nodes)
        )
        for number in range(2)
    ]
    return output, RestartedWorkers(name, [shlex.split(command)] * 2, states)


def rows(partitions: int) -> Iterator[bytes]:
    """Yield events; the id of each is its number."""
    return chain.from_iterable(blocks(Case(partitions=partitions), MANY_ROWS))


def print_summary(rounds: Sequence[Round]) -> None:
    """Print median and maximum of each fault."""
    for fault in dict.fromkeys(one.fault for one in rounds):
        share = [one for one in rounds if one.fault == fault]
        columns = {name: [one.silences[name] for one in share] for name in share[0].silences}
        leaders = [one.leaders for one in share if one.leaders is not None]
        for name, times in {**({"leaders": leaders} if leaders else {}), **columns}.items():
            click.echo(
                f"{fault}, {name}: median {median(times):.1f} s, largest {max(times):.1f} s, {len(times)} rounds"
            )


@click.command(help=__doc__)
@click.option("--protocol", type=click.Choice([CLASSIC, CONSUMER]), default=CLASSIC, show_default=True)
@click.option("--partitions", default=4, show_default=True)
@click.option("--rounds", default=10, show_default=True, help="Of each fault.")
@click.option("--fault", "faults", type=click.Choice(list(FAULTS)), multiple=True, default=["kill"], show_default=True)
@click.option("--client", "clients", type=click.Choice(CLIENTS), multiple=True, default=[PYTHON, NATIVE],
              show_default=True, help="One for each worker.")  # fmt: skip
@click.option("--learner", default=LEARNER, show_default=True)
@click.option("--rate", default=400.0, show_default=True, help="Rows per second of all partitions together.")
@click.option("--peer", "peers", multiple=True, metavar="NAME=COMMAND", help="Another program; repeatable.")
@click.option("--json", "path", type=click.Path(dir_okay=False), help="File for the result.")
def main(
    protocol: str, partitions: int, rounds: int, faults: Sequence[str], clients: Sequence[str], learner: str,
    rate: float, peers: Sequence[str], path: str | None,
) -> None:  # fmt: skip
    topics, found = Topics("events", "bench"), list[Round]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="driftway-bench-")))
        cluster = stack.enter_context(LocalCluster(heap="256m"))
        outputs, workers = {INPUT: topics.input, DRIFTWAY: topics.predictions}, dict[str, RestartedWorkers]()
        command = [
            *(sys.executable, "-m", "driftway", "worker", "--input", topics.input, "--group", topics.group),
            *("--bootstrap", cluster.bootstrap, "--learner", learner, "--commit-interval", str(COMMIT_SECONDS)),
            *("-X", f"group.protocol={protocol}"),
        ]
        workers[DRIFTWAY] = RestartedWorkers(DRIFTWAY, [[*command, "--client", client] for client in clients])
        for name, peer in (text.split("=", 1) for text in peers):
            outputs[name], workers[name] = peer_workers(name, peer, cluster, topics.input, folder)
        made = {topic: (partitions, dict[str, str]()) for topic in outputs.values()}
        create_topics(cluster.bootstrap, {}, {**made, **output_plan(topics, partitions)})
        for kept in workers.values():
            stack.enter_context(kept)
        seen = stack.enter_context(OutputReader(cluster.bootstrap, outputs, partitions))
        loader = Loader(cluster.bootstrap, INPUT_PROPERTIES, topics.input, partitions, linger_ms=0)
        with Traffic(loader, rows(partitions), rate) as traffic:
            if silent := seen.await_all_since(0.0, FIRST_SECONDS):
                click.echo(f"not all predict after {FIRST_SECONDS:.0f} s; rows of partitions: {seen.counts()}")
                assert DRIFTWAY not in silent, "Driftway does not predict"
            for fault in faults:
                for i in range(rounds):
                    found.append(round_of(cluster, seen, fault, i % len(cluster.nodes)))
                    click.echo(str(found[-1]))
        end = time.monotonic() + FIRST_SECONDS
        while seen.behind(traffic.sent) and time.monotonic() < end:
            pause(LOOK_SECONDS)
        pause(BACK_SECONDS)  # a row that is predicted again may come late
    print_summary(found)
    counted = dict[str, dict[str, int]]()
    for name, one in seen.of.items():
        more, fewer = one.beyond(seen.of[INPUT])
        counted[name] = {
            "twice": more,
            "never": one.missing(traffic.sent) + fewer,
            "restarts": len(workers[name].ended) if name in workers else 0,
        }
    click.echo(f"the client wrote {len(seen.of[INPUT].repeated)} rows of the input twice, which counts as other rows")
    for name, counts in counted.items():
        click.echo(f"{name}: of {traffic.sent:,} rows " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    if seen.notes:
        click.echo(f"the reader was told: {'; '.join(sorted(seen.notes))}")
    if path is not None:
        result = {
            "protocol": protocol,
            "rows": traffic.sent,
            "counts": counted,
            "rounds": [asdict(one) for one in found],
        }
        Path(path).write_text(json.dumps(result, indent=1), encoding="utf-8")
    assert not any(counted[DRIFTWAY].values()), f"Driftway: {counted[DRIFTWAY]}"


if __name__ == "__main__":
    main()

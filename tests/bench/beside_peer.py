"""Throughput, cost and latency of the worker, of the copiers of `driftway bench`, and of any other program, in one run.

The sides take turns, so that all of them see the same hours of the machine. The other program does the worker's work
on the same input. It is told by its environment what to do: BOOTSTRAP, IN_TOPIC, OUT_TOPIC, GROUP, STATE_DIR (of its
own), TXN=1 (exactly once), COMMIT_MS and RF (replicas of its topics). Each row of the input has its output in the same
partition, in the same order. The program goes on until it gets a SIGTERM; the exit codes 0 and 143 are good:

    python -m tests.bench.beside_peer --learner pa1,dfop --peer "streams=java -cp 'streams/*' Worker"

What is timed and counted is that of `driftway.workbench.bench.throughput` and `driftway.workbench.bench.latency`.
"""

from __future__ import annotations

import json
import shlex
import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import click

from driftway.workbench.bench.cases import LIMIT, PASSTHROUGH, WORKER, Case, Repetitions, order
from driftway.workbench.bench.contender import Contender, Cost
from driftway.workbench.bench.latency import LatencyRun, measure_latency
from driftway.workbench.bench.throughput import BenchCluster, Run, measure, startup
from driftway.workbench.bench.workload import drop, fill
from driftway.workbench.broker import LocalKafka
from driftway.worker.admin.watch.topic_tail import LogEnds
from driftway.worker.errors import Failure
from driftway.worker.kafka.topics import Topics
from tests.bench.peers import peer_environment

FEW_MESSAGES = 2_000
LOOK_SECONDS = 0.2
ENDED_BY_SIGTERM = 143


class ContenderOrPeer(Contender):
    """A side of `driftway bench`, or another program; parameters as `Contender`."""

    commands: Mapping[str, str] = {}
    """Name of a peer -> its command line."""

    def command(
        self, case: Case, bootstrap: str, properties: Mapping[str, Any], topics: Topics, stop_at_end: bool
    ) -> list[str]:
        if self.name not in self.commands:
            return super().command(case, bootstrap, properties, topics, stop_at_end)
        self.codes = (0, ENDED_BY_SIGTERM)
        self._ends, self._topics, self._case = LogEnds(bootstrap, properties), topics, case
        self._state = tempfile.TemporaryDirectory(prefix=f"driftway-bench-{self.name}-")  # goes with this object
        variables = peer_environment(
            bootstrap, (topics.input, topics.predictions), topics.group, Path(self._state.name), case.commit_interval, 1
        )
        return ["env", *(f"{key}={value}" for key, value in variables.items()), *shlex.split(self.commands[self.name])]

    def wait(self, seconds: float) -> Cost:
        """Wait until the output is as long as the input, then end a peer."""
        if self.name not in self.commands:
            return super().wait(seconds)
        deadline, partitions = time.monotonic() + seconds, range(self._case.partitions)
        rows = self._ends.of({self._topics.input: self._case.partitions})
        while True:
            self.require_running()
            found = self._ends.of({self._topics.predictions: self._case.partitions})
            if all(found[self._topics.predictions, p] >= rows[self._topics.input, p] for p in partitions):
                return self.end()
            if time.monotonic() > deadline:
                raise Failure(f"{self.name} had not written everything after {seconds:.0f} s")
            time.sleep(LOOK_SECONDS)


def show(name: str, runs: list[Run], delays: list[LatencyRun]) -> str:
    """A line of medians."""
    text = f"{name:12}"
    if runs:
        text += f" {median(one.messages_per_second for one in runs) / 1000:8,.0f}k messages/s"
        text += f" {median(one.cpu_seconds for one in runs):6.2f} CPU s per million"
        text += f" {median(one.peak_rss for one in runs) / 1e6:6,.0f} MB"
    for figure in ("p50", "p95", "p99", "p99_9") if delays else ():
        text += f"  {figure} {median(getattr(one, figure) for one in delays):.0f} ms"
    return text


@click.command(help=__doc__)
@click.option("--learner", "learners", default="pa1,dfop", show_default=True, help="Of workers, each a side.")
@click.option("--peer", "peers", multiple=True, metavar="NAME=COMMAND", help="Another program; repeatable.")
@click.option("--messages", default=3_000_000, show_default=True)
@click.option("--rounds", default=5, show_default=True, help="Of throughput.")
@click.option("--latency-rounds", default=5, show_default=True)
@click.option("--latency-seconds", default=20.0, show_default=True)
@click.option("--json", "path", type=click.Path(dir_okay=False, path_type=Path), help="File for all runs.")
def main(
    learners: str, peers: tuple[str, ...], messages: int, rounds: int, latency_rounds: int, latency_seconds: float,
    path: Path | None,
) -> None:  # fmt: skip
    ContenderOrPeer.commands = dict(text.split("=", 1) for text in peers)
    case = Case(messages=messages)
    sides: dict[str, tuple[str, Case]] = {
        side: (side, case) for side in (PASSTHROUGH, LIMIT, *ContenderOrPeer.commands)
    }
    sides |= {learner: (WORKER, replace(case, learner=learner)) for learner in learners.split(",")}
    runs: dict[str, list[Run]] = {side: [] for side in sides}
    delays: dict[str, list[LatencyRun]] = {side: [] for side in sides if side != LIMIT}
    numbers = count()
    with LocalKafka() as kafka:
        cluster = BenchCluster(kafka.bootstrap, {}, f"driftway-bench-{uuid.uuid4().hex[:8]}", ContenderOrPeer)
        inputs = {f"{cluster.prefix}-{n}": n for n in (FEW_MESSAGES, messages)}
        for topic, n in inputs.items() if rounds else ():
            fill(cluster.bootstrap, {}, topic, case, n)
        few, full = inputs
        start = {
            side: startup(name, of, cluster, few, FEW_MESSAGES, lambda: next(numbers))
            for side, (name, of) in (sides.items() if rounds else ())
        }
        for number in range(rounds):
            for side in order(number, list(sides)):
                name, of = sides[side]
                found = measure(
                    number, name, of, cluster, cluster.topics(next(numbers), full), (start[side], FEW_MESSAGES)
                )
                runs[side].append(found)
                click.echo(f"{number + 1}/{rounds} {show(side, [found], [])}")
        drop(cluster.bootstrap, {}, list(inputs) if rounds else [])
        effort = Repetitions(latency_seconds=latency_seconds)
        for number in range(latency_rounds):
            for side in order(number, list(delays)):
                name, of = sides[side]
                topics = Topics(f"{cluster.prefix}-paced-{next(numbers)}", f"{cluster.prefix}-{next(numbers)}")
                delay = measure_latency(number, name, of, effort, cluster, topics)
                delays[side].append(delay)
                click.echo(f"{number + 1}/{latency_rounds} {show(side, [], [delay])}")
    click.echo("\nmedians")
    for side in sides:
        click.echo(show(side, runs[side], delays.get(side, [])))
    if path is not None:
        every = {side: [vars(one) for one in (*runs[side], *delays.get(side, []))] for side in sides}
        path.write_text(json.dumps(every, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

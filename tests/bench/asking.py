"""What requests for predictions get from a worker under load, and what they cost it.

    python -m tests.bench.asking --rounds 3 --rate 2000 --rows 5000 [--before CHECKOUT]

A broker of its own, a topic with two partitions that receives rows at a fixed rate, and for each round and side a
worker of a new group. Each worker is measured without requests, with them, and while another worker without rows gets
them: so much of what they change is the processor that they need, and the rest is the interpreter that loop and server
share. Its own latencies are those of `driftway bench`: from the moment at which a row is due until a reader of
committed records has its prediction. `typical_p99` is the median of each second's p99.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.workbench.bench.cases import Case
from driftway.workbench.bench.contender import worker_argv
from driftway.workbench.bench.latency import LatencyReader
from driftway.workbench.bench.throughput import BenchCluster
from driftway.workbench.bench.workload import Loader, blocks, make_outputs, send_paced
from driftway.workbench.broker import LocalKafka
from driftway.worker.errors import Failure
from driftway.worker.kafka.topics import Topics, create_topics
from tests.bench.process_stats import TICKS
from tests.support.forkserver import ROOT
from tests.support.kafka import await_until

Floats = NDArray[np.float64]
ALONE, ASKED, ELSEWHERE = "alone", "asked", "elsewhere"
ORDER = (ALONE, ASKED, ELSEWHERE, ELSEWHERE, ASKED, ALONE)
"""One turn: what each phase asks. A drift of the machine favours none."""
START_SECONDS, ARRIVAL_SECONDS = 240.0, 60.0
SETTLE_SECONDS = 3.0
"""Time between the first rows and the measured ones, and before requests begin."""


class Worker(NamedTuple):
    """A running worker."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds that it and its threads have used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def worker(checkout: Path, case: Case, bootstrap: str, topics: Topics, more: list[str]) -> Iterator[Worker]:
    """Run a checkout's worker that answers requests."""
    argv = [*worker_argv(case, bootstrap, {}, topics, False), "--http-port", "0", "--serve-predictions", *more]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(argv, stderr=log, cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)})
        try:
            yield Worker(process, _port(process, log))
        finally:
            process.terminate()
            process.wait(60)


def _port(process: subprocess.Popen[bytes], log: Any) -> int:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        text = os.pread(log.fileno(), 1 << 20, 0)
        for line in text.splitlines()[: text.count(b"\n")]:
            if b'"listening"' in line:
                return int(json.loads(line)["port"])
        time.sleep(0.05)
    raise Failure(f"the worker does not listen: {os.pread(log.fileno(), 4000, 0).decode()}")


def measure(
    given: argparse.Namespace, checkout: Path, cluster: BenchCluster, topics: Topics, more: list[str]
) -> dict[str, Any]:
    """Measure one worker without requests, with them, and with the same requests to another one, in turn."""
    case = Case(learner=given.learner, features=given.features)
    idle = Topics(f"{topics.input}-idle", f"{topics.group}-idle")
    n = int(given.rows * given.seconds)
    rows = [value for block in blocks(case, case.partitions + len(ORDER) * given.turns * n) for value in block]
    for each in (topics, idle):
        create_topics(cluster.bootstrap, {}, {each.input: (case.partitions, {})})
        make_outputs(cluster.bootstrap, {}, each, case)
    reader = LatencyReader(cluster, topics.predictions, case.partitions)
    runs: dict[str, list[dict[str, Any]]] = {phase: [] for phase in (ALONE, ASKED, ELSEWHERE)}
    late: dict[str, list[Floats]] = {phase: [] for phase in (ALONE, ASKED, ELSEWHERE)}
    try:
        loader = Loader(cluster.bootstrap, {}, topics.input, case.partitions, linger_ms=0)
        other = Loader(cluster.bootstrap, {}, idle.input, case.partitions, linger_ms=0)
        given_to = checkout, case, cluster.bootstrap
        with worker(*given_to, topics, more) as running, worker(*given_to, idle, more) as resting:
            sent = case.partitions
            for one, asked in ((loader, running), (other, resting)):
                one.send(rows[:sent])
                one.finish()
                await_until(partial(_answers, asked.port, given.features), START_SECONDS, "a first answer")
            time.sleep(SETTLE_SECONDS)
            for phase in given.turns * ORDER:
                port = {ASKED: running.port, ELSEWHERE: resting.port}.get(phase)
                client = None if port is None else _client(given, port)
                used = running.cpu_seconds
                due, _ = send_paced(loader, rows[sent : sent + n], given.rows)
                used = running.cpu_seconds - used
                loader.finish()
                told = json.loads(client.communicate(timeout=120)[0]) if client is not None else {}
                _await(reader, sent + n, ARRIVAL_SECONDS)
                late[phase].append(1000 * (_arrivals(reader, case.partitions, sent + n)[sent:] - due))
                runs[phase].append({**told, "cpu": used / given.seconds})
                sent += n
    finally:
        reader.stop()
        for each in (topics, idle):
            cluster.drop(each, input_too=True)
    asked_for = _medians(runs[ASKED])
    extra = asked_for["cpu"] - _medians(runs[ALONE])["cpu"]
    own = {
        name: {phase: figure(late[phase]) for phase in late}
        for name, figure in (
            ("loop_p50", lambda runs: float(np.percentile(np.concatenate(runs), 50))),
            ("loop_p99", lambda runs: float(np.percentile(np.concatenate(runs), 99))),
            ("typical_p99", partial(_typical, int(given.rows))),
        )
    }
    return {
        **asked_for,
        "unanswered": sum(run["unanswered"] + run["never_sent"] for run in runs[ASKED]),
        "refused": sum(run["refused"] for run in runs[ASKED]),
        "worker_us_per_request": round(1e6 * extra / asked_for["requests_per_second"]),
        **{f"{name}_{phase}": round(values[phase], 1) for name, values in own.items() for phase in values},
        **{
            f"{name}_ratio_{phase}": round(values[phase] / values[ALONE], 2)
            for name, values in own.items()
            for phase in (ASKED, ELSEWHERE)
        },
        "load": round(os.getloadavg()[0], 1),
    }


def _answers(port: int, features: int) -> bool:
    """Whether the model of partition 0 answers."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        body = json.dumps({"x": features * [0.5]})
        connection.request("POST", "/v1/predict?partition=0", body, {"Content-Type": "application/json"})
        return connection.getresponse().status == http.HTTPStatus.OK


def _client(given: argparse.Namespace, port: int) -> subprocess.Popen[bytes]:
    options = {name: getattr(given, name) for name in ("rate", "connections", "seconds", "features", "events")}
    argv = [sys.executable, "-P", "-m", "tests.bench.asking_client", "--port", str(port)]
    argv += [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


def _arrivals(reader: LatencyReader, partitions: int, n: int) -> Floats:
    arrivals = np.empty(n)
    for p in range(partitions):
        own = arrivals[p::partitions]
        own[:] = reader.times(p)[: len(own)]
    return arrivals


def _typical(rows: int, late: list[Floats]) -> float:
    """Return the median of each second's p99: a second in which the machine stood still does not decide it."""
    seconds = [part for run in late for part in np.split(run[: len(run) // rows * rows], len(run) // rows)]
    return float(np.median([np.percentile(part, 99) for part in seconds]))


def _await(reader: LatencyReader, wanted: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while reader.count < wanted:
        if time.monotonic() > deadline:
            raise Failure(f"{reader.count} of {wanted} predictions had arrived after {seconds:.0f} s")
        time.sleep(0.02)


def main() -> None:
    """Run it from the command line; further options are the worker's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--turns", type=int, default=2, help=f"of each worker: {', '.join(ORDER)}")
    parser.add_argument("--rows", type=float, default=5000.0, help="rows a second on the input")
    parser.add_argument("--rate", type=float, default=2000.0, help="requests a second; 0: as many as are answered")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--events", type=int, default=1, help="of each request; more than one: a list")
    parser.add_argument("--learner", default="pa1")
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument(
        "--before", type=Path, help="another checkout, whose worker is measured in turn with this one's"
    )
    given, more = parser.parse_known_args()
    sides = {"now": ROOT} if given.before is None else {"before": given.before.resolve(), "now": ROOT}
    numbers, runs = count(), {side: list[dict[str, Any]]() for side in sides}
    with LocalKafka() as kafka:
        cluster = BenchCluster(kafka.bootstrap, {}, "asking")
        for pair in range(given.rounds):
            for side in list(sides) if pair % 2 == 0 else list(sides)[::-1]:
                number = next(numbers)
                found = measure(given, sides[side], cluster, cluster.topics(number, f"asking-{number}"), more)
                runs[side].append(found)
                sys.stderr.write(f"{side}: {json.dumps(found)}\n")
    json.dump({side: _medians(found) for side, found in runs.items()}, sys.stdout, indent=2)
    sys.stdout.write("\n")


def _medians(runs: list[dict[str, Any]]) -> dict[str, float]:
    return {name: round(statistics.median(run[name] for run in runs), 2) for name in runs[0]}


if __name__ == "__main__":
    main()

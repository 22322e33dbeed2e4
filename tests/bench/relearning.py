"""Latency of live rows while a challenger is relearned from the log beside them, and before, in one run.

    python -m tests.bench.relearning --rows 1000000 --rate 5000 --rounds 3

One partition holds `--rows` rows that its worker has learned. Then rows come at a fixed rate. In each round there is
first a quiet time, then a challenger is added with --relearned and dropped again once it has joined. A row's latency is
the time from when it was due until a read_committed reader has its prediction; a sender that falls behind adds to it.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from itertools import chain, cycle
from typing import Any, Self

import numpy as np
from confluent_kafka import TopicPartition
from numpy.typing import NDArray

from driftway.workbench.bench.cases import Case
from driftway.workbench.bench.workload import Loader, blocks
from driftway.workbench.broker import LocalKafka
from driftway.worker.kafka.client_config import NATIVE
from driftway.worker.kafka.topics import Topics, create_topics
from tests.support.kafka import await_until, committed_offset
from tests.support.log_times import logged_at
from tests.support.process import Driftway, driftway
from tests.support.reader_thread import ReaderThread

CHAMPION, CHALLENGER = "arow", "dfop"
GROUP, INPUT = "bench", "relearning"
SLICE_SECONDS = 0.001
QUIET_SECONDS = 10.0
WAIT_SECONDS = 600.0


class PacedRows(threading.Thread):
    """Sends rows at a fixed rate until the end of its ``with`` block; row i is due at `began` + i / rate."""

    def __init__(self, loader: Loader, rows: list[bytes], rate: float) -> None:
        super().__init__(name="rows", daemon=True)
        self._loader, self._rows, self.rate = loader, cycle(rows), rate
        self._ended = threading.Event()
        self.began = 0.0

    def __enter__(self) -> Self:
        self.began = time.time()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()
        self._loader.finish()

    def run(self) -> None:
        """Send what is due."""
        sent = 0
        while not self._ended.wait(SLICE_SECONDS):
            due = int((time.time() - self.began) * self.rate)
            if due > sent:
                self._loader.send([next(self._rows) for _ in range(due - sent)])
                sent = due


class Arrivals(ReaderThread):
    """Notes when each prediction of a partition arrives; the k-th belongs to the k-th row."""

    def __init__(self, bootstrap: str, topic: str, end: int) -> None:
        topic_partitions = [TopicPartition(topic, 0, end)]
        super().__init__("arrivals", bootstrap, topic_partitions, fetch_wait_max_ms=5, fetch_queue_backoff_ms=1)
        self.arrived: list[float] = []

    def run(self) -> None:
        """Poll until the end of the ``with`` block."""
        while not self._ended.is_set():
            if (first := self._reader.poll(0.05)) is not None:
                more = self._reader.consume(9_999, timeout=0)
                self.arrived += [time.time()] * sum(message.error() is None for message in (first, *more))


def log_lines(worker: Driftway, event: str) -> list[dict[str, Any]]:
    """Lines of a worker's log of one kind."""
    lines = [json.loads(line) for line in worker.stderr.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == event]


def quantiles(latency: NDArray[np.float64]) -> dict[str, float]:
    """Median and 99th percentile in ms, and how many rows they are of."""
    p50, p99 = (round(1000 * float(np.quantile(latency, q)), 1) for q in (0.5, 0.99))
    return {"p50_ms": p50, "p99_ms": p99, "rows": len(latency)}


def measure(kafka: str, rows: int, rate: float, rounds: int) -> dict[str, Any]:
    """Run the bench on a broker."""
    topics, case = Topics(INPUT, GROUP), Case()
    create_topics(kafka, {}, {INPUT: (1, {})})
    loader, place = Loader(kafka, {}, INPUT, 1, linger_ms=0), ("--input", INPUT, "--group", GROUP, "--bootstrap", kafka)
    values = list(chain.from_iterable(blocks(case, min(rows, 200_000))))
    for start in range(0, rows, len(values)):
        loader.send(values[: rows - start])
    loader.finish()
    spans = list[tuple[float, float, float]]()
    options = "--learner", CHAMPION, "--client", NATIVE, "--log-format", "json"
    with Driftway("worker", *place, *options) as worker:
        await_until(lambda: committed_offset(kafka, GROUP, INPUT)[0] == rows, WAIT_SECONDS, "the worker has caught up")
        with Arrivals(kafka, topics.predictions, 0) as arrivals:
            await_until(lambda: len(arrivals.arrived) == rows, WAIT_SECONDS, "all predictions are read")
            with PacedRows(loader, values, rate) as paced:
                for number in range(1, rounds + 1):
                    time.sleep(QUIET_SECONDS)
                    quiet_until = time.time()
                    change(place, "add", CHALLENGER, "--relearned")
                    taken = 2 * number - 1
                    # Rows that come meanwhile are relearned in further passes.
                    await_until(
                        lambda n=taken: len(log_lines(worker, "plan adopted")) >= n, WAIT_SECONDS, "it has joined"
                    )
                    begun, done = (logged_at(log_lines(worker, event)[-1]) for event in ("relearning", "relearned"))
                    spans.append((quiet_until, begun, done))
                    change(place, "drop", CHALLENGER)
                    await_until(
                        lambda n=taken: len(log_lines(worker, "plan adopted")) > n, WAIT_SECONDS, "it is dropped"
                    )
                time.sleep(1.0)
            arrived = np.array(arrivals.arrived[rows:])
        learned = [line["records"] for line in log_lines(worker, "plan adopted") if "records" in line]
        worker.terminate()
        worker.wait(60)
    due = paced.began + np.arange(len(arrived)) / rate
    return report(due, arrived - due, spans, learned)


def change(place: tuple[str, ...], *words: str) -> None:
    """Change the group's models."""
    done = driftway("models", *words, *place)
    assert done.code == 0, done


def report(
    due: NDArray[np.float64], latency: NDArray[np.float64], spans: list[tuple[float, float, float]], learned: list[int]
) -> dict[str, Any]:
    """Compare the rows that were due in the quiet times with those that were due while a challenger relearned."""
    found, all_quiet, all_busy = [], np.zeros(len(due), bool), np.zeros(len(due), bool)
    for (until, begun, done), records in zip(spans, learned, strict=True):
        quiet, busy = (due > until - QUIET_SECONDS + 1) & (due < until), (due >= begun) & (due < done)
        all_quiet, all_busy = all_quiet | quiet, all_busy | busy
        before, during = quantiles(latency[quiet]), quantiles(latency[busy])
        seconds = {"relearned": records, "seconds": round(done - begun, 2)}
        ratio = round(during["p99_ms"] / before["p99_ms"], 2)
        found.append({"before": before, "during": during, "p99_ratio": ratio, **seconds})
    before, during = quantiles(latency[all_quiet]), quantiles(latency[all_busy])
    ratio = round(during["p99_ms"] / before["p99_ms"], 2)
    return {"before": before, "during": during, "p99_ratio": ratio, "rounds": found}


def main() -> None:
    """Run it from the command line, on a broker of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=5000.0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with LocalKafka() as kafka:
        found = measure(kafka.bootstrap, given.rows, given.rate, given.rounds)
    json.dump(found, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()

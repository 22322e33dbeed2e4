"""A worker seen from outside: its process by the kernel's figures, its group by what it has committed.

Nothing here asks the worker anything or joins its group: what is measured is the worker as it runs in production.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from confluent_kafka import Consumer

from driftway.workbench.bench.cases import Case
from driftway.workbench.bench.contender import worker_argv
from driftway.workbench.broker.supervised import SupervisedProcess
from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import base_properties, quiet
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import committed_offset, watermarks
from driftway.worker.kafka.topics import Topics
from driftway.worker.state.snapshot import Pointer

ANSWER_SECONDS = 20.0
START_SECONDS = 240.0
"""Until a worker runs: a first start on a machine compiles all kernels."""
SESSION_MS = 3000
"""A killed member is noticed after this long. It lies before the assignment, so in none of the measured times."""
TOLD_BYTES = 3000
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """What a process uses: resident bytes now and at most, CPU seconds (user and system, all threads)."""

    rss: int
    peak_rss: int
    cpu_seconds: float


class MeasuredWorker:
    """``driftway worker`` as a child process.

    The guard ends it even if this process is killed: a worker that outlived its broker would look for it forever.

    Parameters
    ----------
    bootstrap : str
        The broker.
    topics : Topics
        Input and group.
    case : Case
        Learner, features, format, commit interval; the rolling window, which makes the state's size.
    """

    def __init__(self, bootstrap: str, topics: Topics, case: Case) -> None:
        properties = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": SESSION_MS // 6}
        self._argv = worker_argv(case, bootstrap, properties, topics, stop_at_end=False)
        self._guarded: SupervisedProcess | None = None
        self._log = Path()
        self.pid = 0

    def start(self) -> Self:
        """Start it; `close` is then due, whatever happens."""
        folder = Path(tempfile.mkdtemp(prefix="driftway-long-log-"))
        self._log = folder / "log"
        self._guarded = SupervisedProcess(remove=folder)
        try:
            self.pid = self._guarded.start(self._argv, self._log)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End it by SIGKILL if it still runs, and remove its log. May be called twice."""
        if self._guarded is not None:
            self._guarded.close()

    def events(self, what: str) -> list[dict[str, Any]]:
        """The events of a name that its journal has told so far."""
        lines = self._log.read_text(errors="replace").split("\n")[:-1]  # the last one may be half written
        found = [json.loads(line) for line in lines if line.startswith('{"time"')]
        return [event for event in found if event["event"] == what]

    def story(self) -> str:
        """All that it has told so far."""
        return self._log.read_text(errors="replace")

    def by_partition(self, what: str) -> dict[int, dict[str, Any]]:
        """The newest event of a name for each partition; those about several partitions count for each."""
        found = {}
        for event in self.events(what):
            for partition in event.get("partitions", [event.get("partition")]):
                found[partition] = event
        return found

    def require_running(self) -> None:
        """Raise Failure, with the end of its log, if it has ended."""
        code = self._guarded.exit_code() if self._guarded else None
        if code is not None:
            told = self._log.read_text(errors="replace")[-TOLD_BYTES:]
            raise Failure(f"the worker ended with exit code {code}; its output ended:\n{told}")

    def await_until(self, condition: Callable[[], object], seconds: float, what: str) -> None:
        """Wait for a condition; Failure at the deadline, or when the worker ends before."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.require_running()
            if time.monotonic() > deadline:
                raise Failure(f"not within {seconds:.0f} s: {what}")
            time.sleep(0.02)

    def usage(self) -> Usage:
        """What the kernel says about it; Linux only."""
        proc = Path(f"/proc/{self.pid}")
        try:
            pairs = (line.partition(":") for line in (proc / "status").read_text().splitlines())
            kilobytes = {key: value.split()[0] for key, _, value in pairs if key in ("VmHWM", "VmRSS")}
            fields = (proc / "stat").read_text().rpartition(")")[2].split()
            cpu = (int(fields[11]) + int(fields[12])) / TICKS
            return Usage(1024 * int(kilobytes["VmRSS"]), 1024 * int(kilobytes["VmHWM"]), cpu)
        except (OSError, KeyError):
            self.require_running()
            raise Failure(
                f"/proc/{self.pid} does not tell what the worker uses: this measurement needs Linux"
            ) from None


@dataclass(frozen=True)
class Standing:
    """Where a group stands in a partition: C, and the S of the snapshot that its metadata points to."""

    committed: int
    snapshot: int

    @property
    def relearned(self) -> int:
        """Rows that a restore would relearn, were the worker killed now."""
        return self.committed - self.snapshot


class Group:
    """Reads a group's committed offsets without being in it.

    Parameters
    ----------
    bootstrap : str
        The broker.
    topics : Topics
        Input and group.
    partitions : int
        Of the input.
    """

    def __init__(self, bootstrap: str, topics: Topics, partitions: int) -> None:
        self._input, self._partitions = topics.input, range(partitions)
        own = {"group.id": topics.group, "enable.auto.commit": False, "auto.offset.reset": "error"}
        self._reader = Consumer(quiet({**base_properties(bootstrap, {}), **own}))
        self._reader.list_topics(topics.input, ANSWER_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def standing(self) -> list[Standing]:
        """Of every partition."""
        found = []
        for partition in self._partitions:
            committed, metadata = committed_offset(self._reader, self._input, partition, Deadline(ANSWER_SECONDS))
            pointer = Pointer.parse(metadata)
            found.append(Standing(committed or 0, pointer.state_offset if pointer else 0))
        return found

    def rows(self) -> int:
        """Rows of all partitions that are behind the committed offsets."""
        return sum(at.committed for at in self.standing())

    def backlog(self) -> int:
        """Rows of all partitions that are not."""
        ends = (watermarks(self._reader, self._input, p, Deadline(ANSWER_SECONDS))[1] for p in self._partitions)
        return sum(ends) - self.rows()

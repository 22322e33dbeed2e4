"""Observe a worker from outside: its process through /proc, its group through the committed offsets.

Nothing here queries the worker or joins its group, so the worker is measured as it runs in production.
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
from driftway.worker.state.changelog.snapshot_pointer import Pointer

ANSWER_SECONDS = 20.0
START_SECONDS = 240.0
"""Timeout until a worker runs: the first start on a machine compiles all kernels."""
SESSION_MS = 3000
"""Session timeout. It ends before the assignment, so none of the measured times includes it."""
TOLD_BYTES = 3000
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """Usage of a process: resident bytes now and at peak, CPU seconds (user and system, all threads)."""

    rss: int
    peak_rss: int
    cpu_seconds: float


class MeasuredWorker:
    """``driftway worker`` as a child process.

    The supervisor ends it even if this process is killed: a worker that outlived its broker would retry forever.

    Parameters
    ----------
    bootstrap : str
        Bootstrap address of the broker.
    topics : Topics
        Input topic and group.
    case : Case
        Learner, features, format, commit interval, and the rolling window, which sets the size of the state.
    """

    def __init__(self, bootstrap: str, topics: Topics, case: Case) -> None:
        properties = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": SESSION_MS // 6}
        self._argv = worker_argv(case, bootstrap, properties, topics, stop_at_end=False)
        self._guarded: SupervisedProcess | None = None
        self._log = Path()
        self.pid = 0

    def start(self) -> Self:
        """Start it; `close` must be called afterwards in any case."""
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
        """SIGKILL it if it still runs, and remove its log. May be called twice."""
        if self._guarded is not None:
            self._guarded.close()

    def events(self, what: str) -> list[dict[str, Any]]:
        """Return the events with this name that its journal has so far."""
        lines = self._log.read_text(errors="replace").split("\n")[:-1]  # the last one may be half written
        found = [json.loads(line) for line in lines if line.startswith('{"time"')]
        return [event for event in found if event["event"] == what]

    def summary(self) -> str:
        """Return its output so far."""
        return self._log.read_text(errors="replace")

    def by_partition(self, what: str) -> dict[int, dict[str, Any]]:
        """Return the newest event with this name per partition; an event about several partitions counts for each."""
        found = {}
        for event in self.events(what):
            for partition in event.get("partitions", [event.get("partition")]):
                found[partition] = event
        return found

    def require_running(self) -> None:
        """Raise Failure with the end of its log if it has ended."""
        code = self._guarded.exit_code() if self._guarded else None
        if code is not None:
            output = self._log.read_text(errors="replace")[-TOLD_BYTES:]
            raise Failure(f"the worker ended with exit code {code}; its output ended:\n{output}")

    def await_until(self, condition: Callable[[], object], seconds: float, what: str) -> None:
        """Wait for a condition; raise Failure at the deadline, or if the worker ends first."""
        deadline = time.monotonic() + seconds
        while not condition():
            self.require_running()
            if time.monotonic() > deadline:
                raise Failure(f"not within {seconds:.0f} s: {what}")
            time.sleep(0.02)

    def usage(self) -> Usage:
        """Return its usage from /proc; Linux only."""
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
class GroupPosition:
    """A group's position in a partition: committed offset C, and offset S of the snapshot its metadata points to."""

    committed: int
    snapshot: int

    @property
    def relearned(self) -> int:
        """Rows that a restore would relearn if the worker were killed now."""
        return self.committed - self.snapshot


class Group:
    """Reads a group's committed offsets without joining it.

    Parameters
    ----------
    bootstrap : str
        Bootstrap address of the broker.
    topics : Topics
        Input topic and group.
    partitions : int
        Partitions of the input topic.
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

    def positions(self) -> list[GroupPosition]:
        """Return the group's position in every partition."""
        found = []
        for partition in self._partitions:
            committed, metadata = committed_offset(self._reader, self._input, partition, Deadline(ANSWER_SECONDS))
            pointer = Pointer.parse(metadata)
            found.append(GroupPosition(committed or 0, pointer.state_offset if pointer else 0))
        return found

    def rows(self) -> int:
        """Return the committed rows, summed over the partitions."""
        return sum(at.committed for at in self.positions())

    def backlog(self) -> int:
        """Return the rows not committed yet, summed over the partitions."""
        ends = (watermarks(self._reader, self._input, p, Deadline(ANSWER_SECONDS))[1] for p in self._partitions)
        return sum(ends) - self.rows()

"""Start, await and end the processes of one side, and report their cost."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from driftway.workbench.bench.cases import COPIERS, MAPPED, WORKER, Case
from driftway.workbench.bench.python_copy import CopyJob
from driftway.workbench.broker.supervised import SupervisedProcess
from driftway.worker.errors import Failure
from driftway.worker.kafka.topics import Topics
from driftway.worker.wire.codec import JSON, read_json

END_SECONDS = 60.0
POLL_SECONDS = 0.02
TOLD_BYTES = 2000


@dataclass(frozen=True)
class Cost:
    """Cost of the processes of one run: total CPU seconds, and the largest peak RSS in bytes."""

    cpu_seconds: float
    peak_rss: int


class Contender:
    """The processes of one side on one input; a context manager whose exit leaves no process behind.

    Parameters
    ----------
    name : str
        ``passthrough``, ``limit`` or ``worker``.
    case : Case
        What is measured.
    bootstrap : str
        The broker's address.
    properties : mapping
        Client properties of the user.
    topics : Topics
        Topics of the input; copiers write to the predictions topic, as the worker does.
    stop_at_end : bool
        Whether the processes exit when everything has been read and committed.
    """

    def __init__(
        self,
        name: str,
        case: Case,
        bootstrap: str,
        properties: Mapping[str, Any],
        topics: Topics,
        stop_at_end: bool,
    ) -> None:
        self.name = name
        self.codes: tuple[int, ...] = (0,)
        self._argv = self.command(case, bootstrap, properties, topics, stop_at_end)
        self._count = case.workers
        self._children: list[tuple[SupervisedProcess, Path]] = []

    def command(
        self, case: Case, bootstrap: str, properties: Mapping[str, Any], topics: Topics, stop_at_end: bool
    ) -> list[str]:
        """Return the command line of each process."""
        if self.name == WORKER:
            return worker_argv(case, bootstrap, properties, topics, stop_at_end)
        return _copier(self.name, case, bootstrap, properties, topics, stop_at_end)

    def __enter__(self) -> Self:
        try:
            for _ in range(self._count):
                folder = Path(tempfile.mkdtemp(prefix=f"driftway-bench-{self.name}-"))
                guarded = SupervisedProcess(remove=folder)
                self._children.append((guarded, folder / "log"))
                guarded.start(
                    [sys.executable, "-P", "-m", "driftway.workbench.bench.process_cost", *self._argv], folder / "log"
                )
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def wait(self, seconds: float) -> Cost:
        """Wait until all processes have exited by themselves; return their cost.

        Raises
        ------
        Failure
            A process failed, or they did not exit in time.
        """
        deadline = time.monotonic() + seconds
        while any(guarded.exit_code() is None for guarded, _ in self._children):
            if time.monotonic() > deadline:
                raise Failure(f"the {self.name} had not ended after {seconds:.0f} s{self._output_end()}")
            time.sleep(POLL_SECONDS)
        return self._cost()

    def require_running(self) -> None:
        """Raise `Failure` if a process has exited."""
        for guarded, _ in self._children:
            if guarded.exit_code() is not None:
                raise Failure(f"the {self.name} ended unexpectedly{self._output_end()}")

    def end(self) -> Cost:
        """Send SIGTERM, wait for an orderly shutdown, and return the cost.

        Raises
        ------
        Failure
            A process failed.
        """
        for guarded, _ in self._children:
            guarded.end(END_SECONDS)
        return self._cost()

    def _cost(self) -> Cost:
        reports = []
        for guarded, log in self._children:
            code = guarded.exit_code()
            if code not in self.codes:
                raise Failure(f"the {self.name} ended with exit code {code}{self._output_end()}")
            reports.append(read_json(log.read_bytes().splitlines()[-1]))
        return Cost(sum(r["cpu_seconds"] for r in reports), max(r["peak_rss"] for r in reports))

    def _output_end(self) -> str:
        ends = [log.read_text(errors="replace")[-TOLD_BYTES:] for _, log in self._children if log.exists()]
        return "; its output ended:\n" + "\n".join(ends)

    def _close(self) -> None:
        for guarded, _ in self._children:
            guarded.close()


def worker_argv(
    case: Case, bootstrap: str, properties: Mapping[str, Any], topics: Topics, stop_at_end: bool
) -> list[str]:
    """Return the command line of a case's worker, with a JSON log."""
    options = {
        "--bootstrap": bootstrap,
        "--input": topics.input,
        "--group": topics.group,
        "--learner": case.learner,
        # Names are taken from the first event; a number of features means that they have no names.
        **({} if case.feature_names else {"--features": str(case.features)}),
        "--format": JSON if case.feature_names else case.form,
        "--output-format": case.output_form,
        "--commit-interval": repr(case.commit_interval),
        "--guarantee": case.guarantee,
        "--metric-window": str(case.window),
        "--client": case.client,
        "--log-format": "json",
    }
    argv = [sys.executable, "-P", "-m", "driftway", "worker"]
    for pair in options.items():
        argv += pair
    for name in case.feature_names if case.form == MAPPED else ():
        argv += ["--feature", name]
    for key, value in properties.items():
        argv += ["-X", f"{key}={value}"]
    return argv + ["--stop-at-end"] * stop_at_end


def _copier(
    name: str, case: Case, bootstrap: str, properties: Mapping[str, Any], topics: Topics, stop_at_end: bool
) -> list[str]:
    job = CopyJob(
        bootstrap,
        topics.input,
        topics.predictions,
        topics.group,
        case.commit_interval,
        case.guarantee,
        stop_at_end,
        dict(properties),
    )
    return [sys.executable, "-P", "-m", f"driftway.workbench.bench.{COPIERS[name]}", json.dumps(asdict(job))]

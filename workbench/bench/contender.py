"""One of the sides as processes: started, awaited, ended, and what they cost."""

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
    """What the processes of one run used: CPU seconds together, peak resident bytes of the largest."""

    cpu_seconds: float
    peak_rss: int


class Contender:
    """The processes of one side on one input; a context manager whose end leaves none behind.

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
        Of the input; those that only copy write to the predictions topic, as the worker does.
    stop_at_end : bool
        Whether the processes end by themselves when everything has been read and committed.
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
        if name == WORKER:
            self._argv = worker_argv(case, bootstrap, properties, topics, stop_at_end)
        else:
            self._argv = _copier(name, case, bootstrap, properties, topics, stop_at_end)
        self._count = case.workers
        self._children: list[tuple[SupervisedProcess, Path]] = []

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
        """Wait until all have ended by themselves; what they cost.

        Raises
        ------
        Failure
            One failed, or they did not end in time.
        """
        deadline = time.monotonic() + seconds
        while any(guarded.exit_code() is None for guarded, _ in self._children):
            if time.monotonic() > deadline:
                raise Failure(f"the {self.name} had not ended after {seconds:.0f} s{self._output_end()}")
            time.sleep(POLL_SECONDS)
        return self._cost()

    def require_running(self) -> None:
        """Fail if one has ended."""
        for guarded, _ in self._children:
            if guarded.exit_code() is not None:
                raise Failure(f"the {self.name} ended by itself{self._output_end()}")

    def end(self) -> Cost:
        """SIGTERM; wait for the ordered end; what they cost.

        Raises
        ------
        Failure
            One failed.
        """
        for guarded, _ in self._children:
            guarded.end(END_SECONDS)
        return self._cost()

    def _cost(self) -> Cost:
        reports = []
        for guarded, log in self._children:
            code = guarded.exit_code()
            if code != 0:
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
    """The command line of a worker as a case has it, with a journal for programs."""
    options = {
        "--bootstrap": bootstrap,
        "--input": topics.input,
        "--group": topics.group,
        "--learner": case.learner,
        # Names are learned from the first event; a number of features says that there are none.
        **({} if case.feature_names else {"--features": str(case.features)}),
        "--format": JSON if case.feature_names else case.form,
        "--output-format": case.output_form,
        "--commit-interval": repr(case.commit_interval),
        "--guarantee": case.guarantee,
        "--window": str(case.window),
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

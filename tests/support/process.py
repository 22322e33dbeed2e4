"""The real command line as a child process that tests start, watch and kill; it never outlives them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.support.forkserver import HERE, ROOT, ForkedProcess
from tests.support.kafka import await_until

END_SECONDS = 30.0
PARENTS = {("demo",), ("broker",)}
"""Commands that start child processes."""


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without DRIFTWAY_* (they would change the child's options), plus `more`.

    DRIFTWAY_CLIENT is kept, so that `DRIFTWAY_CLIENT=native pytest ..` runs a suite through the other Kafka client.
    """
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith("DRIFTWAY_") or key == "DRIFTWAY_CLIENT"
    }
    return {**kept, **more}


class Finished(NamedTuple):
    """A command that ran to its end."""

    code: int
    stdout: str
    stderr: str


class Driftway:
    """``driftway ARGUMENTS`` as a child process; a context manager that kills and reaps it.

    Parameters
    ----------
    *arguments : str
        As on the command line: ``Driftway("worker", "--input", topic, ...)``.
    env : mapping, optional
        Environment variables on top of `clean_environment`.

    Examples
    --------
    ::

        with Driftway("worker", "--input", topic, "--bootstrap", kafka) as worker:
            worker.await_text("running")
            worker.kill()
    """

    module = "driftway"
    folder = ROOT
    """Its working directory, which decides the version of Driftway that it runs."""

    def __init__(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        self.arguments = arguments
        self.env = clean_environment(**(env or {}))
        self._forked = HERE and not env and arguments[:1] not in PARENTS and self.folder == ROOT

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="driftway-test-")
        folder = Path(self._folder.name)
        self._stdout, self._stderr = folder / "stdout", folder / "stderr"
        self.process: ForkedProcess | subprocess.Popen[bytes]
        with self._stdout.open("wb") as out, self._stderr.open("wb") as err:
            if self._forked:
                self.process = ForkedProcess(self.module, self.arguments, self.env, self._stdout, self._stderr)
                return self
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module, *self.arguments],
                cwd=self.folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            if self.arguments[:1] in PARENTS:  # they stop their own children on SIGTERM
                self.process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(END_SECONDS)
            self.process.kill()  # also ends a stopped process
        self.process.wait()
        if error is not None:
            error.add_note(self.summary())
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        """Process id."""
        return self.process.pid

    @property
    def stdout(self) -> str:
        """Its stdout so far."""
        return self._stdout.read_text(errors="replace")

    @property
    def stderr(self) -> str:
        """Its stderr so far."""
        return self._stderr.read_text(errors="replace")

    def summary(self) -> str:
        """Command, exit code and the tail of both outputs, for failure messages."""
        return (
            f"driftway {' '.join(self.arguments)}: exit code {self.process.poll()}\n"
            f"stdout: {self.stdout[-2000:]}\nstderr: {self.stderr[-4000:]}"
        )

    def await_condition(self, condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
        """Wait for `condition`; fail at the deadline, or if the process ends before the condition holds."""

        def met_or_ended() -> str:
            if condition():
                return "met"
            return "" if self.process.poll() is None else "ended"

        try:
            outcome = await_until(met_or_ended, seconds, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.summary()}") from None
        if outcome == "ended" and not condition():
            raise AssertionError(f"ended before: {what}\n{self.summary()}")

    def await_text(self, text: str, seconds: float = 60.0) -> None:
        """Wait until `text` appears in stdout or stderr."""
        self.await_condition(lambda: text in self.stdout or text in self.stderr, f"{text!r} printed", seconds)

    def wait(self, seconds: float = 60.0) -> int:
        """Wait for its end; return the exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds:.0f} s\n{self.summary()}") from None

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.process.terminate()

    def kill(self) -> None:
        """Send SIGKILL and wait for the end."""
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        """Send SIGSTOP: the process still exists but does not respond."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Send SIGCONT."""
        self.process.send_signal(signal.SIGCONT)


def stop(*workers: Driftway) -> None:
    """Send SIGTERM to all workers; each must exit with code 0."""
    for worker in workers:
        worker.terminate()
    for worker in workers:
        assert worker.wait() == 0, worker.summary()


def driftway(*arguments: str, seconds: float = 120.0, env: Mapping[str, str] | None = None) -> Finished:
    """Run a command to its end."""
    with Driftway(*arguments, env=env) as child:
        code = child.wait(seconds)
        return Finished(code, child.stdout, child.stderr)

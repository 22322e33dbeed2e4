"""Commands of Driftway as child processes that cannot outlive this one: each has a supervisor, as Kafka has."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driftway.workbench.broker.supervised import SupervisedProcess
from driftway.worker.errors import Failure
from driftway.worker.wire.codec import read_json

PASSED_ON = frozenset({"DRIFTWAY_X", "DRIFTWAY_CLIENT_PROPERTIES", "DRIFTWAY_DATA"})
"""Environment variables that mean the same to every command; others would set a child's options unnoticed."""
TOLD_LINES = 15
TOLD_BYTES = 4000


class DriftwayProcess:
    """``driftway ARGUMENTS`` as a child process; its directory and log are removed with it.

    Parameters
    ----------
    name : str
        Its name in messages.
    *arguments : str
        As on the command line.

    Raises
    ------
    Failure
        It cannot be started.
    """

    def __init__(self, name: str, *arguments: str) -> None:
        self.name = name
        folder = Path(tempfile.mkdtemp(prefix=f"driftway-{name.replace(' ', '-')}-"))
        # A supervisor with a directory to remove kills its child at once when this process dies: nobody would
        # read what the child could still commit.
        with _environment():
            self._process = SupervisedProcess(remove=folder)
        self.log = folder / "log"
        try:
            self._process.start([sys.executable, "-P", "-m", "driftway", *arguments], self.log)
        except BaseException:
            self.close()
            raise

    def exit_code(self) -> int | None:
        """Exit code, None while it runs.

        Raises
        ------
        Failure
            The supervisor has ended, and the child with it.
        """
        try:
            return self._process.exit_code()
        except Failure:
            raise Failure(f"the {self.name} is not running: its guard process has ended") from None

    def has_printed(self, text: str) -> bool:
        """Whether its output contains `text`."""
        return text in self._output()

    def report(self) -> dict[str, Any]:
        """The JSON object that it printed last.

        Raises
        ------
        Failure
            There is none.
        """
        for line in reversed(self._output().splitlines()):
            if line.startswith("{"):
                found: dict[str, Any] = read_json(line.encode())
                return found
        raise Failure(f"the {self.name} ended without a report{self.output_end()}")

    def output_end(self) -> str:
        """The end of its output, to be appended to a message."""
        lines = self._output()[-TOLD_BYTES:].splitlines()[-TOLD_LINES:]
        return ("; its last output:\n  " + "\n  ".join(lines)) if lines else "; no output"

    def signal_end(self) -> None:
        """Send SIGTERM without waiting, so that several can end in parallel."""
        if self._process.pid is not None and self.exit_code() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGTERM)

    def close(self) -> None:
        """Kill it if it still runs, and remove its log. May be called twice."""
        self._process.close()

    def _output(self) -> str:
        try:
            return self.log.read_text(errors="replace")
        except OSError:
            return ""


def end_all(commands: Sequence[DriftwayProcess], seconds: float) -> None:
    """Send SIGTERM to all, once: a second one would make a worker exit without its last commit.

    Raises
    ------
    Failure
        One did not end within `seconds`, or its exit code was not 0.
    """
    for command in commands:
        command.signal_end()
    deadline = time.monotonic() + seconds
    for command in commands:
        while (code := command.exit_code()) is None:
            if time.monotonic() > deadline:
                raise Failure(f"the {command.name} did not end within {seconds:.0f} s{command.output_end()}")
            time.sleep(0.02)
        if code != 0:
            raise Failure(f"the {command.name} ended with exit code {code}{command.output_end()}")


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """Hide the options that this process got through its environment."""
    hidden: Mapping[str, str] = {
        key: value for key, value in os.environ.items() if key.startswith("DRIFTWAY_") and key not in PASSED_ON
    }
    for key in hidden:
        del os.environ[key]
    try:
        yield
    finally:
        os.environ.update(hidden)

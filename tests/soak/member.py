"""One `driftway worker` process, from start to exit; `SupervisedProcess` ends it even if the soak is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from pathlib import Path

from driftway.workbench.broker.supervised import SupervisedProcess
from tests.soak.exit_codes import ExitCode

THAWED_SECONDS = 60.0
"""How long after its thaw a zombie may find out that it is fenced."""
TRACEBACK = b"Traceback (most recent call last)"
TOLD_BYTES = 6_000
PIECE_BYTES = 1 << 20


class Member:
    """A worker process, started on construction; `close` must be called in any case.

    Parameters
    ----------
    argv : list of str
        Its command line.
    kept : Path or None
        Where to write its log if it is to be kept; None for a temporary file.
    """

    def __init__(self, argv: list[str], kept: Path | None = None) -> None:
        self.argv = argv
        self.started_at = time.monotonic()
        self.killed = False
        self.terminated_at: float | None = None
        self.thaw_at: float | None = None
        """When the current freeze is over; None if it is not frozen."""
        self.running = False
        """Whether any partition has ever been running."""
        self._thawed_at = float("-inf")
        self._read = 0
        self._tail = b""
        self._traceback = False
        folder = Path(tempfile.mkdtemp(prefix="driftway-soak-"))
        self._log = kept or folder / "log"
        self._guarded = SupervisedProcess(remove=folder)
        try:
            self.pid = self._guarded.start(argv, self._log)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kill it if it still runs, and remove its temporary folder. May be called twice."""
        self._guarded.close()

    def ended(self, broker_away: bool) -> ExitCode | None:
        """Return how it ended, or None while it runs; also read its new output."""
        code = self._guarded.exit_code()
        self._read_log()
        if code is None:
            return None
        thawed = time.monotonic() - self._thawed_at < THAWED_SECONDS
        # SIGTERM has no handler before the first event, nor after the message that it cannot start.
        silent = not self._read or (self._tail.startswith(b"driftway: ") and self._read == len(self._tail))
        terminated = self.terminated_at is not None
        return ExitCode(code, self.killed, terminated, silent, thawed, broker_away, self._traceback)

    @property
    def available(self) -> bool:
        """Whether a fault may be injected: it is neither frozen nor being ended."""
        return self.thaw_at is None and self.terminated_at is None and not self.killed

    def kill(self) -> None:
        """Send SIGKILL."""
        self.killed = True
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.terminated_at = time.monotonic()
        self._signal(signal.SIGTERM)

    def freeze(self, seconds: float) -> None:
        """Send SIGSTOP: the process is alive, but no longer responds."""
        self.thaw_at = time.monotonic() + seconds
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Send SIGCONT if it is frozen."""
        if self.thaw_at is not None:
            self.thaw_at, self._thawed_at = None, time.monotonic()
            self._signal(signal.SIGCONT)

    def summary(self) -> str:
        """Return its command and the end of its output."""
        return f"{' '.join(self.argv[2:])}\n{self._tail.decode(errors='replace')}"

    def last_line(self) -> str:
        """Return the last line of its output, which is the error message if it ended with one."""
        return (self._tail.decode(errors="replace").strip().splitlines() or [""])[-1]

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(self.pid, number)

    def _read_log(self) -> None:
        """Read the new part of its log, and keep the tail."""
        with contextlib.suppress(FileNotFoundError), self._log.open("rb") as log:
            log.seek(self._read)
            while piece := log.read(PIECE_BYTES):
                self._read += len(piece)
                self._tail += piece
                self._traceback = self._traceback or TRACEBACK in self._tail
                self.running = self.running or b" running partition=" in self._tail
                self._tail = self._tail[-TOLD_BYTES:]

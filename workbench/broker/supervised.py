"""The parent's side of the supervisor: start, watch and end one process that cannot outlive this one."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from driftway.workbench.broker import supervisor
from driftway.worker.errors import Failure

CLOSE_SECONDS = 30.0


class SupervisedProcess:
    """One child process under a supervisor (see `driftway.workbench.broker.supervisor`).

    Parameters
    ----------
    remove : Path or None
        Directory that the supervisor removes when it ends, unless it is itself killed by SIGKILL.
    """

    def __init__(self, remove: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._remove = remove
        self._pid: int | None = None
        argv = [sys.executable, "-I", "-S", supervisor.__file__, *([str(remove)] if remove else [])]
        self._supervisor = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C in the terminal is this process's to handle, not Java's
        )

    @property
    def pid(self) -> int | None:
        """Process id of the last started child."""
        return self._pid

    def start(self, argv: list[str], log: Path) -> int:
        """End any earlier child and start `argv`, its output appended to `log`; return the process id.

        Raises
        ------
        Failure
            The program cannot be started.
        """
        reply = self._ask({"start": argv, "log": str(log)})
        if "error" in reply:
            raise Failure(f"cannot start {argv[0]}: {reply['error']}")
        self._pid = int(reply["pid"])
        return self._pid

    def exit_code(self) -> int | None:
        """Exit code of the child, None while it runs.

        Raises
        ------
        Failure
            The supervisor is gone.
        """
        code: int | None = self._ask({"status": None})["code"]
        return code

    def end(self, seconds: float) -> int | None:
        """Send SIGTERM, and SIGKILL after `seconds` (0: at once); wait and return the exit code."""
        code: int | None = self._ask({"end": seconds})["code"]
        return code

    def close(self) -> None:
        """End the child, if it still runs, and the supervisor; remove the directory. May be called twice."""
        if self._supervisor.stdin is None or self._supervisor.stdout is None or self._supervisor.stdin.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            self._supervisor.stdin.close()
        died = self._supervisor.poll() is not None
        try:
            self._supervisor.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
            died = True
        self._supervisor.stdout.close()
        if died:
            self._clean_up_for_supervisor()

    def _clean_up_for_supervisor(self) -> None:
        if self._pid is not None and not sys.platform.startswith("linux"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        if self._remove is not None:
            shutil.rmtree(self._remove, ignore_errors=True)

    def _ask(self, command: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            line = b""
            with contextlib.suppress(OSError, ValueError):  # the supervisor is gone, or closed
                assert self._supervisor.stdin is not None  # noqa: S101
                assert self._supervisor.stdout is not None  # noqa: S101
                self._supervisor.stdin.write(json.dumps(command).encode() + b"\n")
                self._supervisor.stdin.flush()
                line = self._supervisor.stdout.readline()
        if not line:
            raise Failure("the local Kafka is not running: its guard process has ended")
        reply: dict[str, Any] = json.loads(line)
        return reply

"""The process between Driftway and Java: no Kafka outlives the process that started it.

Run as a script, with the standard library only, so that it starts in a few milliseconds::

    python supervisor.py [DIRECTORY TO REMOVE AT THE END]

It reads commands, one JSON object a line, from its standard input and answers each with one line:

| command | answer |
|---|---|
| ``{"start": argv, "log": path}`` | ``{"pid": n}`` or ``{"error": text}`` |
| ``{"status": null}`` | ``{"code": null}`` while the child runs, then its exit code |
| ``{"end": seconds}`` | SIGTERM, after `seconds` SIGKILL; ``{"code": n}`` |

Three deaths are covered. If the parent dies, even by SIGKILL, the pipe closes, the child is ended and the directory
removed. If the supervisor dies, Linux kills the child (PR_SET_PDEATHSIG, which is tied to the parent's thread: this
process has only one); elsewhere the parent kills the child by its id. If both die at once, Linux kills the child too,
and only the directory is left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

PR_SET_PDEATHSIG = 1
PARENT_CHECK_SECONDS = 1.0
"""A forked child of the parent may hold the pipe open; then only the parent's changed id shows its death."""

ORPHAN_GRACE_SECONDS = 10.0
"""Time for Kafka to shut down cleanly after the parent died, if its data is kept."""


def die_with_this_process() -> Callable[[], None] | None:
    """Return a function that the child runs before exec, so that the kernel kills it when this process dies."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    own_pid = os.getpid()

    def bind() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != own_pid:  # it died before the call above
            os._exit(1)

    return bind


def java_locale(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable with which Java finds files whose names are not ASCII; none if the locale is UTF-8 anyway."""
    locale = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    return {} if "utf8" in locale.lower().replace("-", "") else {"LC_ALL": "C.UTF-8"}


class Child:
    """The one process that is supervised at a time."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, argv: list[str], log: str) -> dict[str, Any]:
        """Start `argv` with its output appended to the file `log`."""
        self.end(0.0)
        try:
            with open(log, "ab") as output:
                self.process = subprocess.Popen(
                    argv,
                    env={**os.environ, **java_locale(os.environ)},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    preexec_fn=die_with_this_process(),  # noqa: PLW1509  (this process has one thread)
                )
        except OSError as error:
            return {"error": str(error)}
        return {"pid": self.process.pid}

    def status(self) -> int | None:
        """Exit code, None while it runs or when nothing was started."""
        return None if self.process is None else self.process.poll()

    def end(self, seconds: float) -> int | None:
        """Send SIGTERM, and SIGKILL after `seconds`, or only SIGKILL if that is 0; return the exit code."""
        if self.process is None:
            return None
        if self.process.poll() is None and seconds > 0:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        if self.process.poll() is None:
            self.process.kill()
        return self.process.wait()


def answer(child: Child, command: dict[str, Any]) -> dict[str, Any]:
    """Execute one command."""
    if "start" in command:
        return child.start(command["start"], command["log"])
    if "end" in command:
        return {"code": child.end(command["end"])}
    return {"code": child.status()}


def serve(child: Child) -> None:
    """Execute commands until the parent closes the pipe or is gone."""
    parent = os.getppid()
    pending = b""
    while True:
        readable, _, _ = select.select([0], [], [], PARENT_CHECK_SECONDS)
        if os.getppid() != parent:
            return
        if not readable:
            continue
        piece = os.read(0, 1 << 16)
        if not piece:
            return
        pending += piece
        while b"\n" in pending:
            line, pending = pending.split(b"\n", 1)
            os.write(1, json.dumps(answer(child, json.loads(line))).encode() + b"\n")


def leave(_signal: int, _frame: object) -> None:
    """Turn SIGTERM into a normal exit, so that the child and the directory are cleaned up."""
    raise SystemExit(0)


def main() -> None:
    """Serve, then end the child and remove the directory."""
    directory = sys.argv[1] if len(sys.argv) > 1 else None
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    child = Child()
    try:
        serve(child)
    except BrokenPipeError:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child.end(0.0 if directory else ORPHAN_GRACE_SECONDS)
        if directory:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()

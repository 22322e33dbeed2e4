"""Child processes with all imports done before they start: imports are nine tenths of a command's start.

multiprocessing's fork server has imported what the commands import. Each process is a fork of it and runs its module as
``python -m`` does. Environment variables that are read during imports have no effect in a fork, so a process with
variables of its own must be started as users start it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = sys.platform.startswith("linux")
"""Whether forking is safe: on other systems, system libraries run threads of their own."""

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.support.preload"])


class ForkedProcess:
    """The part of `subprocess.Popen` that tests use.

    Parameters
    ----------
    module : str
        Module to run.
    arguments : sequence of str
        Command-line arguments.
    environment : mapping
        The complete environment; differences from this process's come too late for imports.
    stdout, stderr : Path
        Files to write to.
    """

    def __init__(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str], stdout: Path, stderr: Path
    ) -> None:
        args = module, list(arguments), dict(environment), stdout, stderr
        self._process = SERVER.Process(target=_run, args=args)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit code, the negative signal that ended it, or None."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """See `subprocess.Popen`."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """See `subprocess.Popen`."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """See `subprocess.Popen`."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended in the meantime
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """See `subprocess.Popen`."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """See `subprocess.Popen`."""
        self.send_signal(signal.SIGKILL)


def _run(module: str, arguments: list[str], environment: dict[str, str], stdout: Path, stderr: Path) -> None:
    """Become ``python -m module arguments``."""
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate((Path(os.devnull), stdout, stderr)):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)

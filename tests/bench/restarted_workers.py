"""Worker processes that are started again when they end, as an orchestrator does; none outlives this process."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from driftway.workbench.broker.supervised import SupervisedProcess

LOOK_SECONDS = 1.0
END_SECONDS = 20.0
TOLD_CHARACTERS = 2000


class RestartedWorkers(threading.Thread):
    """Processes of one group, restarted when they end during a ``with`` block and ended with SIGTERM at its end.

    Parameters
    ----------
    name : str
        What they are called in messages.
    commands : sequence of sequence of str
        Program and arguments of each process.
    environments : sequence of mapping
        What each process has in its environment besides this process's; empty for none.

    Attributes
    ----------
    ended : list of int
        Exit codes of processes that ended by themselves, in order.
    """

    def __init__(
        self, name: str, commands: Sequence[Sequence[str]], environments: Sequence[Mapping[str, str]] = ()
    ) -> None:
        super().__init__(name=f"restarts of {name}", daemon=True)
        given = environments or [{}] * len(commands)
        self._argv = [
            ["env", *(f"{key}={value}" for key, value in more.items()), *command]
            for command, more in zip(commands, given, strict=True)
        ]
        self.ended: list[int] = []
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="driftway-bench-")
        self._logs = [Path(self._folder.name) / f"{number}.log" for number in range(len(self._argv))]
        self._processes = [SupervisedProcess() for _ in self._argv]
        for process, argv, log in zip(self._processes, self._argv, self._logs, strict=True):
            process.start(argv, log)
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        self._over.set()
        self.join()
        if error is not None:
            error.add_note(self.summary())
        for process in self._processes:
            process.end(END_SECONDS)
            process.close()
        self._folder.cleanup()

    def run(self) -> None:
        """Start again what has ended, until the end of the ``with`` block."""
        while not self._over.wait(LOOK_SECONDS):
            for process, argv, log in zip(self._processes, self._argv, self._logs, strict=True):
                code = process.exit_code()
                if code is not None:
                    self.ended.append(code)
                    process.start(argv, log)

    def summary(self) -> str:
        """The ends of what the processes wrote, for messages about failures."""
        logs = (log.read_text(errors="replace")[-TOLD_CHARACTERS:] for log in self._logs if log.exists())
        return f"{self.name}, exit codes {self.ended}:\n" + "\n--\n".join(logs)

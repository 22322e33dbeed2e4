"""A worker with an injected fault: `python -m tests.support.crash FAULT STEP NTH worker ...` runs the command line.

The commit's probe injects FAULT right after STEP was reached for the NTH time. A FAULT is one word:

| fault | what happens |
|---|---|
| ``kill`` | SIGKILL to itself: no cleanup, no flush, no leaving of the group |
| ``stop`` | SIGSTOP to itself, until it receives SIGCONT |
| ``raise`` | an unexpected exception |
| ``kill=PID`` | SIGKILL to another process, the broker |
| ``stall=SECONDS`` | the thread that reached the step sleeps; the client's own threads run on |
| ``second`` | another producer initialises the same transactional id, as a second owner would |
| ``call=PORT`` | calls a listener on that port, which acts before it answers; see `Listener` |
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Self

from driftway.worker.stream.task.committing.checkpoint import Step
from tests.support.process import Driftway

KILL, STOP, RAISE, SECOND = "kill", "stop", "raise", "second"
SECOND_SECONDS = 20.0


class FaultyDriftway(Driftway):
    """`driftway` with a fault at a commit step; ``FaultyDriftway("kill", Step.FLUSHED, 3, "worker")``."""

    module = "tests.support.crash"

    def __init__(self, fault: str, step: Step, nth: int, *arguments: str) -> None:
        super().__init__(fault, step.name, str(nth), *arguments)

    @property
    def frozen(self) -> bool:
        """Whether the process is stopped by SIGSTOP."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None


class CrashingDriftway(FaultyDriftway):
    """`driftway` that dies at a commit step; `CrashingDriftway(Step.FLUSHED, 3, "worker", ...)`."""

    def __init__(self, step: Step, nth: int, *arguments: str) -> None:
        super().__init__(KILL, step, nth, *arguments)


class Listener:
    """Runs a callback in the test's process, once, while a worker waits at its step; a context manager.

    Parameters
    ----------
    callback : callable
        The callback.
    """

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback = callback
        self._server = socket.create_server(("127.0.0.1", 0))
        self.done = threading.Event()

    @property
    def fault(self) -> str:
        """Fault that makes a worker call this listener."""
        return f"call={self._server.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._answer, daemon=True, name="listener").start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _answer(self) -> None:
        with contextlib.suppress(OSError):
            caller, _ = self._server.accept()
            with caller:
                self._callback()
                self.done.set()
                caller.sendall(b".")


class InjectedError(Exception):
    """Raised by the fault ``raise``."""


def inject(fault: str, partition: int, arguments: list[str]) -> None:
    """Inject `fault` into this process, a worker started with `arguments`."""
    name, _, value = fault.partition("=")
    if name == KILL:
        os.kill(int(value) if value else os.getpid(), signal.SIGKILL)
    elif name == STOP:
        os.kill(os.getpid(), signal.SIGSTOP)
    elif name == "stall":
        time.sleep(float(value))
    elif name == "call":
        with socket.create_connection(("127.0.0.1", int(value))) as listener:
            listener.recv(1)
    elif name == SECOND:
        take_over(arguments, partition)
    else:
        raise InjectedError(f"at partition {partition}")


def take_over(arguments: list[str], partition: int) -> None:
    """Initialise the transactional id that a worker with these arguments uses for `partition`."""
    from confluent_kafka import Producer

    from driftway.worker.kafka.client_config import quiet

    given = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    name = f"{given['--group']}/{given['--input']}/{partition}"
    producer = Producer(quiet({"bootstrap.servers": given["--bootstrap"], "transactional.id": name}))
    producer.list_topics(given["--input"], SECOND_SECONDS)  # with known brokers it finds the coordinator at once
    producer.init_transactions(SECOND_SECONDS)


def main() -> None:
    """Run the command line with the fault as its probe."""
    from driftway import cli

    faulthandler.register(signal.SIGUSR1)  # for debugging a hang
    fault, step, nth, arguments = sys.argv[1], Step[sys.argv[2]], int(sys.argv[3]), sys.argv[4:]
    seen = count(1)

    def probe(reached: Step, partition: int) -> None:
        if reached is step and next(seen) == nth:
            inject(fault, partition, arguments)

    cli.main(arguments, obj={"probe": probe})


if __name__ == "__main__":
    main()

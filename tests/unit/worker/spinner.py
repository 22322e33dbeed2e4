"""Jobs for processes, cheap to import: `python -m tests.unit.worker.spinner` spins until it is interrupted."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

from driftway.worker.errors import UsageFailure
from driftway.worker.processes import run_jobs

HOUR = 3600.0


def square(job: int, progress: Callable[[int], None]) -> tuple[int, int, str | None]:
    """Return the job's square, the id of its process, and that process's number of threads."""
    for _ in range(job):
        progress(1)
    return job * job, os.getpid(), os.environ.get("NUMBA_NUM_THREADS")


def complain(job: int, progress: Callable[[int], None]) -> int:
    """Fail in job 1; the other jobs run until they are stopped."""
    if job == 1:
        raise UsageFailure("job 1 cannot be done")
    return spin(job, progress)


def vanish(job: int, progress: Callable[[int], None]) -> int:
    """End the process without a result."""
    os._exit(9)


def leave_a_file(path: str) -> None:
    """Write the id of this process to `path`."""
    with open(path, "w", encoding="ascii") as file:
        file.write(str(os.getpid()))


def spin(job: int, progress: Callable[[int], None]) -> int:
    """Report progress until stopped, or for an hour."""
    end = time.monotonic() + HOUR
    while time.monotonic() < end:
        progress(1)
        time.sleep(0.005)
    return job


if __name__ == "__main__":
    # A script's background jobs ignore Ctrl-C from the start, and this process may be a child of one.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def show_progress(n: int) -> None:
        print(n, flush=True)

    sys.exit(str(run_jobs(spin, [1, 2, 3], 2, show_progress)))

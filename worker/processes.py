"""Jobs in processes of their own: results in the order asked, one progress count, a clean Ctrl-C, and no orphans.

Children are spawned, not forked: a fork would inherit the locks of whatever threads the parent has. This module
imports no numerics, so that a child can set its threads before it loads them. A child ends with its parent, whatever
ended that.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from driftway.worker.errors import Failure

J = TypeVar("J")
R = TypeVar("R")
Progress = Callable[[int], None]

POLL_SECONDS = 0.2
"""Between two looks at the common count: smooth enough for an eye, and nothing for a processor."""
ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Stopped(Exception):
    """The parent wants no more results of this job."""


def run_jobs(
    function: Callable[[J, Progress], R], jobs: Sequence[J], processes: int = 1, progress: Progress | None = None
) -> list[R]:
    """Call ``function(job, progress)`` for every job.

    Parameters
    ----------
    function : callable
        Importable by name (or a partial of such), since it travels to the children; so do jobs and results. It calls
        its second argument with whatever it has got on by; that is also where it notices that it should end.
    jobs : sequence
        Independent of one another.
    processes : int
        At most this many at a time, >= 1; with 1, or a single job, everything happens in this process.
    progress : callable or None
        Told what the jobs have got on by, all together.

    Returns
    -------
    list
        One result per job, in the order of the jobs.

    Raises
    ------
    Failure
        A process ended without an answer: killed, or out of memory.
    Exception
        What the first failing job raised; the others are ended first. So they are on KeyboardInterrupt.
    """
    tell = progress or (lambda _: None)
    if processes < 2 or len(jobs) < 2:
        return [function(job, tell) for job in jobs]
    context = multiprocessing.get_context("spawn")
    count, stop = context.Value("q", 0), context.Value("b", 0, lock=False)
    pool = ProcessPoolExecutor(min(processes, len(jobs)), context, _prepare, (count, stop))
    try:
        with _interrupts_held():
            futures = [pool.submit(_call, function, job) for job in jobs]
        return _collect(futures, lambda: int(count.value), tell)
    except BrokenProcessPool:
        raise Failure("a process of --jobs ended without an answer: was it killed, or is memory short?") from None
    finally:
        stop.value = 1
        pool.shutdown(wait=True, cancel_futures=True)


def _collect(futures: list[Future[R]], count: Callable[[], int], tell: Progress) -> list[R]:
    pending, told = set(futures), 0
    while pending:
        done, pending = wait(pending, POLL_SECONDS, FIRST_COMPLETED)
        for future in (f for f in futures if f in done):
            future.result()  # raises at once what a job raised
        now = count()
        if now > told:
            tell(now - told)
            told = now
    return [future.result() for future in futures]


def run_in_process(function: Callable[[J], object], job: J, over: Callable[[], bool]) -> bool:
    """Call ``function(job)`` in a process of its own, for what it leaves elsewhere: its memory ends with it.

    Parameters
    ----------
    function : callable
        Importable by name, as the job's type is.
    job : object
        What it is given.
    over : callable
        Asked several times a second; true ends the process.

    Returns
    -------
    bool
        Whether it came to its end without an error.
    """
    child = multiprocessing.get_context("spawn").Process(target=_alone, args=(function, job), daemon=True)
    with _interrupts_held():
        child.start()
    while child.is_alive() and not over():
        child.join(POLL_SECONDS)
    if child.is_alive():
        child.kill()
        child.join()
    return child.exitcode == 0


def _alone(function: Callable[[J], object], job: J) -> None:
    _end_with_the_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to end
    function(job)


def _end_with_the_parent() -> None:
    """Children of a pool wait for their next job without end, even if nobody is left who could give them one."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait_for_its_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_its_end, name="parent", daemon=True).start()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Children inherit a blocked Ctrl-C, so that none dies of it, with a traceback, before `_prepare` has run."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_shared: dict[str, Any] = {}
"""In a child: the common count and the sign to stop, which reach a process at its start only."""


def _prepare(count: Any, stop: Any) -> None:
    _end_with_the_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when to end
    for name in ONE_THREAD:
        os.environ[name] = "1"
    _shared.update(count=count, stop=stop)


def _call(function: Callable[[J, Progress], R], job: J) -> R:
    def progress(n: int) -> None:
        if _shared["stop"].value:
            raise Stopped
        with _shared["count"].get_lock():
            _shared["count"].value += n

    return function(job, progress)

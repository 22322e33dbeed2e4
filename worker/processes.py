"""Run jobs in child processes: results in the jobs' order, one progress count, a clean Ctrl-C, and no orphans.

Children are spawned unless the parent has no other thread: a fork would inherit the locks that those hold. This module
imports no numeric library, so that a child can set their thread counts before it loads them. A child ends with its
parent, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from driftway.worker.errors import Failure, require_threads

J = TypeVar("J")
R = TypeVar("R")
Progress = Callable[[int], None]

POLL_SECONDS = 0.2
"""Interval between reads of the shared count: smooth for a progress display, and of negligible cost."""
OWN_THREADS, CHILD_THREADS = 3, 2
"""What a pool starts beside its children: two threads and a process. A child's main thread, and that which waits for
the end of the parent."""
ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class JobStopped(Exception):
    """The parent wants no more results of this job."""


def run_jobs(
    function: Callable[[J, Progress], R], jobs: Sequence[J], processes: int = 1, progress: Progress | None = None
) -> list[R]:
    """Call ``function(job, progress)`` for every job.

    Parameters
    ----------
    function : callable
        Importable by name (or a partial of such), since it is pickled for the children, as jobs and results are. It
        calls its second argument with the progress since the last call; that call raises if the job should stop.
    jobs : sequence
        Independent of one another.
    processes : int
        At most this many at a time, >= 1; with 1, or a single job, everything runs in this process.
    progress : callable or None
        Called with the progress of all jobs since its last call.

    Returns
    -------
    list
        One result per job, in the order of the jobs.

    Raises
    ------
    Failure
        A process ended without a result: killed, or out of memory. Or so many cannot be started.
    Exception
        What the first failing job raised, once the others have been stopped; KeyboardInterrupt stops them too.
    """
    report = progress or (lambda _: None)
    if processes < 2 or len(jobs) < 2:
        return [function(job, report) for job in jobs]
    children = min(processes, len(jobs))
    require_threads(OWN_THREADS + CHILD_THREADS * children)
    context = multiprocessing.get_context("spawn")
    count, stop = context.Value("q", 0), context.Value("b", 0, lock=False)
    pool = ProcessPoolExecutor(children, context, _prepare, (count, stop))
    try:
        with _interrupts_held():
            futures = [pool.submit(_call, function, job) for job in jobs]
        return _collect(futures, lambda: int(count.value), report)
    except BrokenProcessPool:
        raise Failure("a process of --jobs ended without a result: it was killed, or memory is short") from None
    finally:
        stop.value = 1
        pool.shutdown(wait=True, cancel_futures=True)


def _collect(futures: list[Future[R]], count: Callable[[], int], report: Progress) -> list[R]:
    pending, reported = set(futures), 0
    while pending:
        done, pending = wait(pending, POLL_SECONDS, FIRST_COMPLETED)
        for future in (f for f in futures if f in done):
            future.result()  # raises at once what a job raised
        now = count()
        if now > reported:
            report(now - reported)
            reported = now
    return [future.result() for future in futures]


class ChildProcesses:
    """Calls of ``function(job)`` for every job, each in a child process, for their side effects.

    Parameters
    ----------
    function : callable
        Importable by name, like the jobs' type.
    jobs : sequence
        Its arguments; all children run at the same time, and their end frees their memory.

    Raises
    ------
    Failure
        So many processes cannot be started.
    """

    def __init__(self, function: Callable[[J], object], jobs: Sequence[J]) -> None:
        require_threads(CHILD_THREADS * len(jobs))
        context: Any = multiprocessing.get_context(start_method())
        self._children = [context.Process(target=_alone, args=(function, job), daemon=True) for job in jobs]
        with _interrupts_held():
            for child in self._children:
                child.start()

    def wait(self, over: Callable[[], bool]) -> bool:
        """Wait for the end of all of them, and return whether they ended without an error.

        `over` is called several times a second; true kills the processes.
        """
        while (running := [child for child in self._children if child.is_alive()]) and not over():
            running[0].join(POLL_SECONDS)
        for child in running:
            child.kill()
            child.join()
        return all(child.exitcode == 0 for child in self._children)


def run_in_processes(function: Callable[[J], object], jobs: Sequence[J], over: Callable[[], bool]) -> bool:
    """Start `ChildProcesses` and wait for them."""
    return ChildProcesses(function, jobs).wait(over)


def start_method() -> str:
    """Return how children are started: as forks, which have all modules of their parent, where that is safe."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def _alone(function: Callable[[J], object], job: J) -> None:
    _end_with_the_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a fork has the parent's handler
    function(job)


def _end_with_the_parent() -> None:
    """Exit when the parent ends; a pool's children would otherwise wait for their next job forever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait_for_its_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_its_end, name="parent", daemon=True).start()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C while children start: they inherit that, so none dies with a traceback before `_prepare`."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_shared: dict[str, Any] = {}
"""In a child: the shared count and the stop flag, which can only be passed when a process starts."""


def _prepare(count: Any, stop: Any) -> None:
    _end_with_the_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    for name in ONE_THREAD:
        os.environ[name] = "1"
    _shared.update(count=count, stop=stop)


def _call(function: Callable[[J, Progress], R], job: J) -> R:
    def progress(n: int) -> None:
        if _shared["stop"].value:
            raise JobStopped
        with _shared["count"].get_lock():
            _shared["count"].value += n

    return function(job, progress)

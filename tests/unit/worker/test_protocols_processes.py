"""Jobs in several processes: the order of results, the common progress count, and every way to end early."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from driftway.worker.errors import NO_MORE_THREADS, Failure, UsageFailure
from driftway.worker.processes import run_in_processes, run_jobs
from tests.unit.worker.spinner import complain, leave_a_file, square, vanish

ROOT = Path(__file__).resolve().parents[3]
JOBS = [5, 3, 400, 1, 2]


def test_results_come_in_the_order_of_the_jobs() -> None:
    progress: list[int] = []
    found = run_jobs(square, JOBS, 2, progress.append)
    assert [result for result, _, _ in found] == [job * job for job in JOBS]
    assert sum(progress) == sum(JOBS)
    assert os.getpid() not in {process for _, process, _ in found}
    assert len({process for _, process, _ in found}) <= 2
    assert {threads for _, _, threads in found} == {"1"}


@pytest.mark.parametrize(("jobs", "processes"), [(JOBS, 1), ([7], 4), ([], 2)])
def test_one_process_or_one_job_needs_no_children(jobs: list[int], processes: int) -> None:
    progress: list[int] = []
    found = run_jobs(square, jobs, processes, progress.append)
    assert [result for result, _, _ in found] == [job * job for job in jobs]
    assert {process for _, process, _ in found} <= {os.getpid()}
    assert sum(progress) == sum(jobs)


def test_a_failing_job_ends_the_others() -> None:
    """Job 0 alone would spin for an hour."""
    with pytest.raises(UsageFailure, match="job 1 cannot be done"):
        run_jobs(complain, [0, 1, 2], 2)


def test_a_process_that_vanishes_is_reported_in_one_sentence() -> None:
    with pytest.raises(Failure, match="ended without a result"):
        run_jobs(vanish, [1, 2], 2)


def test_threads_that_cannot_be_started_are_reported_before_any_child_starts() -> None:
    """No address space is large enough for these stacks, so that no thread can be started, as with `ulimit -u`."""
    code = (
        "import threading\n"
        "from driftway.worker.errors import Failure\n"
        "from driftway.worker.kafka.client_config import quiet\n"
        "from driftway.worker.processes import ChildProcesses, run_jobs\n"
        "from tests.unit.worker.spinner import leave_a_file, square\n"
        "threading.stack_size(1 << 46)\n"
        "for call in (lambda: run_jobs(square, [1, 2], 2), lambda: ChildProcesses(leave_a_file, ['never']),\n"
        "             lambda: quiet({})):\n"
        "    try:\n"
        "        call()\n"
        "    except Failure as failure:\n"
        "        print(failure)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == (3 * f"{NO_MORE_THREADS}\n", "")
    assert not (ROOT / "never").exists()


def spinning() -> tuple[subprocess.Popen[str], list[psutil.Process]]:
    """Start a process with running jobs, in a process group of its own; return it and its children."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.unit.worker.spinner"],
        cwd=ROOT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert int(child.stdout.readline()) > 0  # a job is running
    members = psutil.Process(child.pid).children(recursive=True)
    assert len(members) >= 2
    return child, members


def test_processes_end_with_a_parent_that_is_killed() -> None:
    """Otherwise each would wait for jobs that never come."""
    child, members = spinning()
    child.kill()
    child.communicate(timeout=60)
    _, alive = psutil.wait_procs(members, timeout=30)
    assert alive == []


def test_a_function_apart_leaves_nothing_here(tmp_path: Path) -> None:
    assert run_in_processes(leave_a_file, [str(tmp_path / "there")], lambda: False)
    assert int((tmp_path / "there").read_text()) != os.getpid()
    assert not run_in_processes(leave_a_file, [str(tmp_path / "no" / "such" / "folder")], lambda: False)
    began = time.monotonic()
    assert not run_in_processes(time.sleep, [3600.0, 3600.0], lambda: time.monotonic() - began > 1)
    assert time.monotonic() - began < 60


@pytest.mark.skipif(sys.platform != "linux", reason="children are spawned everywhere else")
def test_children_are_forks_only_of_a_process_without_other_threads() -> None:
    """A fork would inherit the locks that other threads hold, and wait for them forever."""
    code = (
        "import threading\n"
        "from driftway.worker.processes import start_method\n"
        "print(start_method())\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "print(start_method())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["fork", "spawn"]


def test_ctrl_c_ends_all_processes_without_their_tracebacks() -> None:
    """Sent as a terminal does it, to the whole process group, while the children work."""
    child, members = spinning()
    try:
        os.killpg(child.pid, signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode != 0
    assert errors.count("Traceback") == 1  # the parent's own KeyboardInterrupt, which the command turns into a message
    assert errors.rstrip().endswith("KeyboardInterrupt")
    _, alive = psutil.wait_procs(members, timeout=30)
    assert alive == []

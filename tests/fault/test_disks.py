"""Full, read-only or faulty disks: the worker continues with the same bits and at most one message."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until, unique
from tests.support.process import ROOT, Driftway, clean_environment, driftway

pytestmark = pytest.mark.timeout(900)

NOWHERE = ("/dev/null/nowhere", "/proc/self/nowhere")
"""Paths where not even root can create a folder."""
SMALL_BYTES = 32 * 1024
"""Enough for the machine code of short kernels and for the log, not for longer kernels."""
COMPILED_SECONDS = 800.0
"""Longest start without cached machine code: 25 s of processor time, on a very busy machine."""
KEEP = "compiled kernels cannot be kept in"


def require_predictions(scenario: FaultScenario, *workers: Driftway) -> None:
    """Wait until the workers have ended; then check the score of every row."""
    with scenario.auditor() as auditor:
        for worker in workers:
            assert worker.wait(COMPILED_SECONDS) == 0, worker.summary()
        auditor.await_all(len(scenario.expected))
    auditor.require(scenario.expected)


def cache_messages(worker: Driftway) -> list[str]:
    """Its messages about the kernel cache; also check that stderr has no traceback or warning."""
    for unwelcome in ("Traceback", "Warning", "Error"):
        assert unwelcome not in worker.stderr, worker.summary()
    return [line for line in worker.stderr.splitlines() if KEEP in line]


def kernels(cache: Path) -> list[Path]:
    """The files of the kernel cache."""
    return sorted(cache.rglob("*.kernel"))


# The cache of machine code.


@pytest.mark.parametrize(
    "places",
    [
        pytest.param({"HOME": NOWHERE[0], "XDG_CACHE_HOME": ""}, id="home", marks=pytest.mark.slow),
        pytest.param({"HOME": NOWHERE[1], "XDG_CACHE_HOME": NOWHERE[1]}, id="cache_home", marks=pytest.mark.slow),
        pytest.param({"NUMBA_CACHE_DIR": NOWHERE[0]}, id="numba", marks=pytest.mark.slow),
        pytest.param({"NUMBA_CACHE_DIR": NOWHERE[1]}, id="numba_proc", marks=pytest.mark.slow),
    ],
)
def test_one_message_if_there_is_no_folder_for_machine_code(kafka: str, places: Mapping[str, str]) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=500)
    scenario.fill()
    with Driftway(*scenario.worker("--stop-at-end"), env={"NUMBA_CACHE_DIR": "", **places}) as worker:
        require_predictions(scenario, worker)
        (sentence,) = cache_messages(worker)
        assert next(filter(None, places.values())) in sentence
        assert "NUMBA_CACHE_DIR" in sentence


@contextlib.contextmanager
def small_files() -> Iterator[None]:
    """Limit files written by children started in the block to SMALL_BYTES."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def emptied(content: bytes) -> bytes:
    return b""


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def zeroed(content: bytes) -> bytes:
    """Zero a block, as if it had never reached the disk; the length stays the same."""
    return content[: len(content) // 3] + bytes(len(content) // 3) + content[2 * len(content) // 3 :]


def garbled(content: bytes) -> bytes:
    """Flip one bit in the middle of the machine code."""
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGES: tuple[Callable[[bytes], bytes], ...] = (emptied, halved, zeroed, garbled)


@pytest.mark.slow
def test_a_full_disk_for_machine_code_affects_neither_this_start_nor_the_next(kafka: str, tmp_path: Path) -> None:
    """The next start compiles what could not be written, and finds no partial files."""
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    env = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    scenario.fill(0, 500)
    with contextlib.ExitStack() as stack:
        with small_files():
            worker = stack.enter_context(Driftway(*scenario.worker(), env=env))
        with scenario.auditor() as auditor:
            auditor.await_all(500, 100)
        assert len(cache_messages(worker)) == 1
        assert str(tmp_path) in cache_messages(worker)[0]
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    kept = kernels(tmp_path)
    assert kept, "some kernels are small enough to be written"
    assert all(path.stat().st_size <= SMALL_BYTES for path in kept)
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".kernel"}
    scenario.fill(500)
    with Driftway(*scenario.worker("--stop-at-end"), env=env) as worker:
        require_predictions(scenario, worker)
        assert cache_messages(worker) == []
    assert any(path.stat().st_size > SMALL_BYTES for path in kernels(tmp_path))


@pytest.mark.slow
def test_damaged_machine_code_is_compiled_again(kafka: str, tmp_path: Path) -> None:
    """Each cached file gets each kind of damage in turn; the next start repairs it and computes the same bits."""
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    env, step = {"NUMBA_CACHE_DIR": str(tmp_path)}, 1000 // (len(DAMAGES) + 1)
    intact: dict[Path, bytes] = {}
    for turn in range(len(DAMAGES) + 1):
        scenario.fill(turn * step, (turn + 1) * step)
        done = driftway(*scenario.worker("--stop-at-end"), env=env)
        assert done.code == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert KEEP not in done.stderr
        intact = intact or {path: path.read_bytes() for path in kernels(tmp_path)}
        assert len(intact) > 10
        assert {path: path.stat().st_size for path in kernels(tmp_path)} == {p: len(c) for p, c in intact.items()}
        for i, path in enumerate(kernels(tmp_path)):
            path.write_bytes(DAMAGES[(i + turn) % len(DAMAGES)](intact[path]))
    with scenario.auditor() as auditor:
        auditor.await_all(len(scenario.expected))
    auditor.require(scenario.expected)


# The log.


@contextlib.contextmanager
def logging_to(stderr: int, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `driftway` with stdout and stderr at a descriptor, buffered as they are for users."""
    command = [sys.executable, "-P", "-m", "driftway", *arguments]
    env = clean_environment(PYTHONUNBUFFERED="")
    child = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@contextlib.contextmanager
def full_disk() -> Iterator[tuple[int, Callable[[], None]]]:
    """Yield a file on a full disk, and a function that does nothing, as writing already fails."""
    file = os.open("/dev/full", os.O_WRONLY)
    try:
        yield file, lambda: None
    finally:
        os.close(file)


@contextlib.contextmanager
def closed_pipe() -> Iterator[tuple[int, Callable[[], None]]]:
    """Yield a pipe, and a function that reads one line of it and closes it, as `head -1` does."""
    reading, writing = os.pipe()

    def head() -> None:
        os.close(writing)
        with os.fdopen(reading, "rb") as file:
            assert file.readline().endswith(b"\n")

    yield writing, head


@pytest.mark.slow
@pytest.mark.parametrize("broken_log", [full_disk, closed_pipe])
def test_a_worker_continues_if_its_log_cannot_be_written(
    kafka: str, broken_log: Callable[[], contextlib.AbstractContextManager[tuple[int, Callable[[], None]]]]
) -> None:
    """Rows are predicted before and after a rebalance, which logs a lot, and the shutdown is clean."""
    scenario = FaultScenario(kafka, partitions=2, rows=600)
    with scenario.auditor() as auditor, broken_log() as (log, break_it), logging_to(log, *scenario.worker()) as worker:
        break_it()
        scenario.fill(0, 300)
        await_until(lambda: auditor.seen >= 600 or worker.poll() is not None, 60, "first rows predicted, or its end")
        assert worker.poll() is None, f"exit code {worker.returncode}"
        with Driftway(*scenario.worker()) as other:
            other.await_text("running")
            other.terminate()
            assert other.wait() == 0, other.summary()
        scenario.fill(300)
        auditor.await_all(len(scenario.expected))
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    auditor.require(scenario.expected)


def test_the_exit_code_is_as_documented_if_the_message_cannot_be_written(kafka: str) -> None:
    options = ("--input", unique("absent"), "--group", "g", "--bootstrap", kafka)
    with full_disk() as (log, _), logging_to(log, "worker", *options) as worker:
        assert worker.wait(60) == 2

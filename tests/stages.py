"""`python -m tests.stages [STAGE ...]`: run the stages of `make test` in order, up to the first that fails.

A stage of one process runs beside the next one. At the end it prints each stage's result and time, and the stages not
reached. If stages are named, only these run, in the order given.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.examples import THOROUGH

ROOT = Path(__file__).resolve().parents[1]
WITH_BROKER = ("tests/broker", "tests/fault")
"""Folders of all tests that need a broker (`tests/conftest.py` sees to it): only those are collected for them."""


def _pytest(processes: int, which: str, *more: str) -> tuple[str, ...]:
    in_order = "--dist", "loadgroup", "--no-loadscope-reorder"  # see `pytest_collection_modifyitems`
    return "pytest", "-n", str(processes), *in_order, "-m", which, "--durations=20", *more


def _on_brokers(which: str, processes: int = 10) -> tuple[str, ...]:
    """Tests with a broker mostly wait, hence ten processes on two cores; they share a broker."""
    return _pytest(processes, which, "--require-broker", *WITH_BROKER)


def _without_brokers(which: str, *more: str) -> tuple[str, ...]:
    return _pytest(2, which, *(f"--ignore={folder}" for folder in (*WITH_BROKER, "tests/bench")), *more)


STAGES: dict[str, tuple[str, ...]] = {
    "format": ("ruff", "format", "--check", "."),
    "lint": ("ruff", "check", "."),
    "types": ("mypy",),
    "rules": _pytest(2, "not slow", "tests/meta"),
    "unit": _without_brokers("not slow"),
    "broker": _on_brokers("not slow"),
    "data": _pytest(2, "data and not slow", "--require-broker"),
    "slow-broker": _on_brokers("slow and not cluster"),
    "cluster": _on_brokers("cluster", 1),
    "slow-unit": _without_brokers("slow"),
    "slow-examples": _without_brokers("(hypothesis or random_cases) and not slow", f"--hypothesis-profile={THOROUGH}"),
}
"""Name -> Python module and its arguments."""

DEFAULT = "format", "lint", "types", "unit", "broker"
"""The stage `unit` includes the rules of tests/meta, which `make check` runs alone."""
BESIDE = {"types"}
"""Stages of one process, each run beside the next one; its output is shown when it has ended."""
POLL_SECONDS = 0.1
FETCH = "from driftway.workbench.broker import LocalKafka; LocalKafka(heap='256m').__enter__().stop()"
"""Python that downloads Kafka's jars and writes Java's cache of a started Kafka, unless they are there."""


def main(names: Sequence[str]) -> int:
    """Run the stages and return the exit code of the first that fails."""
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        print(f"there is no stage {unknown[0]}: stages are {', '.join(STAGES)}", file=sys.stderr)
        return 2
    lines: dict[str, str] = {}
    code, left = 0, list(names)
    with ExitStack() as stack:
        if "broker" in names[1:]:  # beside the stages before it
            quiet = subprocess.DEVNULL
            fetching = subprocess.Popen([sys.executable, "-c", FETCH], cwd=ROOT, stdout=quiet, stderr=quiet)
            stack.enter_context(_ended(fetching))
        while left and code == 0:
            for name, ended, seconds in _run(left[: 2 if left[0] in BESIDE else 1]):
                result = "passed" if ended == 0 else f"FAILED (exit code {ended})"
                lines[name] = f"{name:8}{seconds // 60:3}:{seconds % 60:02}  {result}"
                code = code or ended
                left.remove(name)
    print("\n--- stages", *(lines[name] for name in names if name in lines), sep="\n")
    if left:
        command = [os.path.relpath(sys.executable), "-m", "tests.stages", *left]
        print(f"not reached: {', '.join(left)} ({shlex.join(command)})")
    sys.stdout.flush()
    return code


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """End a process at the end of the block."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()


def _run(names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Run one or two stages at once; yield the name, exit code and seconds of each that ended by itself.

    All but the last write to a file, which is shown as soon as they have ended. When one fails the other is ended.
    """
    with ExitStack() as stack:
        running: dict[str, tuple[subprocess.Popen[bytes], Path | None]] = {}
        folder, started = Path(stack.enter_context(tempfile.TemporaryDirectory())), time.monotonic()
        for name in names:
            command = [sys.executable, "-m", *STAGES[name]]
            shown = None if name == names[-1] else folder / name
            print(f"\n--- {name}: {shlex.join(STAGES[name])}{f', beside {names[-1]}' if shown else ''}", flush=True)
            output = None if shown is None else stack.enter_context(shown.open("wb"))
            process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
            running[name] = stack.enter_context(_ended(process)), shown
        failed = False
        while running and not failed:
            time.sleep(POLL_SECONDS)
            for name, (process, shown) in list(running.items()):
                if (code := process.poll()) is not None:
                    del running[name]
                    failed = failed or code != 0
                    if shown is not None:
                        print(f"\n--- {name}\n{shown.read_text(errors='replace')}", flush=True)
                    yield name, code, round(time.monotonic() - started)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:] or DEFAULT))
    except KeyboardInterrupt:
        sys.exit(130)

"""`python -m tests.stages [STAGE ...]`: run the stages of `make test` in order, up to the first that fails.

At the end it prints each stage's result and time, and the stages not reached. If stages are named, only these run, in
the order given.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _pytest(processes: int, which: str, *more: str) -> tuple[str, ...]:
    return "pytest", "-n", str(processes), "--dist", "loadgroup", "-m", which, "--durations=20", *more


def _on_brokers(which: str) -> tuple[str, ...]:
    """Each process has its own broker. Tests with a broker mostly wait, hence six processes on two cores."""
    return _pytest(6, which, "--require-broker")


STAGES: dict[str, tuple[str, ...]] = {
    "format": ("ruff", "format", "--check", "."),
    "lint": ("ruff", "check", "."),
    "types": ("mypy",),
    "rules": _pytest(2, "not slow", "tests/meta"),
    "unit": _pytest(2, "not broker and not slow"),
    "broker": _on_brokers("broker and not slow"),
    "data": _pytest(2, "data and not slow", "--require-broker"),
    "slow-broker": _on_brokers("broker and slow and not cluster"),
    "cluster": _pytest(1, "cluster", "--require-broker"),
    "slow-unit": _pytest(2, "slow and not broker", "--ignore=tests/bench"),
}
"""Name -> Python module and its arguments."""

DEFAULT = "format", "lint", "types", "unit", "broker"
"""The stage `unit` includes the rules of tests/meta, which `make check` runs alone."""
FETCH = "from driftway.workbench.broker.distribution import classpath; classpath(lambda line: None)"
"""Python that downloads Kafka's jars, unless they are there."""


def main(names: Sequence[str]) -> int:
    """Run the stages and return the exit code of the first that fails."""
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        print(f"there is no stage {unknown[0]}: stages are {', '.join(STAGES)}", file=sys.stderr)
        return 2
    lines: list[str] = []
    fetching: list[subprocess.Popen[bytes]] = []
    if "broker" in names[1:]:  # beside the stages before it
        quiet = subprocess.DEVNULL
        fetching.append(subprocess.Popen([sys.executable, "-c", FETCH], cwd=ROOT, stdout=quiet, stderr=quiet))
    for name in names:
        module, *arguments = STAGES[name]
        print(f"\n--- {name}: {shlex.join([module, *arguments])}", flush=True)
        started = time.monotonic()
        code = subprocess.call([sys.executable, "-m", module, *arguments], cwd=ROOT)
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        lines.append(f"{name:8}{minutes:3}:{seconds:02}  {'passed' if code == 0 else f'FAILED (exit code {code})'}")
        if code != 0:
            break
    for one in fetching:
        one.terminate()
        one.wait()
    print("\n--- stages", *lines, sep="\n")
    left = names[len(lines) :]
    if left:
        command = [os.path.relpath(sys.executable), "-m", "tests.stages", *left]
        print(f"not reached: {', '.join(left)} ({shlex.join(command)})")
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:] or DEFAULT))
    except KeyboardInterrupt:
        sys.exit(130)

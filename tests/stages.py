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

STAGES: dict[str, tuple[str, ...]] = {
    "format": ("ruff", "format", "--check", "."),
    "lint": ("ruff", "check", "."),
    "types": ("mypy",),
    "rules": ("pytest", "-q", "-n", "2", "tests/meta"),
    "unit": (
        "pytest",
        "-n",
        "2",
        "--dist",
        "loadgroup",
        "--ignore=tests/meta",
        "-m",
        "not broker and not slow",
        "--durations=20",
    ),
    # Each process has its own broker. Tests with a broker mostly wait, hence six processes on two cores.
    "broker": (
        "pytest",
        "--require-broker",
        "-n",
        "6",
        "--dist",
        "loadgroup",
        "-m",
        "broker and not slow",
        "--durations=20",
    ),
    "data": ("pytest", "--require-broker", "-n", "2", "--dist", "loadgroup", "-m", "data and not slow"),
}
"""Name -> Python module and its arguments."""

CHECKS = "format", "lint", "types", "rules"
DEFAULT = *CHECKS, "unit", "broker"


def main(names: Sequence[str]) -> int:
    """Run the stages and return the exit code of the first that fails."""
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        print(f"there is no stage {unknown[0]}: stages are {', '.join(STAGES)}", file=sys.stderr)
        return 2
    lines: list[str] = []
    for name in names:
        module, *arguments = STAGES[name]
        print(f"\n--- {name}: {shlex.join([module, *arguments])}", flush=True)
        started = time.monotonic()
        code = subprocess.call([sys.executable, "-m", module, *arguments], cwd=ROOT)
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        lines.append(f"{name:8}{minutes:3}:{seconds:02}  {'passed' if code == 0 else f'FAILED (exit code {code})'}")
        if code != 0:
            break
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

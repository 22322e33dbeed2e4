"""`python -m tests.regenerate.kernel_speed`: docs/results/kernel-speed.md, each kernel beside a plain loop and River.

Wants a quiet machine.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import numba
import river
from rich.progress import track

from driftway.learners.registry import LEARNERS
from tests.bench.handwritten import PLAIN
from tests.bench.river import NEAREST, ROWS, rows_per_second
from tests.bench.speed import ROUNDS, SIZES, measured, stream

PAGE = Path(__file__).parents[2] / "docs" / "results" / "kernel-speed.md"
LEAST = 0.8
HEAD = """# How fast the learners are

Rows a second on one core, predicting and learning: the kernel alone; the whole call, which checks the rows and appends
the intercept; the same update as a loop that one would write by hand with numba, without guards against overflow or
missing labels (`tests/bench/handwritten`); and River's nearest learner (`tests/bench/river.py`), fed with dictionaries
that exist already. Default parameters, best of {rounds} turns. Only ratios mean something elsewhere.

`python -m tests.regenerate.kernel_speed` on {machine}, Python {python}, numba {numba}, River {river}.

| learner | d | kernel | whole call | plain loop | kernel / plain | River | whole call / River |
|---|--:|--:|--:|--:|--:|--:|--:|
"""


def line(name: str, d: int, n: int) -> str:
    """A row of the table."""
    speed = measured(name, d, n)
    theirs, times = "", ""
    if name in NEAREST:
        rate = rows_per_second(name, *stream(ROWS[d], d))
        theirs, times = f"{rate:,.0f}", f"{speed.call / rate:,.0f}"
    ratio = speed.kernel / speed.plain
    shown = f"{ratio:.2f}" if ratio >= LEAST else f"**{ratio:.2f}**"
    rates = " | ".join(f"{rate:,.0f}" for rate in speed)
    return f"| `{name}` | {d} | {rates} | {shown} | {theirs} | {times} |\n"


def main() -> int:
    """Measure everything, write the page."""
    work = [(name, d, n) for name in LEARNERS if name in PLAIN for d, n in SIZES]
    head = HEAD.format(
        rounds=ROUNDS,
        machine=f"{os.cpu_count()} shared cores of a {platform.machine()} machine",
        python=platform.python_version(),
        numba=numba.__version__,
        river=river.__version__,
    )
    text = head + "".join(line(*one) for one in track(work, "kernels"))
    text += f"\nBold: less than {LEAST} of the plain loop.\n"
    lacking = ", ".join(f"`{name}`" for name in LEARNERS if name not in PLAIN)
    text += f"\nWithout a plain loop: {lacking}.\n" if lacking else ""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.regenerate.kernel_speed`: docs/results/kernel-speed.md, some kernels against plain loops and River.

Run it on an idle machine.
"""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import numba
import river
from rich.progress import track

from driftway.learners.registry import LEARNERS
from tests.bench.handwritten import NOT_COMPARED, PLAIN
from tests.bench.river import NEAREST, ROWS, rows_per_second
from tests.bench.speed import ROUNDS, SIZES, measured, stream

PAGE = Path(__file__).parents[2] / "docs" / "results" / "kernel-speed.md"
LEAST = 0.8
HEAD = """# How fast the learners are

The table has rows a second on one core, for predicting and learning. *Kernel* is the compiled kernel alone. *Whole
call* also checks the rows and appends the intercept. *Plain loop* is the same update as one would write it by hand with
numba, without guards against overflow or missing labels (`tests/bench/handwritten`). *River* is River's nearest learner
(`tests/bench/river.py`), whose dictionaries are made before. Parameters are the defaults, and each figure is the best
of {rounds} turns. On other machines only the ratios are comparable.

The comparison has {compared} learners, one to three of each family. The kernels of the others use the same loop over
rows and the same vector functions. No learner of these families is compared: {families}.

Measured on {day} by `python -m tests.regenerate.kernel_speed` on {machine}, Python {python},
numba {numba}, River {river}.

| learner | d | kernel | whole call | plain loop | kernel / plain loop | River | whole call / River |
|---|--:|--:|--:|--:|--:|--:|--:|
"""


def line(name: str, d: int, n: int) -> str:
    """Return a row of the table."""
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
    compared = [name for name in LEARNERS if name in PLAIN]
    work = [(name, d, n) for name in compared for d, n in SIZES]
    head = HEAD.format(
        compared=len(compared),
        families=", ".join(f"`{name}`" for name in NOT_COMPARED),
        rounds=ROUNDS,
        machine=f"{os.cpu_count()} shared cores of a {platform.machine()} machine",
        python=platform.python_version(),
        numba=numba.__version__,
        river=river.__version__,
        day=datetime.now(UTC).date().isoformat(),
    )
    text = head + "".join(line(*one) for one in track(work, "kernels"))
    text += f"\n**Bold**: less than {LEAST} of the plain loop.\n"
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

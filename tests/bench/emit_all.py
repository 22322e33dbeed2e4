"""What `--emit all` costs: CPU seconds of a worker with challengers, with the option and without, taken in turn.

    python -m tests.bench.emit_all --rows 1000000 --rounds 5

Two partitions on a broker of its own. Each run is a new group that reads all rows and ends. The CPU seconds are those
of the process and all its threads, less those of a run over a few rows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from dataclasses import replace
from itertools import count

from driftway.workbench.bench.cases import Case
from driftway.workbench.bench.workload import fill
from driftway.workbench.broker import LocalKafka
from tests.support.forkserver import ROOT

FEW_ROWS = 20_000
SIDES = {
    "one challenger": ("--learner", "arow"),
    "one challenger, --emit all": ("--learner", "arow", "--emit", "all"),
    "two challengers": ("--learner", "arow", "--learner", "pa1"),
    "two challengers, --emit all": ("--learner", "arow", "--learner", "pa1", "--emit", "all"),
    "none": (),
    "none, --emit all": ("--emit", "all"),
}


def cpu_seconds(bootstrap: str, topic: str, group: str, options: tuple[str, ...]) -> float:
    """Let a worker read a topic to its end; return the CPU seconds of its process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    place = "--input", topic, "--group", group, "--bootstrap", bootstrap, "--learner", "dfop", "--stop-at-end"
    command = [sys.executable, "-m", "driftway", "worker", *place, *options]
    subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.DEVNULL, env=dict(os.environ))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(bootstrap: str, rows: int, rounds: int, more: tuple[str, ...]) -> dict[str, float]:
    """Median CPU seconds per million rows of each side."""
    numbers, found = count(), {side: list[float]() for side in SIDES}
    for topic, n in (("FEW", FEW_ROWS), ("ALL", rows)):
        fill(bootstrap, {}, topic, replace(Case(), messages=n), n)
    for _ in range(rounds):
        for side, options in SIDES.items():
            few, everything = (
                cpu_seconds(bootstrap, topic, f"g{next(numbers)}", (*options, *more)) for topic in ("FEW", "ALL")
            )
            found[side].append((everything - few) * 1e6 / (rows - FEW_ROWS))
    return {side: round(statistics.median(seconds), 3) for side, seconds in found.items()}


def main() -> None:
    """Run it from the command line; further options are the worker's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given, more = parser.parse_known_args()
    with LocalKafka() as kafka:
        found = measure(kafka.bootstrap, given.rows, given.rounds, tuple(more))
    ratios = {side: round(found[f"{side}, --emit all"] / found[side], 2) for side in ("none", *list(SIDES)[:4:2])}
    json.dump({"cpu_seconds_per_million": found, "with_all_to_champion": ratios}, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()

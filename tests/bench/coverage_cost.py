"""What `--coverage` costs: CPU seconds of a worker with the option and without, taken in turn.

    python -m tests.bench.coverage_cost --rows 1000000 --rounds 5

As `tests.bench.emit_all` measures: two partitions on a broker of its own, events of 8 features with labels 0 and 1,
each run a new group that reads all rows and ends, its CPU seconds less those of a run over a few rows. Targets are the
same labels. *Added* is the median of what the option adds in each round, in microseconds a row.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from itertools import product

from driftway.workbench.broker import LocalKafka
from tests.bench.emit_all import measure

TASKS = {"classes": (), "targets": ("--task", "regression")}
COVERED = ("--coverage", "0.9")


def sides(learners: list[str]) -> dict[str, tuple[str, ...]]:
    """Options of each side: a learner, what it predicts, and with the option or without."""
    found = {}
    for learner, (task, options) in product(learners, TASKS.items()):
        plain = "--learner", learner, *options
        found |= {f"{learner}, {task}": plain, f"{learner}, {task}, --coverage": (*plain, *COVERED)}
    return found


def main() -> None:
    """Run it from the command line; further options are the worker's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--learner", nargs="+", default=["dfop", "auto"])
    given, more = parser.parse_known_args()
    asked = sides(given.learner)
    with LocalKafka() as kafka:
        found = measure(kafka.bootstrap, given.rows, given.rounds, asked, tuple(more))
    added = {
        side: [after - before for before, after in zip(seconds, found[f"{side}, --coverage"], strict=True)]
        for side, seconds in found.items()
        if f"{side}, --coverage" in found
    }
    text = {
        "cpu_seconds_per_million": {side: round(statistics.median(seconds), 3) for side, seconds in found.items()},
        "rows_per_cpu_second": {side: round(1e6 / statistics.median(seconds)) for side, seconds in found.items()},
        "added": {side: round(statistics.median(seconds), 3) for side, seconds in added.items()},
    }
    json.dump(text, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()

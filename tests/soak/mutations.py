"""`python -m tests.soak.mutations --count 100000`: read many mutated snapshots, model files and records, or files.

Each must be read, or refused with one sentence, within 2 s and 300 MB. The seed makes every run repeatable: a failing
case is named by its subject and number.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import random
import re
import resource
import tempfile
import time
import traceback
from pathlib import Path

from tests.support.mutated_files import file_subjects
from tests.support.mutations import MEGABYTES, SECONDS, Subject, subjects

KILOBYTES = 1024
MAX_SHOWN = 20
ADDRESS_BYTES = 4 << 30
"""More than this is refused, so that a defect ends in a MemoryError and not in the machine's memory."""
HANGING_SECONDS = 60.0
"""After so long in one value, the process ends with a traceback of it."""


def run(count: int, seed: int, subjects_by_name: dict[str, Subject]) -> tuple[list[str], dict[str, float]]:
    """Read `count` mutated values; return what went wrong, and the figures."""
    wrong, slowest, largest = list[str](), 0.0, 0.0
    for number in range(count):
        more, took, grew = run_one(number, seed, subjects_by_name)
        wrong += more
        slowest, largest = max(slowest, took), max(largest, grew)
    return wrong, {"values": count, "wrong": len(wrong), "slowest_seconds": slowest, "largest_megabytes": largest}


def run_one(number: int, seed: int, subjects_by_name: dict[str, Subject]) -> tuple[list[str], float, float]:
    """Read one mutated value; return what went wrong, the seconds, and by how many megabytes the memory grew."""
    name = list(subjects_by_name)[number % len(subjects_by_name)]
    wrong, before, began = list[str](), _reset_peak(), time.monotonic()
    faulthandler.dump_traceback_later(HANGING_SECONDS, exit=True)
    try:
        subjects_by_name[name](random.Random(f"{seed}/{number}"))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        wrong.append(f"{name}, number {number}: {type(error).__name__}: {error} at {last.filename}:{last.lineno}")
    faulthandler.cancel_dump_traceback_later()
    took, grew = time.monotonic() - began, _megabytes("VmHWM") - before
    if took > SECONDS or grew > MEGABYTES:
        wrong.append(f"{name}, number {number}: {took:.1f} s, {grew:.0f} MB")
    return wrong, took, grew


def _reset_peak() -> float:
    """Reset the kernel's peak memory of this process; return the memory in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return _megabytes("VmRSS")


def _megabytes(name: str) -> float:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / KILOBYTES


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=40)
    parser.add_argument("--files", action="store_true", help="Read files that people bring, in place of stored values.")
    given = parser.parse_args()
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
    with tempfile.TemporaryDirectory() as folder:
        subjects_by_name = file_subjects(Path(folder)) if given.files else subjects()
        wrong, figures = run(given.count, given.seed, subjects_by_name)
    print("\n".join(wrong[:MAX_SHOWN]))
    print(json.dumps(figures))
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())

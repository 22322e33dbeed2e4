"""Start-up cost: the command line and the packages import nothing heavy before it is needed."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from functools import cache

import pytest

from tests.meta.sources import ROOT

NEEDED = "import click, numpy"
MOST = 3.0
"""How many times as long as NEEDED a command may take to start: about half a second, on a slow machine more."""
TRIES = 5
HEAVY = ("numba", "llvmlite", "confluent_kafka", "pyarrow", "matplotlib", "rich", "jgo", "prometheus_client", "scipy")


def cpu_seconds(*arguments: str, enough: float = 0.0) -> float:
    """Processor time of `python ARGUMENTS`; the best of a few runs, or the first below `enough`."""
    best = float("inf")
    for _ in range(TRIES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, capture_output=True, env=environment())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if best < enough:
            break
    return best


@cache
def most_seconds() -> float:
    """How long a command may take to start on this machine."""
    return MOST * cpu_seconds("-c", NEEDED)


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("DRIFTWAY_", "COV_", "PYTHON"))}


def imported_by(code: str) -> set[str]:
    """Top-level names of the modules loaded after running `code`."""
    report = f"{code}\nimport sys, json\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run(
        [sys.executable, "-c", report], cwd=ROOT, check=True, capture_output=True, text=True, env=environment()
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "package",
    [
        "driftway",
        "driftway.cli",
        "driftway.worker",
        "driftway.learners",
        "driftway.producers",
        "driftway.learners.registry",
        "driftway.worker.wire.codec",
        "driftway.worker.wire.packed",
        "driftway.worker.kafka.registry.parser",
    ],
)
def test_import_loads_nothing_heavy(package: str) -> None:
    assert not imported_by(f"import {package}") & set(HEAVY)


def test_the_packed_format_needs_no_json() -> None:
    assert "orjson" not in imported_by("import driftway.worker.wire.packed")


def test_help_of_every_command_loads_nothing_heavy() -> None:
    code = "\n".join(
        [
            "from driftway import cli",
            "from click.testing import CliRunner",
            "for name in cli.COMMANDS:",
            "    assert CliRunner().invoke(cli.main, [name, '--help']).exit_code == 0, name",
        ]
    )
    assert not imported_by(code) & {"numba", "llvmlite", "confluent_kafka", "pyarrow", "matplotlib", "jgo"}


@pytest.mark.parametrize("package", ["driftway.worker", "driftway.learners"])
def test_import_does_not_take_long(package: str) -> None:
    assert cpu_seconds("-c", f"import {package}", enough=most_seconds()) < most_seconds()


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("worker", "--help")], ids=" ".join)
def test_help_does_not_take_long(arguments: tuple[str, ...]) -> None:
    assert cpu_seconds("-m", "driftway", *arguments, enough=most_seconds()) < most_seconds()


def test_the_check_finds_a_heavy_import() -> None:
    assert "numba" in imported_by("import driftway.learners.engine.jit")

"""Wrong command lines end in a sentence and a documented exit code, never in a traceback."""

from __future__ import annotations

import faulthandler
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.commands import load
from driftway.worker.kafka import client_config
from tests.support.examples import repetitions
from tests.support.wrong_command_lines import CLOSED, STARTS_SOMETHING, wrong_lines

LINES, SEED = 300, 40
CODES = {0, 1, 2, 4, 5}
SECONDS = 20.0
"""Most that one may take, on a machine that does other things as well."""


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Run in an empty folder, and give up at once on a broker that does not answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRIFTWAY_BOOTSTRAP", CLOSED)
    monkeypatch.setattr(client_config.require_broker, "__defaults__", (0.05,))
    yield
    faulthandler.cancel_dump_traceback_later()


def outcome(line: tuple[str, ...]) -> str | None:
    """What is wrong with the end of a command line; None if nothing is."""
    began = time.monotonic()
    if line[0] in STARTS_SOMETHING:
        try:
            load(line[0]).make_context(line[0], list(line[1:]))
        except (click.ClickException, click.exceptions.Exit):
            return None
        return None
    done = CliRunner().invoke(main, list(line))
    took = time.monotonic() - began
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"{type(done.exception).__name__}: {done.exception}"
    if done.exit_code not in CODES or "Traceback" in done.output:
        return f"exit code {done.exit_code}: {done.output[-200:]}"
    if done.exit_code and not done.stderr.strip():
        return f"exit code {done.exit_code} without a sentence"
    return f"{took:.0f} s" if took > SECONDS else None


@pytest.mark.random_cases
def test_no_wrong_command_line_ends_in_a_traceback() -> None:
    wrong = {}
    for line in wrong_lines(repetitions(LINES), SEED):
        faulthandler.dump_traceback_later(5 * SECONDS, exit=True)
        if (why := outcome(line)) is not None:
            wrong[" ".join(line)[:300]] = why
    assert wrong == {}


@pytest.mark.parametrize("rows", [10**14, 10**18])
def test_a_state_larger_than_the_memory_ends_in_a_sentence(rows: int) -> None:
    line = ["evaluate", "sea", "--limit", "10", "--learner", "pa1", "--metric-window", str(rows)]
    done = CliRunner().invoke(main, line)
    assert done.exit_code == 1
    assert done.stderr.startswith("driftway: there is not enough memory: ")
    assert done.stderr.count("\n") == 1

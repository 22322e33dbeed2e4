"""A command whose output nobody reads any more, as with `| head`, ends quietly, with the code of other programs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.process import ROOT, clean_environment

PRINTING = pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("learners",),
        ("learners", "--json"),
        ("streams",),
        ("evaluate", "sea:rows=200", "--learner", "pa1"),
        ("replay", "sea:rows=50000", "--dry-run", "-", "--quiet"),
    ],
    ids=" ".join,
)


@PRINTING
def test_a_command_whose_reader_has_gone_ends_as_if_by_sigpipe(arguments: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "driftway", *arguments],
        cwd=ROOT,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(60) == 141


@PRINTING
def test_a_command_whose_standard_output_is_closed_fails(arguments: tuple[str, ...]) -> None:
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "driftway", *arguments]
    done = subprocess.run(closed, cwd=ROOT, env=clean_environment(), stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.stderr.decode().splitlines()[-1] in (
        "driftway: cannot write: standard output is closed",
        "driftway: cannot write -: Bad file descriptor",
    )
    assert done.returncode == 1

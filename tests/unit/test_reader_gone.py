"""A command whose output nobody reads any more, as with `| head`, ends quietly, with the code of other programs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.process import ROOT, clean_environment


@pytest.mark.parametrize(
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

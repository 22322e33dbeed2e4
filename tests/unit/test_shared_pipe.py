"""What a command prints arrives, whatever pipe it was started with."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.support.process import ROOT, clean_environment


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_is_complete_in_a_non_blocking_pipe_with_a_slow_reader(unbuffered: str) -> None:
    """A pipe is so for all its programs as soon as one of them has said so."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with subprocess.Popen(
        [sys.executable, "-m", "driftway", "learners", "--json"],
        cwd=ROOT, env={**clean_environment(), "PYTHONUNBUFFERED": unbuffered}, stdout=writes, stderr=subprocess.PIPE,
    ) as child:  # fmt: skip
        os.close(writes)
        with open(reads, "rb") as file:
            content = file.read(1)
            time.sleep(1)  # the pipe fills
            content += file.read()
        assert child.stderr is not None
        assert child.stderr.read() == b""
        assert child.wait(60) == 0
    assert content.endswith(b"]\n")

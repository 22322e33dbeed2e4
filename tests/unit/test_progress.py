"""Long work shows its progress, on a terminal and nowhere else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process import ROOT, driftway
from tests.support.selection import slow_but
from tests.support.terminal import on_terminal

STREAM = "sea:rows=1000000"
LONG = {
    "one learner": (("evaluate", STREAM, "--learner", "arow"), r"(\d+)%"),
    "two jobs": (("evaluate", STREAM, "hyperplane_staged:rows=500000", "--learner", "arow", "--jobs", "2"), r"(\d+)%"),
    "train": (
        ("train", "sea:rows=50000", "--algorithm", "ii", "--learner", "perceptron", "--out", "OUT"),
        r"phi (\d+) of 100",
    ),
}
"""What to run -> the command, and a pattern of the progress that it draws."""

LOST = """
import ctypes, signal, time
from driftway.cli import no_interrupt_lost
signal.signal(signal.SIGINT, signal.default_int_handler)
callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
with no_interrupt_lost():
    try:
        callback()
        time.sleep(300)
    except KeyboardInterrupt:
        print("heard")
"""

CHANGED = """
import signal
from driftway.cli import no_interrupt_lost
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with no_interrupt_lost():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise TypeError("expected configuration property name as type unicode string") from None
except KeyboardInterrupt:
    print("heard")
"""
"""As confluent-kafka does while it reads the properties of a new client."""


def arguments_of(name: str, folder: Path) -> list[str]:
    return [str(folder / "m.driftway") if word == "OUT" else word for word in LONG[name][0]]


@pytest.mark.parametrize("name", LONG)
def test_long_work_shows_how_far_it_is(name: str, tmp_path: Path) -> None:
    done = on_terminal(*arguments_of(name, tmp_path))
    assert done.code == 0, done.stderr
    assert len({int(found) for found in re.findall(LONG[name][1], done.stderr)}) >= 2, done.stderr
    assert not re.search(LONG[name][1], done.stdout)


def test_nothing_is_drawn_into_a_file(tmp_path: Path) -> None:
    done = driftway(*arguments_of("one learner", tmp_path))
    assert (done.code, done.stderr) == (0, "")


COMPILING = "evaluate", "sea:rows=10", "--learner", "no_change"


def test_a_terminal_shows_that_kernels_are_compiled(tmp_path: Path) -> None:
    done = on_terminal(*COMPILING, NUMBA_CACHE_DIR=str(tmp_path))
    assert (done.code, done.stderr.count("driftway: compiling kernels; later runs load")) == (0, 1), done
    done = on_terminal(*COMPILING, NUMBA_CACHE_DIR=str(tmp_path))
    assert (done.code, "compiling" in done.stderr) == (0, False), done


@pytest.mark.slow
def test_a_file_shows_nothing_of_compiled_kernels(tmp_path: Path) -> None:
    done = driftway(*COMPILING, env={"NUMBA_CACHE_DIR": str(tmp_path)})
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("presses", slow_but([10], [1, 10]))
def test_ctrl_c_is_one_word_and_130(presses: int) -> None:
    done = on_terminal("evaluate", "sea:rows=100000000", "--learner", "arow", interrupt_at="[1-9]%", presses=presses)
    assert done.code == 130, done
    assert done.stderr.rstrip().endswith("driftway: interrupted")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("script", [LOST, CHANGED], ids=["lost", "changed"])
def test_ctrl_c_is_heard_whatever_a_library_makes_of_it(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("heard\n", "")

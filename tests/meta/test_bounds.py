"""Run the kernels as plain Python, which checks array bounds; compiled code silently reads past the end.

By default one kernel in twelve, of all families; the slow tests run every kernel of every variant, and metrics.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.meta.sources import ROOT

UNCOMPILED = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
LONG = "window_counts_do_not_drift"
"""A test of what the conformance table lacks, whose window is filled very often."""
CHECKS = f"(metrics or generator or batch_oracle) and not particle_filter and not {LONG}"
"""The others; 1500 rows of a learner in plain Python would take most of the time."""
LEARNERS = [sys.executable, "-m", "tests.support.interpreted_kernels"]
OTHERS = [
    *(sys.executable, "-m", "pytest", "-q", "-p", "tests.support.interpreted_kernels", "-p", "no:cacheprovider"),
    *("-W", "ignore", "tests/unit/learners", "-k"),
]

OUT_OF_BOUNDS = """
import tests.support.interpreted_kernels
import numpy as np
from driftway import learners
learners.create("majority_class", 1)._run(np.zeros((1, 1)), np.array([7.0]), np.zeros((1, 1)))
"""


def output_of(command: list[str]) -> tuple[int, str]:
    """Exit code and output of a command that runs kernels as plain Python."""
    done = subprocess.run(command, cwd=ROOT, env=UNCOMPILED, capture_output=True, text=True, timeout=900, check=False)
    return done.returncode, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.timeout(1000)
@pytest.mark.parametrize(
    ("command", "proof"),
    [
        pytest.param([*LEARNERS, "0", "12"], " 0 past an array", id="learners"),
        *(
            pytest.param([*LEARNERS, part, "2", "slow"], " 0 past an array", id=f"case-{part}", marks=pytest.mark.slow)
            for part in "01"
        ),
        pytest.param([*OTHERS, CHECKS], " passed", id="metrics", marks=pytest.mark.slow),
        pytest.param([*OTHERS, LONG], " passed", id="window", marks=pytest.mark.slow),
    ],
)
def test_kernels_stay_inside_their_arrays(command, proof):
    code, output = output_of(command)
    assert code == 0, output
    assert proof in output


def test_an_index_outside_an_array_is_detected():
    code, output = output_of([sys.executable, "-c", OUT_OF_BOUNDS])
    assert code != 0
    assert "IndexError" in output

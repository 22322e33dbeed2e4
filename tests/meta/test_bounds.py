"""The kernels once more, with array bounds checked: compiled code reads past an array without a word."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.meta.sources import ROOT

SUITE = ("tests/conformance/test_learners.py", "tests/unit/learners")
CHECKS = "split_invariant or hostile_rows or metrics or generator or batch_oracle"

OUT_OF_BOUNDS = """
import numpy as np
import learners
learners.create("majority_class", 1)._run(np.zeros((1, 1)), np.array([7.0]), np.zeros((1, 1)))
"""


def environment(config) -> dict[str, str]:
    # A cache of its own, kept between runs: bounds checking is compiled in, and not part of the cache's key.
    folder = config.cache.mkdir("numba_boundscheck")
    return {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)}


@pytest.mark.timeout(1850)
def test_kernels_stay_inside_their_arrays(pytestconfig):
    shared = "-n", "2", "--dist", "loadgroup"
    command = [sys.executable, "-m", "pytest", "-q", "-x", *shared, "-p", "no:cacheprovider", "-k", CHECKS, *SUITE]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(pytestconfig), capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_a_kernel_outside_its_array_is_noticed(pytestconfig):
    done = subprocess.run(
        [sys.executable, "-c", OUT_OF_BOUNDS],
        cwd=ROOT,
        env=environment(pytestconfig),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
    assert "IndexError" in done.stderr

"""Every learner and generator computes the same bits on a processor without FMA and AVX2: docs/decisions/0021.

That processor is simulated by hiding the features of this one from the C library, from numpy and from the compiler.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.sources import ROOT

pytestmark = pytest.mark.slow

PLAIN = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX,-AVX512F",
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
}
LONGEST_SECONDS = 3000
"""Timeout of a run, which compiles every kernel; on two idle cores each takes some minutes."""


def numpy_features() -> dict[str, str]:
    """Return the variable that makes numpy ignore the dispatched CPU features that this machine has."""
    from numpy._core import _multiarray_umath as umath

    present = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(present)} if present else {}


def digests(environment: dict[str, str], *folders: Path) -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.bits", *map(str, folders)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    here, plain = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("plain")
    # The second run continues from the snapshots of the first.
    return digests({}, here), digests({**PLAIN, **numpy_features()}, plain, here)


@pytest.mark.timeout(2 * LONGEST_SECONDS)
def test_scores_states_rows_and_restored_snapshots_are_equal(both):
    here, plain = both
    assert here.keys() == plain.keys()
    assert len(here) > 200
    assert [name for name in here if here[name] != plain[name] and name != "library"] == []


@pytest.mark.timeout(2 * LONGEST_SECONDS)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the features that are hidden are those of x86-64")
def test_results_of_the_c_library_and_numpy_differ(both):
    """Otherwise the features were not hidden, and the test above proves nothing."""
    if "fma" not in Path("/proc/cpuinfo").read_text(encoding="utf-8").split():
        pytest.skip("this processor has no FMA")
    here, plain = both
    assert here["library"] != plain["library"]

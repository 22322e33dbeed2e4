"""The scanner once more with bounds checking, as it never checks whether a position is still inside the text."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.meta.sources import ROOT
from tests.support.examples import THOROUGH, thorough

pytestmark = pytest.mark.timeout(1000)

SUITE = tuple(f"tests/unit/worker/wire/test_scanner{part}.py" for part in ("", "_edges", "_names"))
PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout=900")
"""The first test compiles all kernels, which takes minutes on a busy machine."""
EXAMPLES = (f"--hypothesis-profile={THOROUGH}",) if thorough() else ()

WITHOUT_SPARE_BYTES = """
import numpy as np
from driftway.worker.wire import columns, scanner
columns.TAIL = b""
scanner.scan(columns.ListColumn([b'{"x":[1.5']), 1)
"""


def environment(config: pytest.Config) -> dict[str, str]:
    """Return an environment with bounds checks compiled in and a cache of its own, as the cache's key ignores them."""
    folder = config.cache.mkdir("numba_boundscheck")  # type: ignore[union-attr]
    return {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)}


def run(config: pytest.Config, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(config),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.mark.random_cases
def test_scanner_stays_inside_its_text(pytestconfig: pytest.Config) -> None:
    done = run(pytestconfig, *PYTEST, *EXAMPLES, *SUITE)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_a_word_outside_the_text_is_detected(pytestconfig: pytest.Config) -> None:
    done = run(pytestconfig, "-c", WITHOUT_SPARE_BYTES)
    assert done.returncode != 0
    assert "IndexError" in done.stderr

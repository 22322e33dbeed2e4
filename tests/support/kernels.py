"""Caches of kernels for tests of a cold start, in which compiling all kernels would take most of the time."""

from __future__ import annotations

import shutil
from pathlib import Path

from driftway.learners.engine.kernel_cache import FOLDER


def copy_kernels_except_learners(place: Path) -> Path:
    """Copy the compiled kernels, except those of learners, for ``NUMBA_CACHE_DIR=place``; return their folder."""
    place.chmod(0o700)
    copied = place / FOLDER.name
    copied.mkdir(0o700)
    for compiled in FOLDER.glob("*.kernel"):
        if "learn" not in compiled.name:
            shutil.copy2(compiled, copied)
    return copied

"""The one place that knows how kernels are compiled.

Every kernel in the project is decorated with :func:`kernel`. No `fastmath`: it reorders sums and drops
the NaN checks, so a recovered run would differ from an uninterrupted one in the last bits. No `parallel`:
thread timing must not decide an order of operations. `nogil` lets the Kafka client's threads run on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

SOURCES = Path(__file__).resolve().parents[1]
"""The folder that holds every package with kernels."""


def _cache_folder() -> Path | None:
    """Where machine code is kept: a folder named after all kernels' sources; None if it cannot be written.

    numba's own cache looks at the file of the called kernel only. After a change in a kernel that it inlines
    (an upgrade, a pull) it would go on running the old code, and a recovered run would differ from the first.
    """
    digest = hashlib.blake2b(digest_size=8)
    for package in ("learners", "producers", "worker"):
        for file in sorted((SOURCES / package).rglob("*.py")):
            text = file.read_bytes()
            if b"@kernel" in text:
                digest.update(text)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "driftway" / f"kernels-{digest.hexdigest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _keep_code() -> bool:
    """Point numba at the cache, unless NUMBA_CACHE_DIR does; False: compile in every process."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return True
    folder = _cache_folder()
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    return folder is not None


KEEP_CODE = _keep_code()


def kernel(function: F) -> F:
    """Compile `function` on first call, keep the machine code for later processes, release the GIL."""
    return cast(F, numba.njit(cache=KEEP_CODE, nogil=True, fastmath=False, error_model="numpy")(function))


def fragment(function: F) -> F:
    """A piece of kernels, pasted into each of them: for scanners that call it per byte or per number.

    A call passes arrays with their reference counts, which cost more than reading a number does.
    """
    return cast(F, numba.njit(nogil=True, fastmath=False, error_model="numpy", inline="always")(function))

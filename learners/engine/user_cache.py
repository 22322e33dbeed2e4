"""Where this user's caches are: of compiled kernels, of downloaded streams, and of the local Kafka. Leaf module."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path | None:
    """Return Driftway's folder among the user's caches; None if the user has no home, as in some containers.

    A relative folder is ignored: it would depend on where a process starts, and somebody else may write there.
    """
    if os.path.isabs(folder := os.environ.get("XDG_CACHE_HOME", "")):
        return Path(folder, "driftway")
    home = os.path.expanduser("~")
    return Path(home, ".cache", "driftway") if os.path.isabs(home) else None

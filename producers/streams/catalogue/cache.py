"""Where fetched streams are stored."""

from __future__ import annotations

import os
import sys
from pathlib import Path

FORM = 1
"""Version of the conversion's output; streams in an older version are fetched again."""


def cache_home() -> Path:
    """The folder of this user's fetched streams."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "driftway" / f"streams-{FORM}"


def fetched_file(name: str) -> Path | None:
    """The file of an entry of the catalogue, if it has been fetched."""
    path = cache_home() / f"{name}.csv.gz"
    return path if path.is_file() else None

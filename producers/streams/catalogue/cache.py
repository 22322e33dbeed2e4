"""Where fetched streams are stored."""

from __future__ import annotations

from pathlib import Path

from driftway.learners.engine.user_cache import user_cache
from driftway.worker.errors import UsageFailure

FORM = 1
"""Version of the conversion's output; streams in an older version are fetched again."""


def cache_home() -> Path:
    """Return the folder of this user's fetched streams.

    Raises
    ------
    UsageFailure
        The user has no home.
    """
    if (found := _folder()) is None:
        raise UsageFailure("this user has no home in which streams can be kept: set XDG_CACHE_HOME to a folder")
    return found


def fetched_file(name: str) -> Path | None:
    """The file of an entry of the catalogue, if it has been fetched."""
    folder = _folder()
    path = None if folder is None else folder / f"{name}.csv.gz"
    return path if path is not None and path.is_file() else None


def _folder() -> Path | None:
    own = user_cache()
    return None if own is None else own / f"streams-{FORM}"

"""When a line of the JSON log was written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any


def logged_at(entry: Mapping[str, Any]) -> float:
    """Return the time of a line, as seconds since 1970."""
    return datetime.fromisoformat(entry["time"]).timestamp()

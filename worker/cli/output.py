"""How commands print tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 200
"""Columns that a table may have, whoever reads it: a terminal with fewer wraps lines, and no number is cut."""


def whole_console(stderr: bool = False) -> Console:
    """Standard output (or error) for tables and lines of any width up to WIDTH."""
    from rich.console import Console

    return Console(stderr=stderr, width=max(WIDTH, Console(stderr=stderr).width), highlight=False)

"""How commands print tables and show progress."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 200
"""Columns that a table may have, whoever reads it: a terminal with fewer wraps lines, and no number is cut."""


def whole_console(stderr: bool = False) -> Console:
    """Standard output (or error) for tables and lines of any width up to WIDTH."""
    from rich.console import Console

    return Console(stderr=stderr, width=max(WIDTH, Console(stderr=stderr).width), highlight=False)


@contextlib.contextmanager
def bar(name: str, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """A progress bar on a terminal; yields what to call with how many rows were done since, None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        job = progress.add_task(name, total=total)
        yield lambda n: progress.advance(job, n)

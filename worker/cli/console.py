"""How commands print tables, show progress, and see beforehand that they can write."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from driftway.worker.errors import Failure, UsageFailure

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 200
"""Columns that a table may have, whoever reads it: a terminal with fewer wraps lines, and no number is cut."""


def wide_console(stderr: bool = False) -> Console:
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


def check_file(path: str, *, needs: str | None = None, extra: str = "") -> None:
    """Find out before a long run whether a result can be written.

    Parameters
    ----------
    path : str
        Where to.
    needs : str or None
        A package that writing takes.
    extra : str
        Of this project, that installs it.

    Raises
    ------
    UsageFailure
        The folder does not exist, or `path` is one.
    Failure
        The package is not installed.
    """
    place = Path(path)
    if not place.absolute().parent.is_dir():
        raise UsageFailure(f"cannot write {path}: there is no directory {place.parent}")
    if place.is_dir():
        raise UsageFailure(f"cannot write {path}: it is a directory")
    if needs and importlib.util.find_spec(needs) is None:
        raise Failure(f"writing {path} needs {needs}: pip install 'driftway[{extra}]'")

"""How commands print tables, show progress, and check in advance that they can write."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from driftway.worker.errors import Failure, require_place, shown

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 200
"""Least width of tables in columns, whatever the terminal has: a narrower one wraps lines, but no number is cut."""


def plain_console(stderr: bool = False, width: int | None = None) -> Console:
    """Return a console on standard output (or error) that is as wide as the terminal, or `width` columns.

    Text is printed as it is: rich would leave out `[name]`, and write `:name:` as a picture.
    """
    from rich.console import Console

    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def wide_console(stderr: bool = False) -> Console:
    """Return a plain console that is at least WIDTH columns wide."""
    return plain_console(stderr, max(WIDTH, plain_console(stderr).width))


@contextlib.contextmanager
def bar(name: str, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """Show a progress bar; yields a function to call with the number of further rows, or None if not on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress, TextColumn

    columns = TextColumn("{task.description}", markup=False), *Progress.get_default_columns()[1:]
    with Progress(*columns, console=plain_console(stderr=True), transient=True) as progress:
        job = progress.add_task(shown(name), total=total)
        yield lambda n: progress.advance(job, n)


def check_file(path: str, *, needs: str | None = None, extra: str = "") -> None:
    """Check before a long run whether a result can be written.

    Parameters
    ----------
    path : str
        File to write.
    needs : str or None
        A package that writing needs.
    extra : str
        This project's extra that installs it.

    Raises
    ------
    UsageFailure
        It cannot, see `require_place`.
    Failure
        The package is not installed.
    """
    require_place(path)
    if needs and importlib.util.find_spec(needs) is None:
        raise Failure(f"writing {path} needs {needs}: pip install 'driftway[{extra}]'")

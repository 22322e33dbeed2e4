"""How commands print tables, show progress, and check in advance that they can write."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from driftway.worker.errors import Failure, require_writable, shown

if TYPE_CHECKING:
    from rich.console import Console

NO_TEXTS = "The text is missing: Python was started with -OO or PYTHONOPTIMIZE=2, which removes it."
"""Stands where a docstring would be shown."""
COMPILING_SECONDS = 1.0
CLEAR_LINE = "\r\033[K"
"""Removes what a progress bar has drawn; it draws itself again."""
WIDTH = 200
"""Least width of tables in columns, whatever the terminal has: a narrower one wraps lines, but no number is cut."""


def plain_console(stderr: bool = False, width: int | None = None) -> Console:
    """Return a console on standard output (or error) that is as wide as the terminal, or `width` columns.

    Text is printed as it is: rich would leave out `[name]`, and write `:name:` as a picture.
    """
    from rich.console import Console

    console = Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)
    console.on_broken_pipe = _leave_to_the_command_line  # type: ignore[method-assign]
    return console


def _leave_to_the_command_line() -> None:
    """Nobody reads what is printed: the command line decides how it ends, which rich would do with exit code 1."""
    raise BrokenPipeError


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


class _CompilingNotice:
    """Says on standard error, once, that kernels are compiled, as soon as that has taken COMPILING_SECONDS."""

    def __init__(self) -> None:
        self._depth, self._seconds, self._began_at = 0, 0.0, 0.0
        self._timer: threading.Timer | None = None

    def on_compilation(self, begins: bool) -> None:
        """As `driftway.learners.engine.compilations.Listener`."""
        self._depth += 1 if begins else -1
        if begins and self._depth == 1 and self._seconds < COMPILING_SECONDS:
            self._began_at = time.monotonic()
            self._timer = threading.Timer(COMPILING_SECONDS - self._seconds, self._show)
            self._timer.daemon = True
            self._timer.start()
        elif self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._seconds += time.monotonic() - self._began_at

    def _show(self) -> None:
        from driftway.learners.engine.kernel_cache import KEEP_CODE

        again = "; later runs load them" if KEEP_CODE else ""
        with contextlib.suppress(OSError):
            click.echo(f"{CLEAR_LINE}driftway: compiling kernels{again}", err=True)


@contextlib.contextmanager
def compiling_shown() -> Iterator[None]:
    """Say on a terminal what a command waits for while it compiles."""
    if not sys.stderr.isatty():
        yield
        return
    from driftway.learners.engine.compilations import listening

    with listening(_CompilingNotice().on_compilation):
        yield


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
        It cannot, see `require_writable`.
    Failure
        The package is not installed.
    """
    require_writable(path)
    if needs and importlib.util.find_spec(needs) is None:
        raise Failure(f"writing {path} needs {needs}: pip install 'driftway[{extra}]'")

"""The progress of a training that has no known end, as one line on a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from driftway.worker.errors import plural, shown

if TYPE_CHECKING:
    from driftway.learners.online_to_batch.procedure import TrainingProgress


@contextlib.contextmanager
def progress_line(name: str) -> Iterator[Callable[[TrainingProgress], None]]:
    """Show a progress line on a terminal; yields a callable for each `TrainingProgress`."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress as Line
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Line(*columns, console=Console(stderr=True), transient=True) as line:
        task = line.add_task(shown(name), total=None)

        def show(now: TrainingProgress) -> None:
            error = "" if now.error is None else f", error {100.0 * now.error:.2f} %"
            passes, mistakes = plural(now.passes, "pass"), plural(now.mistakes, "mistake")
            text = f"{name}: {now.what}, {passes}, {now.remaining:,} left, {mistakes}{error}"
            line.update(task, description=shown(text))

        yield show

"""Options of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TableRequest:
    """How a table is to be measured and where it is written.

    Parameters
    ----------
    open_stream : callable
        ``open_stream(name, seed=.., data_dir=..)`` returns a stream; a module-level function, since it is pickled.
    out : Path
        Folder of the page and its picture; created if absent.
    seed : int
        Seed of the generators.
    data_dir : str or None
        Folder of the files.
    processes : int
        Number of parallel processes, >= 1.
    say : callable
        Called with a line of text at every step.
    """

    open_stream: Callable[..., Any]
    out: Path
    seed: int = 1
    data_dir: str | None = None
    processes: int = 2
    say: Callable[[str], None] = lambda _: None

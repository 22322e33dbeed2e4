"""How a table is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TableRequest:
    """How a table is to be made.

    Parameters
    ----------
    open_stream : callable
        ``open_stream(name, seed=.., data_dir=..)`` gives a stream; a module's function, as it travels to processes.
    out : Path
        Folder of the page and its picture; made if absent.
    seed : int
        Of the generators.
    data_dir : str or None
        Where files are looked up.
    processes : int
        How many learn at the same time, >= 1.
    say : callable
        Gets a line of text at every step.
    """

    open_stream: Callable[..., Any]
    out: Path
    seed: int = 1
    data_dir: str | None = None
    processes: int = 2
    say: Callable[[str], None] = lambda _: None

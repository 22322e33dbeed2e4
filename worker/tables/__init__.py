"""The tables of the papers, measured anew beside the printed figures: a file each, for `driftway evaluate --table`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

TABLES = {
    "d-odm": "worker.tables.d_odm",
    "dfop": "worker.tables.dfop",
    "dfop-regression": "worker.tables.dfop_regression",
    "moving-targets": "worker.tables.moving_targets",
    "online-to-batch": "worker.tables.online_to_batch",
    "sanity": "worker.tables.sanity",
}
"""Name -> module with a function `write`."""


@dataclass(frozen=True)
class Asked:
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
    told : callable
        Gets a line of text at every step.
    """

    open_stream: Callable[..., Any]
    out: Path
    seed: int = 1
    data_dir: str | None = None
    processes: int = 2
    told: Callable[[str], None] = lambda _: None


def write_table(name: str, asked: Asked) -> list[Path]:
    """Measure a table and write its page and picture; return their paths.

    Raises
    ------
    UsageFailure
        A stream without which the table is nothing is absent.
    Failure
        The folder cannot be written, or matplotlib is not installed.
    """
    from worker.errors import Failure

    try:
        asked.out.mkdir(parents=True, exist_ok=True)
        written: list[Path] = import_module(TABLES[name]).write(asked)
    except OSError as error:
        raise Failure(f"cannot write to {asked.out}: {error.strerror}") from None
    return written

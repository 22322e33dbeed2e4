"""Tables for `driftway evaluate --table`, a file or folder each: the papers', measured anew, and that of `auto`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from worker.lab.tables.asked import Asked

TABLES = {
    "auto": "worker.lab.tables.auto.page",
    "d-odm": "worker.lab.tables.contests.d_odm",
    "dfop": "worker.lab.tables.contests.dfop",
    "dfop-regression": "worker.lab.tables.contests.dfop_regression",
    "moving-targets": "worker.lab.tables.moving_targets",
    "online-to-batch": "worker.lab.tables.online_to_batch.page",
    "sanity": "worker.lab.tables.sanity",
}
"""Name -> module with a function `write`."""


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

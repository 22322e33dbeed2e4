"""Tables for `driftway evaluate --table`, a module or package each: those of papers, measured again, and `auto`'s."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from driftway.workbench.paper_tables.request import TableRequest

TABLES = {
    "auto": "driftway.workbench.paper_tables.auto.page",
    "d-odm": "driftway.workbench.paper_tables.experiments.d_odm",
    "dfop": "driftway.workbench.paper_tables.experiments.dfop",
    "dfop-regression": "driftway.workbench.paper_tables.experiments.dfop_regression",
    "moving-targets": "driftway.workbench.paper_tables.moving_targets",
    "online-to-batch": "driftway.workbench.paper_tables.online_to_batch.page",
    "sanity": "driftway.workbench.paper_tables.sanity",
}
"""Name -> module with a function `write`."""


def write_table(name: str, asked: TableRequest) -> list[Path]:
    """Measure a table and write its page and picture; return their paths.

    Raises
    ------
    UsageFailure
        A stream that the table requires is absent, or the folder of streams.
    Failure
        The folder cannot be written, or matplotlib is not installed.
    """
    from driftway.producers.streams.files import data_folder
    from driftway.worker.errors import Failure

    data_folder(asked.data_dir)  # otherwise a table would leave out the streams of a folder that does not exist
    try:
        asked.out.mkdir(parents=True, exist_ok=True)
        written: list[Path] = import_module(TABLES[name]).write(asked)
    except OSError as error:
        raise Failure(f"cannot write to {asked.out}: {error.strerror}") from None
    return written

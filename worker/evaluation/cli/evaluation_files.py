"""The files that `driftway evaluate` writes: checked before hours of learning, and written behind them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from driftway.worker.cli.file_options import require_other_file
from driftway.worker.errors import UsageFailure


def check_files(given: dict[str, Any], streams: tuple[str, ...]) -> None:
    """Fail on files that cannot be written before hours of learning."""
    from driftway.worker.cli.console import check_file

    in_folder: Iterable[Path] = () if given["data_dir"] is None else Path(given["data_dir"]).glob("*")
    read = [*streams, *(str(file) for file in in_folder if file.name.split(".")[0] in streams)]
    written: list[str] = []
    for name in ("csv", "parquet", "curves", "scores", "points"):
        if (path := given[name]) is not None:
            require_other_file(path, read)
            require_other_file(path, [given["warm_start"], given["plan"], given["client_properties"]], rows=False)
            real = os.path.realpath(path)
            if real in written and (os.path.isfile(real) or not os.path.exists(real)):
                raise UsageFailure(f"two options write {path}: name a file for each")
            written.append(real)
    if given["csv"]:
        check_file(given["csv"])
    if given["parquet"]:
        check_file(given["parquet"], needs="pyarrow", extra="files")
    if given["curves"]:
        from driftway.worker.plots.web_page import check_picture

        check_picture(given["curves"])


@contextlib.contextmanager
def writing(path: str | None) -> Iterator[IO[bytes] | None]:
    """Open a new file at `path`, if given."""
    if path is None:
        yield None
        return
    try:
        with _opened(path) as file:
            yield file
    except OSError as error:
        error.filename = error.filename or path  # the error of a full disk does not name the file
        raise


def _opened(path: str) -> IO[bytes]:
    try:
        return open(path, "wb")
    except OSError as error:
        raise UsageFailure(f"cannot write {path}: {error.strerror}") from None


def write_files(results: list[dict[str, Any]], given: dict[str, Any]) -> None:
    """Write the results to the files of --csv and --parquet, if they were given."""
    if given["csv"] or given["parquet"]:
        from driftway.worker.evaluation.detection import in_columns
        from driftway.worker.evaluation.results import write_csv, write_parquet

        results = [in_columns(result) for result in results]
        if given["csv"]:
            write_csv(results, given["csv"])
        if given["parquet"]:
            write_parquet(results, given["parquet"])

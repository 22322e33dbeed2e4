"""Fetches a catalogue entry to a checked file in the user's cache, ``<user cache>/driftway/streams-1``.

A stream is downloaded and converted in a staging folder next to its final path, under a lock, and then moved there in
one step, so that neither an interruption nor a concurrent fetch leaves a partial file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from driftway.producers.streams.catalogue.cache import cache_home, fetched_file
from driftway.producers.streams.catalogue.download import Progress, download
from driftway.producers.streams.catalogue.entry import Entry
from driftway.worker.errors import Failure, UsageFailure

STAGING = ".fetching-"


def fetch(entry: Entry, progress: Progress | None = None) -> Path:
    """Download, check, convert, check again and store a stream, unless it has been fetched before.

    Parameters
    ----------
    entry : Entry
        What to fetch.
    progress : callable or None
        Called with bytes received and total bytes (None if unknown) of the current file.

    Returns
    -------
    Path
        A gzipped CSV file with the label y last.

    Raises
    ------
    Failure
        There is no network, the file is not the one in the catalogue, or the cache cannot be written.
    UsageFailure
        pyarrow is not installed.
    """
    from driftway.producers.streams.arrow import require_pyarrow

    require_pyarrow(entry.name)
    home = cache_home()
    found = fetched_file(entry.name)
    if found is not None:
        return found
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _lock(home):
            found = fetched_file(entry.name)
            return _fill(entry, home, progress or (lambda _received, _total: None)) if found is None else found
    except OSError as error:
        raise Failure(
            f"cannot store streams in {home}: {error.strerror or error}; XDG_CACHE_HOME sets another folder"
        ) from None


def _fill(entry: Entry, home: Path, progress: Progress) -> Path:
    from driftway.producers.streams.catalogue.convert import check, convert
    from driftway.producers.streams.cells import MissingWords
    from driftway.producers.streams.file_options import FileOptions
    from driftway.producers.streams.table_stream import TableStream
    from driftway.producers.streams.tables.csv_table import CsvTable

    for abandoned in home.glob(f"{STAGING}*"):  # we hold the lock, so none is in use
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=STAGING, dir=home) as name:
        staging = Path(name)
        paths = [staging / f"source-{number}" for number in range(len(entry.sources))]
        for source, path in zip(entry.sources, paths, strict=True):
            download(source, path, progress)
        made = staging / f"{entry.name}.csv.gz"
        convert(entry, paths, made)
        try:
            words = MissingWords()
            check(entry, TableStream(CsvTable(made, FileOptions(), words), None, None, (), words))
        except UsageFailure as failure:
            raise Failure(f"{entry.address} is not the data set {entry.name}: {failure}") from None
        os.replace(made, home / made.name)
    return home / f"{entry.name}.csv.gz"


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock the folder; a second process waits. The folder itself is locked, so no lock file is left behind."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)

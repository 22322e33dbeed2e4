"""From an entry to a checked file in the user's cache, ``<user cache>/driftway/streams-1``.

A stream is downloaded and converted in a staging folder beside its place, under a lock, and moved there whole:
neither an interruption nor a second fetch at the same time leaves half a file.
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
    """Download, check, convert, check again and keep a stream; if it is there already, do nothing.

    Parameters
    ----------
    entry : Entry
        What to fetch.
    progress : callable or None
        Told bytes received and bytes in all (None if not known) of the file on its way.

    Returns
    -------
    Path
        A gzipped CSV file, label y last.

    Raises
    ------
    Failure
        One sentence: no network, not the file the catalogue knows, or the cache cannot be written.
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
        raise Failure(f"cannot keep streams in {home}: {error.strerror or error}; XDG_CACHE_HOME moves it") from None


def _fill(entry: Entry, home: Path, progress: Progress) -> Path:
    from driftway.producers.streams.catalogue.convert import check, convert
    from driftway.producers.streams.csv_file import CsvFile

    for abandoned in home.glob(f"{STAGING}*"):  # the lock is ours: nobody fills it
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=STAGING, dir=home) as name:
        staging = Path(name)
        paths = [staging / f"source-{number}" for number in range(len(entry.sources))]
        for source, path in zip(entry.sources, paths, strict=True):
            download(source, path, progress)
        made = staging / f"{entry.name}.csv.gz"
        convert(entry, paths, made)
        try:
            check(entry, CsvFile(made))
        except UsageFailure as failure:
            raise Failure(f"{entry.address} is not the data set {entry.name}: {failure}") from None
        os.replace(made, home / made.name)
    return home / f"{entry.name}.csv.gz"


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold the folder; a second process waits. The folder itself is locked, so that no lock file stays behind."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)

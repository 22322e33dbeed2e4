"""Files with one JSON text per line, as kcat prints a topic's values."""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from driftway.producers.streams.event_files.event_file import EventFile
from driftway.worker.errors import UsageFailure

CHUNK_BYTES = 1 << 20
"""Bytes of text per chunk, 1 MiB: bounds the reader's memory, along with the longest line."""


class JsonLines(EventFile):
    """A .jsonl, .ndjson or .json file, plain or gzipped; each line is an event, unchanged even if it is not JSON.

    Blank lines are skipped.

    Parameters
    ----------
    path : Path
        The file; gzipped if its name ends in ``.gz``.
    drop : sequence of str
        Must be empty: events are sent unchanged.

    Raises
    ------
    UsageFailure
        The file is empty or cannot be read, or `drop` is not empty.
    """

    def __init__(self, path: Path, drop: Sequence[str] = ()) -> None:
        if drop:
            raise UsageFailure(f"{path} contains events, which have no columns: remove --drop")
        self._path = path
        self.name = str(path)
        if next(self.chunks(), None) is None:
            raise UsageFailure(f"{path} is empty")

    def chunks(self) -> Iterator[list[bytes]]:
        try:
            with self._open() as file:
                if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                    file.seek(0)
                while lines := file.readlines(CHUNK_BYTES):
                    events = [line for line in (line.rstrip(b"\r\n") for line in lines) if line.strip()]
                    if events:
                        yield events
        except (OSError, EOFError) as error:
            raise UsageFailure(f"cannot read {self._path}: {getattr(error, 'strerror', None) or error}") from None

    def _open(self) -> gzip.GzipFile | io.BufferedReader:
        return gzip.open(self._path) if self._path.suffix == ".gz" else open(self._path, "rb")

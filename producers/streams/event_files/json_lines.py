"""Files of a JSON text per line, as kcat prints a topic's values."""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from driftway.producers.streams.event_files.event_file import EventFile
from driftway.worker.errors import UsageFailure

CHUNK_BYTES = 1 << 20
"""Text per chunk, 1 MiB: what bounds the reader's memory, beside the longest line."""


class JsonLines(EventFile):
    """A .jsonl or .ndjson file, plain or gzipped: a line is an event, as it stands, also where it is no JSON.

    Lines without anything are left out.

    Parameters
    ----------
    path : Path
        The file; ``.gz`` at the end means gzipped.
    drop : sequence of str
        Must be empty: events are sent as they stand.

    Raises
    ------
    UsageFailure
        It is empty or cannot be read, or columns are to be left out.
    """

    def __init__(self, path: Path, drop: Sequence[str] = ()) -> None:
        if drop:
            raise UsageFailure(f"{path} holds events as they are, not columns: leave --drop out")
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

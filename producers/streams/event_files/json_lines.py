"""Files with one JSON text per line, as kcat prints a topic's values."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from driftway.producers.streams.blanks import Utf8File
from driftway.producers.streams.compressed import UNREADABLE, cannot_read, head_of, open_binary
from driftway.producers.streams.encoding import UTF8, WINDOWS, encoding_of, in_words
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.worker.errors import UsageFailure
from driftway.worker.wire.events import PLAIN_FIELDS

CHUNK_BYTES = 1 << 20
"""Bytes of text per chunk, 1 MiB: bounds the reader's memory, along with the longest line."""
FEATURES, FEWEST_BYTES = PLAIN_FIELDS["features"], 1000
"""Bytes below which an object is an event, however it looks."""


class JsonLines(EventFile):
    """A .jsonl, .ndjson or .json file, plain or compressed; each line is an event, unchanged even if it is not JSON.

    Blank lines are skipped. Only text in UTF-16, as shells of Windows write it, is converted.

    Parameters
    ----------
    path : Path
        The file; compressed if its name ends in one of `compressed.PACKED`.
    drop : sequence of str
        Must be empty: events are sent unchanged.

    Raises
    ------
    UsageFailure
        The file is empty or cannot be read, or `drop` is not empty.
    """

    def __init__(self, path: Path, drop: Sequence[str]) -> None:
        if drop:
            raise UsageFailure(f"{path} contains events, which have no columns: remove --drop")
        self._path = path
        self.name = str(path)
        found = encoding_of(path, head_of(path))
        self._encoding = None if found in (UTF8, WINDOWS) else found
        self.notes = () if self._encoding is None else (f"its text is read as {in_words(found)}",)
        chunks = self.chunks()
        first = next(chunks, None)
        if first is None:
            raise UsageFailure(f"{path} is empty")
        what, how = _other_layout(first[0].strip(), is_only=len(first) == 1 and next(chunks, None) is None)
        if how:
            raise UsageFailure(f"{path} {what}; it must have an event per line, as {how} writes it")

    def chunks(self) -> Iterator[list[bytes]]:
        try:
            with self._open() as file:
                if file.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
                    file.read(len(codecs.BOM_UTF8))
                while lines := file.readlines(CHUNK_BYTES):
                    events = [line for line in (line.rstrip(b"\r\n") for line in lines) if line.strip()]
                    if events:
                        yield events
        except UNREADABLE as error:
            raise cannot_read(self._path, error) from None

    def _open(self) -> Any:
        return (
            open_binary(self._path)
            if self._encoding is None
            else io.BufferedReader(Utf8File(self._path, self._encoding))
        )


def _other_layout(line: bytes, is_only: bool) -> tuple[str, str]:
    """Say by its first line what a file has instead of an event per line, and what would write that; else empty."""
    if line == b"[" or line.startswith((b"[{", b"[ {")):
        return "is one JSON array", "jq -c '.[]'"
    if not line.startswith(b"{"):
        return "", ""
    if line.endswith(b"},"):
        return "has a comma behind each event", "sed 's/,$//'"
    if line == b"{" or line.endswith(b","):
        return "has JSON over several lines", "jq -c ."
    if b"}\r{" in line:
        return "ends its lines with CR only", "tr '\\r' '\\n'"
    return ("is one JSON object with all rows in it", _writer_of_rows(line)) if is_only else ("", "")


def _writer_of_rows(text: bytes) -> str:
    """What writes the rows of a table that is one object as an event per line; empty if the object is an event.

    It holds nothing but lists and objects, as data frames and the answers of services do.
    """
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(value, dict) or FEATURES in value or len(text) < FEWEST_BYTES:
        return ""
    if not all(isinstance(one, list | dict) for one in value.values()):
        return ""
    lists = (name for name, one in value.items() if isinstance(one, list) and one and isinstance(one[0], dict))
    name = next(lists, None)
    return "df.to_json(lines=True, orient='records')" if name is None else f"jq -c '.{name}[]'"

"""Files that may be compressed, told by the end of their names."""

from __future__ import annotations

import bz2
import gzip
import zlib
from pathlib import Path
from typing import IO, Any

from driftway.worker.errors import UsageFailure

HEAD_BYTES, MOST_HEAD_BYTES, HEAD_LINES = 1 << 18, 1 << 28, 8
"""A beginning is so long, or longer until it has so many lines."""
UNREADABLE = (OSError, EOFError, zlib.error, UnicodeError)
"""What reading a file raises that is missing, damaged or in another encoding."""
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2"}
"""End of the name -> compression, as pyarrow names it."""
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


def open_binary(path: Path) -> IO[bytes]:
    """Open a file, decompressed."""
    file: IO[bytes] = OPENERS.get(path.suffix, open)(path, "rb")
    return file


def open_text(path: Path, encoding: str, newline: str | None = None) -> IO[str]:
    """Open a file as text, decompressed; `newline` as for Python's `open`."""
    file: IO[str] = OPENERS.get(path.suffix, open)(path, "rt", encoding=encoding, newline=newline)
    return file


def head_of(path: Path) -> bytes:
    """The beginning of a file, decompressed: the whole of it if it is shorter than HEAD_BYTES.

    Raises
    ------
    UsageFailure
        The file cannot be read.
    """
    try:
        with open_binary(path) as file:
            head, size = file.read(HEAD_BYTES), HEAD_BYTES
            while len(head) == size < MOST_HEAD_BYTES and max(head.count(b"\n"), head.count(b"\r")) < HEAD_LINES:
                head, size = head + file.read(size), 2 * size
            return head
    except UNREADABLE as error:
        raise cannot_read(path, error) from None


def cannot_read(path: Path, error: BaseException) -> UsageFailure:
    """Say in a sentence why a file cannot be read; `error` is of UNREADABLE or from pyarrow."""
    why = getattr(error, "strerror", None) or (str(error).splitlines() or ["damaged"])[0]
    return UsageFailure(f"cannot read {path}: {why}")

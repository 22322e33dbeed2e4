"""Text with blanks beside its cells, which the parser would keep.

Each run of blanks and tabs outside quotes may count as one separator, so that columns may be aligned, as statistical
programs and the repositories of data sets write them. Blanks may also stand between a separator and a quote.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftway.producers.streams.compressed import open_text

BLANK = " "
RUN = re.compile(r"[ \t]+")
CHUNK_CHARACTERS = 1 << 20
NULL_CELL = "\\N"
"""What databases write for null."""


def with_single_blanks(lines: str, quote: str) -> str:
    """Whole lines with one blank between cells, and none at their ends; a cell in quotes stays as it is."""
    if quote not in lines:
        found = RUN.sub(BLANK, lines)
    else:
        cell = re.compile(rf"{quote}[^{quote}\n]*{quote}|[ \t]+")
        found = cell.sub(lambda part: BLANK if part[0][0] in " \t" else part[0], lines)
    return found.replace(" \n", "\n").replace("\n ", "\n").removeprefix(BLANK).removesuffix(BLANK)


def without_blanks_before_quotes(lines: str, separator: str, quote: str, escape: str) -> str:
    """Whole lines without the blanks between a separator, or the beginning of a line, and a quote."""
    inside = rf"[^{quote}{re.escape(escape)}]++|{re.escape(escape)}." if escape else rf"[^{quote}]++|{quote}{quote}"
    start = rf"(^|{re.escape(separator)})[ \t]*"
    # Cells in quotes are matched as a whole, since what looks like another one in them is text.
    return re.sub(rf"{start}({quote}(?:{inside})*+{quote})", r"\1\2", lines, flags=re.MULTILINE | re.DOTALL)


def without_null_cells(lines: str, separator: str) -> str:
    """Whole lines with empty cells in the place of ``\\N``, which is an N where backslashes keep the next character."""
    if NULL_CELL not in lines:
        return lines
    between = re.escape(separator)
    return re.sub(rf"(^|{between})\\N(?=$|\r|{between})", r"\1", lines, flags=re.MULTILINE)


class Utf8File(io.RawIOBase):
    """A text file, decompressed, as UTF-8.

    Parameters
    ----------
    path : Path
        The file; compressed if its name ends in one of `compressed.PACKED`.
    encoding : str
        Its encoding, as Python names it.
    newline : str or None
        As Python's `open` has it: the empty string keeps the ends of lines, None makes them newlines.
    """

    def __init__(self, path: Path, encoding: str, newline: str | None = "") -> None:
        super().__init__()
        self._file, self._ready = open_text(path, encoding, newline), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            text = self._text()
            if text is None:
                return 0
            self._ready = text.encode()
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n

    def close(self) -> None:
        self._file.close()
        super().close()

    def _text(self) -> str | None:
        """The next text, which may be empty; None at the end."""
        return self._file.read(CHUNK_CHARACTERS) or None


class ChangedFile(Utf8File):
    """A text file, decompressed, as UTF-8, with its lines changed.

    Parameters
    ----------
    path : Path
        The file; compressed if its name ends in one of `compressed.PACKED`.
    encoding : str
        Its encoding, as Python names it.
    change : callable
        Whole lines -> what they become.
    newline : str or None
        As for `Utf8File`.
    """

    def __init__(self, path: Path, encoding: str, change: Callable[[str], str], newline: str | None = None) -> None:
        super().__init__(path, encoding, newline)
        self._change, self._rest = change, ""

    def _text(self) -> str | None:
        text = self._file.read(CHUNK_CHARACTERS)
        lines, newline, self._rest = (self._rest + text).rpartition("\n") if text else (self._rest, "", "")
        return self._change(lines) + newline if text or lines else None

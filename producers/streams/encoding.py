"""The encoding of a text file: told by its first bytes, or by what they cannot be."""

from __future__ import annotations

import codecs
from pathlib import Path

from driftway.producers.streams.compressed import head_of
from driftway.worker.errors import UsageFailure

UTF8, UTF16, WINDOWS = "utf-8-sig", "utf-16", "cp1252"
"""UTF-8 with or without a byte order mark; UTF-16 with one; what spreadsheets write in western Europe."""


def encoding_of(path: Path) -> str:
    """The encoding of a file, plain or compressed, as Python names it.

    Raises
    ------
    UsageFailure
        The file cannot be read.
    """
    head = head_of(path)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UTF16
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return WINDOWS
    return UTF8


def known_encoding(name: str) -> str:
    """Return the name of an encoding.

    Raises
    ------
    UsageFailure
        Python does not know it.
    """
    try:
        codecs.lookup(name)
    except LookupError:
        raise UsageFailure(f"there is no encoding {name!r}; usual ones are utf-8, utf-16, cp1252 and latin-1") from None
    return name


def in_words(encoding: str) -> str:
    """The name of an encoding as people say it."""
    return {UTF8: "UTF-8", UTF16: "UTF-16", WINDOWS: "Windows-1252"}.get(encoding, encoding)

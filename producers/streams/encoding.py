"""The encoding of a text file, recognised by its first bytes."""

from __future__ import annotations

import codecs
from pathlib import Path

from driftway.worker.errors import UsageFailure

UTF16_LE, UTF16_BE, LOOKED_AT = "utf-16-le", "utf-16-be", 1000
"""UTF-16 without a byte order mark, and how many bytes tell it: every other byte of most texts is 0."""
UTF8, UTF16, UTF32, WINDOWS = "utf-8-sig", "utf-16", "utf-32", "cp1252"
"""UTF-8 with or without a byte order mark; UTF-16 and UTF-32 with one; what spreadsheets write in western Europe."""
NO_TEXTS = {
    b"\x1f\x8b": "a gzip file: rename it to end in .gz",
    b"BZh": "a bzip2 file: rename it to end in .bz2",
    b"\xfd7zXZ\0": "an xz file: rename it to end in .xz",
    b"\x28\xb5\x2f\xfd": "a zstd file: rename it to end in .zst",
    b"PK\x03\x04": "a ZIP archive or an Excel workbook: unpack it, or save it as CSV",
    b"PAR1": "a Parquet file: rename it to end in .parquet",
    b"ARROW1": "an Arrow file: rename it to end in .arrow",
    b"\xd0\xcf\x11\xe0": "an Excel workbook: save it as CSV",
    b"Obj\x01": "an Avro file: write its records as JSON lines, as python -m fastavro does",
    b"SQLite format 3\0": "a database of SQLite: write a table as CSV, as sqlite3 -csv -header does",
    b"\x89HDF": "an HDF5 file: save its table as CSV or Parquet",
    b"\x93NUMPY": "an array of NumPy: save it as CSV or Parquet",
}
"""First bytes of files that are not text -> what they are."""
NO_DATA = {
    b"<!doctype html": "a web page",
    b"<html": "a web page",
    b"version https://git-lfs.": "what Git LFS has in the place of a large file",
}
"""What a text begins with, in small letters, that came instead of a file -> what it is."""
TAR_AT, TAR = 257, b"ustar"


def encoding_of(path: Path, head: bytes) -> str:
    """The encoding of a file with that beginning, as Python names it.

    Raises
    ------
    UsageFailure
        It is not a text file, or not the one that was meant.
    """
    for prefix, what in NO_TEXTS.items():
        if head.startswith(prefix):
            raise UsageFailure(f"{path} is not a text file but {what}")
    if head.startswith(TAR, TAR_AT):
        raise UsageFailure(f"{path} is an archive of files: unpack it, and give one of them")
    beginning = head[:LOOKED_AT].lstrip().lower()
    for prefix, what in NO_DATA.items():
        if beginning.startswith(prefix):
            raise UsageFailure(f"{path} holds {what}: download the file itself")
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the first begins with a mark of UTF-16
        return UTF32
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return UTF16
    start = head[:LOOKED_AT]
    for first, encoding in ((1, UTF16_LE), (0, UTF16_BE)):
        if 2 * start[first::2].count(0) > len(start[first::2]) > 2 * start[1 - first :: 2].count(0):
            return encoding
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
        Python does not know it, or it does not encode text, as hex.
    """
    try:
        b"a".decode(name, "replace")
    except (LookupError, UnicodeError):
        raise UsageFailure(f"there is no encoding {name!r}; usual ones are utf-8, utf-16, cp1252 and latin-1") from None
    return name


def in_words(encoding: str) -> str:
    """The name of an encoding as people say it."""
    names = {UTF8: "UTF-8", UTF16: "UTF-16", UTF16_LE: "UTF-16", UTF16_BE: "UTF-16", UTF32: "UTF-32"}
    return {**names, WINDOWS: "Windows-1252"}.get(encoding, encoding)

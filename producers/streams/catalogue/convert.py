"""Converts a source's files to the catalogue's format: gzipped CSV with a header, the label last and named y.

Numbers keep their text; only class names and coded texts change. Runs line by line in plain Python, once per fetch.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from driftway.producers.streams.arff_text import read_attribute
from driftway.producers.streams.catalogue.entry import Entry
from driftway.producers.streams.stream import Stream
from driftway.worker.errors import Failure, plural

GZIP = b"\x1f\x8b"
ZIP = b"PK"


def convert(entry: Entry, paths: Sequence[Path], target: Path) -> None:
    """Write the rows of `paths`, one file per source of the entry, to `target`.

    Raises
    ------
    Failure
        A file is damaged or does not match the entry.
    """
    try:
        with contextlib.ExitStack() as stack:
            files = [
                stack.enter_context(_open_text(path, source.member))
                for path, source in zip(paths, entry.sources, strict=True)
            ]
            header = _read_header(entry, files[0])
            lines = zip(*(filter(None, map(str.strip, file)) for file in files), strict=True)
            _write(entry, header, (_split(entry, line) for line in lines if line[0][0] != "%"), target)
    except ValueError as error:  # from zip if lengths differ, or from text that is not UTF-8
        problem = "are not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "have different numbers of rows"
        raise Failure(f"the files of {entry.name} {problem}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile, LookupError) as error:
        raise Failure(f"{entry.name} is damaged: {error}") from None


@contextlib.contextmanager
def _open_text(path: Path, member: str | None) -> Iterator[TextIO]:
    with path.open("rb") as start:
        magic = start.read(2)
    with contextlib.ExitStack() as stack:
        packed: Any
        if magic == ZIP:
            archive = stack.enter_context(zipfile.ZipFile(path))
            packed = stack.enter_context(archive.open(member or archive.namelist()[0]))
        elif magic == GZIP:
            packed = stack.enter_context(gzip.open(path))
        else:
            packed = stack.enter_context(path.open("rb"))
        yield stack.enter_context(io.TextIOWrapper(packed, encoding="utf-8-sig"))


def _read_header(entry: Entry, file: TextIO) -> list[str]:
    """Column names of all files together; leaves the first file positioned at its first row."""
    if entry.format == "arff":
        names: list[str] = []
        for line in map(str.strip, file):
            if line.lower() == "@data":
                return names
            if line.lower().startswith("@attribute"):
                names.append(read_attribute(Path(entry.name), line).name)
        raise Failure(f"{entry.name} is not ARFF: it has no @data")
    if entry.header:
        return next(file, "").strip().split(entry.separator)
    return list(entry.names) or [*(f"x{i}" for i in range(entry.features)), "y"]


def _split(entry: Entry, line: Sequence[str]) -> list[str]:
    if entry.separator == " ":
        return [cell for part in line for cell in part.split()]
    # A separator at the end of a line starts no further cell (the public powersupply has one).
    return [cell.strip() for part in line for cell in part.rstrip(entry.separator).split(entry.separator)]


def _write(entry: Entry, header: list[str], rows: Iterator[list[str]], target: Path) -> None:
    label = entry.label or header[-1]
    absent = sorted({label, *entry.drop, *entry.codes} - set(header))
    if absent:
        raise Failure(f"{entry.name} has no column {absent[0]!r}; available: {', '.join(header[:8])}")
    at = header.index(label)
    keep = [i for i, name in enumerate(header) if i != at and name not in entry.drop]
    coded = {i: {word: str(code) for code, word in enumerate(entry.codes.get(header[i], ()))} for i in keep}
    coded = {i: codes for i, codes in coded.items() if codes}
    index = {text: str(i) for i, text in enumerate(entry.labels)}
    with gzip.open(target, "wt", compresslevel=6, encoding="utf-8", newline="\n") as out:
        out.write(",".join([*(header[i] for i in keep), "y"]) + "\n")
        for number, cells in enumerate(rows, 1):
            if len(cells) != len(header):
                raise Failure(f"{entry.name}: row {number:,} has {plural(len(cells), 'value')}, not {len(header)}")
            y = cells[at]
            if entry.unlabelled_rows and y == "NA":
                continue
            try:
                for i, codes in coded.items():
                    cells[i] = codes[cells[i]]
                y = index[y] if index else y
            except KeyError as error:
                raise Failure(f"{entry.name}: row {number:,} holds {error}, which is not a known value") from None
            out.write(",".join([cells[i] for i in keep]) + f",{y}\n")


def digest(stream: Stream) -> tuple[int, str]:
    """Number of rows, and the SHA-256 of all of them as little-endian float64: features, then label."""
    rows, sums = 0, hashlib.sha256()
    for block in stream.blocks():
        rows += len(block.y)
        sums.update(np.column_stack([block.X, block.y]).astype("<f8").tobytes())
    return rows, sums.hexdigest()


def check(entry: Entry, stream: Stream) -> None:
    """Compare a converted file with the catalogue.

    Raises
    ------
    Failure
        It has other rows, columns or values.
    """
    if stream.n_features != entry.features:
        raise Failure(f"{entry.name} has {stream.n_features} features, not the {entry.features} of the catalogue")
    rows, found = digest(stream)
    if rows != entry.rows:
        raise Failure(f"{entry.name} has {rows:,} rows, not the {entry.rows:,} of the catalogue")
    if entry.rows_sha256 is not None and found != entry.rows_sha256:
        raise Failure(f"{entry.name} does not have the values of the catalogue: rows sha256 {found[:12]}...")

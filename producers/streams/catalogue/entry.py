"""What the catalogue knows of a public stream, and how its files become rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from driftway.producers.streams.stream import Task

Verified = Literal["rows", "checksum", "address"]


@dataclass(frozen=True)
class DownloadSource:
    """One file as its server sends it.

    Attributes
    ----------
    address : str
        Where it lies; a path in a public git repository names the commit, so it cannot change.
    checksum : str or None
        ``sha256:HEX`` of the file, or ``git:HEX``, its blob id in that repository; None where nobody published one.
    size : int or None
        Bytes.
    member : str or None
        The file inside, if it is a zip archive.
    """

    address: str
    checksum: str | None = None
    size: int | None = None
    member: str | None = None


@dataclass(frozen=True)
class Entry:
    """A public stream: where it is, how to read it, and what must come out.

    Attributes
    ----------
    name, about : str
        What it is called, and one line on what it is.
    sources : tuple of DownloadSource
        One file, or several whose lines stand side by side (features, then labels).
    rows, features : int
        Shape after conversion.
    task : str
        ``classification`` or ``regression``.
    licence, citation : str
        As the source states them.
    verified : str
        How far this entry was tried against its source: ``rows`` (the very file was read and gave `rows_sha256`),
        ``checksum`` (address and checksum are published; the file was never seen), ``address`` (the archive's
        checksum is not known; `rows_sha256` is, from another copy).
    labels : tuple of str
        A class's text in the source, in the order of its index; empty for regression.
    label : str
        The source's label column; empty = the last one.
    format : str
        ``csv``, or ``arff`` (dense). Gzip and zip are told from the first bytes.
    separator : str
        Between the values of a line; a blank stands for any white space.
    names : tuple of str
        Column names, features and label, of a csv without a header; empty = x0, x1, ..., y.
    header : bool
        Whether a csv's first line names its columns.
    drop : tuple of str
        Columns that are left out.
    codes : mapping of str to tuple of str
        Column of words -> the words in the order of their codes.
    unlabelled_rows : bool
        Whether the source has rows whose label is NA; they are left out.
    rows_sha256 : str or None
        Digest of the rows after conversion: each as little-endian float64, features first, then the label.
    """

    name: str
    about: str
    sources: tuple[DownloadSource, ...]
    rows: int
    features: int
    task: Task
    licence: str
    citation: str
    verified: Verified
    labels: tuple[str, ...] = ()
    label: str = ""
    format: Literal["csv", "arff"] = "csv"
    separator: str = ","
    names: tuple[str, ...] = ()
    header: bool = False
    drop: tuple[str, ...] = ()
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unlabelled_rows: bool = False
    rows_sha256: str | None = None

    @property
    def classes(self) -> int | None:
        """Number of classes; None for regression."""
        return len(self.labels) or None

    @property
    def address(self) -> str:
        """Address of the first file."""
        return self.sources[0].address

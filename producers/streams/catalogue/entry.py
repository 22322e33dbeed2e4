"""What the catalogue knows about a public stream, and how its files become rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from driftway.producers.streams.stream import Task

Verified = Literal["rows", "checksum", "address"]


@dataclass(frozen=True)
class DownloadSource:
    """One file as sent by its server.

    Attributes
    ----------
    address : str
        Its URL; one in a public git repository includes the commit, so that the file cannot change.
    checksum : str or None
        ``sha256:HEX`` of the file, or ``git:HEX``, its blob id in that repository; None if none is published.
    size : int or None
        Size in bytes.
    member : str or None
        The file to read if it is a zip archive; None: the first one.
    """

    address: str
    checksum: str | None = None
    size: int | None = None
    member: str | None = None


@dataclass(frozen=True)
class Entry:
    """A public stream: where it is, how to read it, and what the result must be.

    Attributes
    ----------
    name, about : str
        Its name, and a one-line description.
    sources : tuple of DownloadSource
        One file, or several whose lines are joined side by side (features, then labels).
    rows, features : int
        Shape after conversion.
    task : str
        ``classification`` or ``regression``.
    licence, citation : str
        As the source states them.
    verified : str
        How far this entry was checked against its source: ``rows`` (the file was read and gave `rows_sha256`),
        ``checksum`` (address and checksum are published; the file was never read), ``address`` (the archive's
        checksum is unknown; `rows_sha256` comes from another copy).
    labels : tuple of str
        The classes' texts in the source, in index order; empty for regression.
    label : str
        The source's label column; empty = the last one.
    format : str
        ``csv``, or ``arff`` (dense). Gzip and zip are recognized by their first bytes.
    separator : str
        Between the values of a line; a space stands for any white space.
    names : tuple of str
        Column names, features and label, of a CSV file without a header; empty = x0, x1, ..., y.
    header : bool
        Whether a CSV file's first line names its columns.
    drop : tuple of str
        Columns to leave out.
    codes : mapping of str to tuple of str
        Text column -> its values in the order of their codes.
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

"""From a name to a file, and from a file to its reader."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from driftway.producers.streams.catalogue import CATALOGUE, Entry, fetched_file
from driftway.producers.streams.cells import MissingWords
from driftway.producers.streams.compressed import PACKED, head_of
from driftway.producers.streams.encoding import UTF8, WINDOWS, encoding_of
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.file_options import FileOptions
from driftway.producers.streams.stream import Stream
from driftway.producers.streams.tables.table import DEFAULT_LABEL, Table
from driftway.worker.errors import UsageFailure

TABLES = (".csv", ".tsv", ".arff", ".parquet", ".arrow", ".feather", ".svm", ".libsvm", ".svmlight")
EVENTS = (".jsonl", ".ndjson", ".json")
TEXT = (".data", ".dat", ".txt")
"""Text of any kind, as in files with other endings: its first line tells. In a data folder the ending must be given."""
COMPRESSED = {".parquet": (".gz",), ".arrow": (), ".feather": ()}
"""Format -> how its files may be compressed, if not in all ways."""
SUFFIXES = tuple(f"{base}{packed}" for base in (*TABLES, *EVENTS) for packed in (*COMPRESSED.get(base, PACKED), ""))
"""In the order in which they are tried for a bare name."""
TEXT_SUFFIXES = tuple(f"{base}{packed}" for base in TEXT for packed in (*PACKED, ""))
PAIRS = re.compile(rb"\S+(\s+(?:qid|\d+):\S+)+(\s*#.*)?")
"""A line of LIBSVM, by which such a text file is known."""
ENDINGS = (
    ".csv, .tsv, .data, .dat, .txt, .arff, .svm, .libsvm, .svmlight, .jsonl, .ndjson or .json, each also .gz, .bz2, "
    ".xz, .zst or .zip, .parquet, also .gz, .arrow or .feather"
)

DATA_VARIABLE = "DRIFTWAY_DATA"


def data_folder(data_dir: str | None) -> Path | None:
    """The user's data folder: `data_dir`, else the one in DRIFTWAY_DATA, else None.

    Raises
    ------
    UsageFailure
        It does not exist.
    """
    chosen = data_dir or os.environ.get(DATA_VARIABLE)
    if not chosen:
        return None
    if not Path(chosen).is_dir():
        raise UsageFailure(f"there is no folder {chosen}, which --data-dir or {DATA_VARIABLE} names")
    return Path(chosen)


def find_file(name: str, data_dir: str | None = None) -> Path | None:
    """The file that `name` refers to: a path, a data folder's file with or without suffix, or a fetched file.

    Files whose names do not tell their format come last.
    """
    if suffix_of(name) and Path(name).is_file():
        return Path(name)
    others = [Path(name)]
    if name and os.sep not in name:
        folder = data_folder(data_dir)
        candidates = [] if folder is None else [folder / f"{name}{suffix}" for suffix in ("", *SUFFIXES)]
        found = next((path for path in candidates if suffix_of(path.name) and path.is_file()), None)
        if found is None and name in CATALOGUE:
            found = fetched_file(name)
        if found is not None:
            return found
        others += candidates[:1]
    return next((path for path in others if path.is_file()), None)


def fetched_entry(path: Path) -> Entry | None:
    """The catalogue entry whose fetched file is `path`, if any."""
    name = without_suffix(path.name)
    return CATALOGUE[name] if name in CATALOGUE and path == fetched_file(name) else None


def folder_files(data_dir: str | None) -> dict[str, Path]:
    """The files of the data folder, by stream name.

    Raises
    ------
    UsageFailure
        A folder is given but cannot be read.
    """
    folder = data_folder(data_dir)
    if folder is None:
        return {}
    try:
        paths = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES) and path.is_file())
    except OSError as error:
        raise UsageFailure(f"cannot read the data folder {folder}: {error.strerror}") from None
    return {without_suffix(path.name): path for path in paths}


def suffix_of(name: str) -> str:
    """The ending of a file's name that says how to read it, in small letters, or an empty string."""
    lower = name.lower()
    return next((suffix for suffix in (*SUFFIXES, *TEXT_SUFFIXES) if lower.endswith(suffix)), "")


def without_suffix(name: str) -> str:
    """The name of a file without that ending."""
    return name[: len(name) - len(suffix_of(name))]


def format_of(path: Path) -> str:
    """The one of `TABLES` and `EVENTS` that a file holds, by its name or, if that does not tell, by its first line.

    Raises
    ------
    UsageFailure
        The name is not UTF-8, or the file cannot be read, or does not hold text although its name does not tell what.
    """
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:  # results name the stream, and pyarrow opens no such file
        raise UsageFailure(f"cannot read {path}: its name is not UTF-8, rename it") from None
    suffix = suffix_of(path.name)
    if suffix and suffix not in TEXT_SUFFIXES:
        return next(base for base in (*TABLES, *EVENTS) if suffix.startswith(base))
    head = head_of(path)
    if not suffix and b"\0" in head and encoding_of(path, head) in (UTF8, WINDOWS):
        raise UsageFailure(f"cannot tell the format of {path}: if it holds rows, its name must end in {ENDINGS}")
    lines = (line.strip().lower() for line in head.splitlines())
    first = next((line for line in lines if line and not line.startswith((b"#", b"%"))), b"")
    if first.startswith(b"{"):
        return ".jsonl"
    if first.startswith(b"@relation"):
        return ".arff"
    return ".svm" if PAIRS.fullmatch(first) else ".csv"


def open_fetched(
    entry: Entry, path: Path, label: str | None, labels: Sequence[str] | None, drop: Sequence[str], options: FileOptions
) -> Stream:
    """Open a fetched file; unlike for other files, its length, task and number of classes are known.

    Raises
    ------
    UsageFailure
        The reader refuses the file.
    """
    own = label in (None, "y")
    indices = tuple(map(str, range(entry.classes))) if entry.classes and own else None
    stream = open_file(path, label, indices if labels is None else labels, drop, options)
    stream.rows = entry.rows
    stream.task = entry.task if own else stream.task
    stream.source = f"{entry.citation}; {entry.address}; licence: {entry.licence}"
    return stream


def open_file(
    path: Path,
    label: str | None = None,
    labels: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    options: FileOptions = FileOptions(),  # noqa: B008 - frozen
) -> Stream:
    """Open a file by its suffix, to read its rows as numbers.

    Raises
    ------
    UsageFailure
        There is no such file, its suffix is unknown, or the reader refuses it.
    """
    if not path.is_file():
        raise UsageFailure(f"there is no file {path}")
    how_else = (
        f"{path} contains events: give the features to learn from with --feature; driftway schema infer {path} "
        "proposes them"
    )
    held = format_of(path)
    if held in EVENTS:
        from driftway.producers.streams.event_files.plain_events import PlainEvents

        return PlainEvents(open_raw(path, drop, options=options), labels, how_else)
    missing = MissingWords(options.missing_values, {label or DEFAULT_LABEL: labels or ()})
    table = _open_table(path, held, options, missing)
    table.times = options.times
    if table.is_plain_form():
        from driftway.producers.streams.event_files.plain_events import PlainEvents
        from driftway.producers.streams.event_files.table_rows import TableRows

        return PlainEvents(TableRows(table, DEFAULT_LABEL, labels, drop), labels, how_else)
    from driftway.producers.streams.table_stream import TableStream

    return TableStream(table, label, labels, drop, missing)


def open_raw(
    path: Path,
    drop: Sequence[str],
    label: str | None = None,
    labels: Sequence[str] | None = None,
    values: Mapping[str, Collection[str]] | None = None,
    only: Collection[str] | None = None,
    options: FileOptions = FileOptions(),  # noqa: B008 - frozen
    lenient: bool = False,
) -> EventFile:
    """Open a file by its suffix, to read its rows as JSON texts.

    Parameters
    ----------
    path : Path
        The file.
    drop : sequence of str
        Columns to leave out.
    label, labels : str or None, sequence of str or None
        The label's column, and class names in index order.
    values : mapping or None
        Column -> its categories, which are no words for missing values there.
    only : collection of str or None
        Columns besides which none need be read; None: all are.
    options : FileOptions
        What the user says about the file.
    lenient : bool
        Whether to leave out columns whose values JSON does not have, rather than to refuse them.

    Raises
    ------
    UsageFailure
        The suffix is unknown, or the reader refuses the file.
    """
    held = format_of(path)
    if held in EVENTS:
        from driftway.producers.streams.event_files.json_lines import JsonLines

        lines = JsonLines(path, drop)
        lines.notes += tuple(options.without_effect(held))
        return lines
    from driftway.producers.streams.event_files.table_rows import TableRows

    kept = {**(values or {}), **({} if label is None or labels is None else {label: labels})}
    table = _open_table(path, held, options, MissingWords(options.missing_values, kept))
    if lenient:
        table.keep_json()
    return TableRows(table, label, labels, drop, only)


def _open_table(path: Path, base: str, options: FileOptions, missing: MissingWords) -> Table:
    """Open a file with columns, of one of the formats `TABLES`, with a note if it does not use all options."""
    table = _table_of(path, base, options, missing)
    table.notes += options.without_effect(base)
    return table


def _table_of(path: Path, base: str, options: FileOptions, missing: MissingWords) -> Table:
    if base in (".csv", ".tsv"):
        from driftway.producers.streams.tables.csv_table import CsvTable

        return CsvTable(path, options, missing)
    if base == ".arff":
        from driftway.producers.streams.tables.arff_table import ArffTable

        return ArffTable(path, options)
    if base in (".parquet", ".arrow", ".feather"):
        from driftway.producers.streams.tables.arrow_table import ArrowTable

        return ArrowTable(path, missing)
    from driftway.producers.streams.tables.svmlight_table import SvmlightTable

    return SvmlightTable(path, options, missing)

"""From a name to a file, and from a file to its reader."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from driftway.producers.streams.catalogue import CATALOGUE, Entry, fetched_file
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.stream import Stream
from driftway.worker.errors import UsageFailure

LINES = (".jsonl.gz", ".jsonl", ".ndjson.gz", ".ndjson", ".json.gz", ".json")
SUFFIXES = (".csv.gz", ".csv", ".arff.gz", ".arff", ".parquet.gz", ".parquet", *LINES)
"""In the order in which they are tried for a bare name."""
ENDINGS = ".csv, .arff, .parquet, .jsonl, .ndjson or .json, each also .gz"

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
    """The file that `name` refers to: a path, a data folder's file with or without suffix, or a fetched file."""
    if suffix_of(name) and Path(name).is_file():
        return Path(name)
    if not name or os.sep in name:
        return None
    folder = data_folder(data_dir)
    candidates = [] if folder is None else [folder / f"{name}{suffix}" for suffix in ("", *SUFFIXES)]
    found = next((path for path in candidates if suffix_of(path.name) and path.is_file()), None)
    return fetched_file(name) if found is None and name in CATALOGUE else found


def fetched_entry(path: Path) -> Entry | None:
    """The catalogue entry whose fetched file is `path`, if any."""
    name = path.name.removesuffix(suffix_of(path.name))
    return CATALOGUE[name] if name in CATALOGUE and path == fetched_file(name) else None


def folder_files(data_dir: str | None = None) -> dict[str, Path]:
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
        paths = sorted(path for path in folder.iterdir() if suffix_of(path.name) and path.is_file())
    except OSError as error:
        raise UsageFailure(f"cannot read the data folder {folder}: {error.strerror}") from None
    return {path.name.removesuffix(suffix_of(path.name)): path for path in paths}


def suffix_of(name: str) -> str:
    """The one of `SUFFIXES` that the name ends in, or an empty string."""
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def open_fetched(
    entry: Entry, path: Path, label: str, labels: Sequence[str] | None, drop: Sequence[str] = ()
) -> Stream:
    """Open a fetched file; unlike for other files, its length, task and number of classes are known.

    Raises
    ------
    UsageFailure
        The reader refuses the file.
    """
    indices = tuple(map(str, range(entry.classes))) if entry.classes and label == "y" else None
    stream = open_file(path, label, indices if labels is None else labels, drop)
    stream.rows = entry.rows
    stream.task = entry.task if label == "y" else stream.task
    stream.source = f"{entry.citation}; {entry.address}; licence: {entry.licence}"
    return stream


def open_file(path: Path, label: str, labels: Sequence[str] | None, drop: Sequence[str] = ()) -> Stream:
    """Open a file by its suffix.

    Raises
    ------
    UsageFailure
        There is no such file, its suffix is unknown, or the reader refuses it.
    """
    if not path.is_file():
        raise UsageFailure(f"there is no file {path}")
    suffix = suffix_of(path.name).removesuffix(".gz")
    if suffix == ".csv":
        from driftway.producers.streams.csv_file import CsvFile

        return CsvFile(path, label, labels, drop)
    if suffix == ".parquet":
        from driftway.producers.streams.parquet_file import ParquetFile

        return ParquetFile(path, label, labels, drop)
    if suffix == ".arff":
        from driftway.producers.streams.arff_file import ArffFile

        return ArffFile(path, label, labels, drop)
    if suffix in LINES:
        raise UsageFailure(
            f"{path} contains events: give the features to learn from with --feature; driftway schema infer {path} "
            "proposes them"
        )
    raise UsageFailure(f"cannot tell the format of {path}: it must end in {ENDINGS}")


def open_raw(path: Path, drop: Sequence[str] = ()) -> EventFile:
    """Open a file by its suffix, to read its rows as JSON texts.

    Raises
    ------
    UsageFailure
        The suffix is unknown, or the reader refuses the file.
    """
    suffix = suffix_of(path.name).removesuffix(".gz")
    if suffix == ".csv":
        from driftway.producers.streams.event_files.csv_rows import CsvRows

        return CsvRows(path, drop)
    if suffix == ".parquet":
        from driftway.producers.streams.event_files.parquet_rows import ParquetRows

        return ParquetRows(path, drop)
    if suffix == ".arff":
        from driftway.producers.streams.event_files.arff_rows import ArffRows

        return ArffRows(path, drop)
    if suffix in LINES:
        from driftway.producers.streams.event_files.json_lines import JsonLines

        return JsonLines(path, drop)
    raise UsageFailure(f"cannot tell the format of {path}: it must end in {ENDINGS}")

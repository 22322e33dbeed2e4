"""Streams of labelled rows: generators, files of the catalogue and other files, all opened by name.

>>> stream = open_stream("sea:noise=0", seed=7)
>>> for X, y in stream.blocks():
...     learner.predict_then_update(X, y, score)

Importing this package imports neither numba nor pyarrow; opening a stream imports what that stream needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from driftway.learners.engine.suggestion import did_you_mean
from driftway.producers.streams.catalogue import CATALOGUE
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.file_options import FileOptions
from driftway.producers.streams.files import (
    ENDINGS,
    EVENTS,
    data_folder,
    fetched_entry,
    find_file,
    folder_files,
    format_of,
    open_fetched,
    open_file,
    open_raw,
    suffix_of,
)
from driftway.producers.streams.injection import inject_all
from driftway.producers.streams.labels import check_labels
from driftway.producers.streams.options import parse_spec, read_seed
from driftway.producers.streams.registry import GENERATORS, find_recipe
from driftway.producers.streams.stream import Block, FirstRows, Stream
from driftway.worker.errors import UsageFailure

__all__ = ["GENERATORS", "Block", "EventFile", "Stream", "holds_events", "open_events", "open_stream"]

MAX_LISTED = 1000
"""Most entries of a folder and its subfolders that are searched for a file to suggest: it may be a whole disk."""


def open_stream(
    name: str,
    *,
    seed: int = 1,
    rows: int | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
    data_dir: str | None = None,
    drop: Sequence[str] = (),
    inject: Sequence[str] = (),
    reading: Mapping[str, Any] | None = None,
    times: Mapping[str, float] | None = None,
    **options: Any,
) -> Stream:
    """Open a stream by name.

    Parameters
    ----------
    name : str
        ``GENERATOR`` or ``GENERATOR:option=value,...`` (one option is ``seed``), a path of a file, the name of
        a file in the data folder, or a fetched name of the catalogue; the first of these that exists. Files end
        as `files.ENDINGS` says; those of JSON lines must have the plain form, ``{"x": .., "y": ..}``. A generator
        takes precedence over a file of the data folder; add the file's suffix to open the file. The archive's
        generators are called ``archive:2CDT`` or ``archive:2CDT:option=value``; ``2CDT`` alone is the file.
    seed : int
        Seed of a generator, 0 <= seed < 2**64.
    rows : int or None
        A generator's length (its stages scale with it); for a file, the number of rows to read.
    label : str or None
        A file's label column; None: that of the file's format, else ``y``.
    labels : sequence of str or None
        Class names in index order; required if the label column is text.
    data_dir : str or None
        The data folder; default the environment variable DRIFTWAY_DATA.
    drop : sequence of str
        Columns of a file to leave out.
    inject : sequence of str
        Drift and data errors to inject, in order, as ``KIND:option=value,...``; see
        `driftway.producers.streams.injection`.
    reading : mapping or None
        How to read a file, see `FileOptions`.
    times : mapping or None
        Columns of a file that may hold times as text, see `FileOptions`.
    **options
        A generator's options, as numbers or text; they take precedence over those in `name`.

    Raises
    ------
    UsageFailure
        One sentence naming what does not exist or is not valid.
    """
    if rows is not None and rows < 1:
        raise UsageFailure(f"rows must be at least 1, got {rows}")
    data_folder(data_dir)  # reports a missing folder even if no file is looked up in it
    if inject:
        common: dict[str, Any] = {"label": label, "labels": labels, "data_dir": data_dir}
        of_files: dict[str, Any] = {"drop": drop, "reading": reading, "times": times}

        def second(to: str, its_seed: int) -> Stream:
            return open_stream(to, seed=its_seed, **common, **({} if _generator_in(to) else of_files))

        first = open_stream(name, seed=seed, rows=rows, **common, **of_files, **options)
        return inject_all(first, inject, seed, rows, second)
    names = None if labels is None else check_labels(labels)
    text = _without_spaces(name)
    base = _generator_in(name)
    if base is not None:
        if drop:
            raise UsageFailure(f"{base} is a generator; only files have columns that --drop leaves out")
        if reading:
            option = next(iter(reading)).replace("_", "-")
            raise UsageFailure(f"{base} is a generator; --{option} says how a file is read: leave it out")
        # The name itself may contain a colon, as in archive:2CDT; options follow the next one.
        given: dict[str, Any] = {**parse_spec(text[base.rfind(":") + 1 :])[1], **options}
        if rows is not None:
            given["rows"] = rows
        return _generator(base, seed, given, names)
    path = find_file(name, data_dir)
    if path is None:
        raise UsageFailure(_unknown(name, data_dir))
    if options:
        raise UsageFailure(f"{path} is a file; only generators take {', '.join(options)}")
    entry = fetched_entry(path)
    how = label, names, drop, FileOptions.parse({**(reading or {}), "times": times})
    stream = open_file(path, *how) if entry is None else open_fetched(entry, path, *how)
    stream.name = name
    return stream if rows is None else FirstRows(stream, rows)


def open_events(
    name: str,
    *,
    data_dir: str | None = None,
    drop: Sequence[str] = (),
    label: str | None = None,
    labels: Sequence[str] | None = None,
    values: Mapping[str, Collection[str]] | None = None,
    only: Collection[str] | None = None,
    reading: Mapping[str, Any] | None = None,
    lenient: bool = False,
) -> EventFile:
    """Open a file to read its rows unchanged, each as a JSON text, as `driftway replay --raw` sends them.

    Parameters
    ----------
    name : str
        A path of a file, the name of a file in the data folder, or a fetched name of the catalogue.
    data_dir : str or None
        The data folder; default the environment variable DRIFTWAY_DATA.
    drop : sequence of str
        Columns to leave out.
    label, labels : str or None, sequence of str or None
        The label's column, and class names in index order: labels are written as the classes that they name.
    values : mapping or None
        Column -> its categories, which are no words for missing values there.
    only : collection of str or None
        Columns besides which none need be read; None: all are.
    reading : mapping or None
        How to read the file, see `FileOptions`.
    lenient : bool
        Whether to leave out columns whose values JSON does not have, rather than to refuse them.

    Raises
    ------
    UsageFailure
        One sentence naming what does not exist or is not valid.
    """
    data_folder(data_dir)
    base = _generator_in(name)
    if base is not None:
        raise UsageFailure(f"{base} is a generator, whose rows are numbers: only files have rows with fields")
    path = find_file(name, data_dir)
    if path is None:
        raise UsageFailure(_unknown(name, data_dir))
    names = None if labels is None else check_labels(labels)
    file = open_raw(path, drop, label, names, values, only, FileOptions.parse(reading or {}), lenient)
    file.name = name
    return file


def means_file(name: str) -> bool:
    """Whether a name refers to a file of rows, existing or not, rather than to something else."""
    return Path(name).is_file() or os.sep in name or bool(suffix_of(name))


def holds_events(name: str, data_dir: str | None = None) -> bool:
    """Whether a name refers to a file of JSON lines, whose events can only be read unchanged."""
    if _generator_in(name) is not None:
        return False
    path = find_file(name, data_dir)
    return path is not None and format_of(path) in EVENTS


def _without_spaces(name: str) -> str:
    """The name of a generator as its options are parsed: no spaces around its colons."""
    return re.sub(r"\s*:\s*", ":", name.strip())


def _generator_in(name: str) -> str | None:
    """The generator that a name starts with, if any."""
    text = _without_spaces(name)
    return next((known for known in GENERATORS if text == known or text.startswith(f"{known}:")), None)


def _generator(name: str, seed: int, given: dict[str, Any], labels: tuple[str, ...] | None) -> Stream:
    from driftway.producers.streams.generator import Generator

    stream = Generator(find_recipe(name), read_seed(f"{name}: seed", given.pop("seed", seed)), given)
    if labels is not None:
        count = len(stream.labels or ())
        if count != len(labels):
            raise UsageFailure(f"{name} has {count or 'no'} classes, not the {len(labels)} labels {','.join(labels)}")
        stream.labels = labels
    return stream


def _unknown(name: str, data_dir: str | None) -> str:
    """Why `name` cannot be opened, with similar names."""
    if Path(name).is_dir():
        try:
            some = sorted(islice(Path(name).rglob("*"), MAX_LISTED))
            first = next((path for path in some if suffix_of(path.name) and path.is_file()), None)
        except OSError as error:
            return f"cannot read the folder {name}: {error.strerror}"
        return f"{name} is a folder: give one of its files" + (f", such as {first}" if first else "")
    if "://" in name:
        return f"{name} is an address: download it, and give the file"
    if name == "-" or Path(name).exists():
        called = "standard input" if name == "-" else name
        return f"{called} is a pipe or a device: a stream is read more than once, so write it to a file"
    if suffix_of(name) or os.sep in name:
        return f"there is no file {name}"
    if name in CATALOGUE:
        return (
            f"{name} is in the catalogue but not on this machine: driftway streams fetch {name} downloads it, or put "
            f"{name}.csv.gz into a folder and give that as --data-dir"
        )
    base, known = name.partition(":")[0], [*GENERATORS, *folder_files(data_dir)]
    otherwise = did_you_mean(base, CATALOGUE, f"generators are {', '.join(GENERATORS)}.", limit=3, write=str)
    hint = did_you_mean(base, known, otherwise, limit=3, write=str)
    return f"there is no stream {name!r}; {hint} A file's name ends in {ENDINGS}"

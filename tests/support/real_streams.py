"""The only way for tests to look up real streams; a test is skipped if its streams are absent.

They are in the folder that DRIFTWAY_DATA names, or where `driftway streams fetch` stores downloads. Most machines have
none of them.
"""

from __future__ import annotations

import gzip
import os
import shlex
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from driftway.producers.streams.catalogue import CATALOGUE
from driftway.producers.streams.files import DATA_VARIABLE, data_folder, find_file

ABSENT = "needs real streams that are not on this machine"
"""Reason of all skips: the same text, so that pytest counts them in one line."""

PROPERTY = "absent real stream"
"""User property of a test that is skipped, or does without: the name of an absent stream."""


class RealStreams:
    """Access to real streams for one test.

    Parameters
    ----------
    item : pytest.Item
        The test; it is skipped if a requested stream is absent.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        folder = data_folder(None)
        self._folder = None if folder is None else str(folder)

    def data_dir(self, *names: str) -> str | None:
        """Return the `data_dir` for `open_stream` to find all of `names`."""
        absent = [name for name in names if find_file(name, self._folder) is None]
        self._item.user_properties += [(PROPERTY, name) for name in absent]
        if absent:
            pytest.skip(ABSENT)
        return self._folder

    def present(self, streams: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Return those of (name, rows) that are here; the test is skipped if none is."""
        wanted = list(streams)
        there = [stream for stream in wanted if find_file(stream[0], self._folder) is not None]
        if not there:
            self.data_dir(*(name for name, _ in wanted))
        self._item.user_properties += [(PROPERTY, stream[0]) for stream in wanted if stream not in there]
        return there

    def file(self, name: str) -> Path:
        """Path of the file of a stream."""
        path = find_file(name, self.data_dir(name))
        assert path is not None
        return path

    def rows(self, name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
        """X and y of the first rows of a stream; tests share them and must not modify them."""
        return _rows(self.file(name), count)


def find_stream(name: str) -> Path | None:
    """Return the file of a stream if it is on this machine, for programs that can run without it."""
    return find_file(name)


@cache
def _rows(path: Path, count: int) -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, max_rows=count)
    return np.ascontiguousarray(table[:, :-1]), np.ascontiguousarray(table[:, -1])


def how_to_get(names: Iterable[str]) -> list[str]:
    """Lines that explain how to get absent streams."""
    absent = sorted(set(names))
    public = [name for name in absent if name in CATALOGUE]
    others = [name for name in absent if name not in CATALOGUE]
    command = os.path.relpath(Path(sys.executable).with_name("driftway"))
    lines = []
    if public:
        lines.append(f"to fetch the real streams that tests lack: {shlex.join([command, 'streams', 'fetch', *public])}")
    if others:
        lines.append(
            f"in no catalogue, so put NAME.csv.gz into the folder that {DATA_VARIABLE} names: {', '.join(others)}"
        )
    return lines

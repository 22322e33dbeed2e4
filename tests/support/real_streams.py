"""The real streams that some tests need, found or skipped: no test looks for them in any other way.

They are in the folder that DRIFTWAY_DATA names, or where `driftway streams fetch` keeps what it brings. Most machines
have none of them.
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
"""Why a test was skipped: one text for all of them, so that pytest counts them in one line."""

PROPERTY = "absent real stream"
"""Of a skipped test: the name of a stream that it needs."""


class RealStreams:
    """The real streams for one test.

    Parameters
    ----------
    item : pytest.Item
        The test: it is skipped if a stream that it asks for is not here.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        folder = data_folder(None)
        self._folder = None if folder is None else str(folder)

    def data_dir(self, *names: str) -> str | None:
        """What `open_stream` takes as `data_dir` to find all of `names`."""
        absent = [name for name in names if find_file(name, self._folder) is None]
        self._item.user_properties += [(PROPERTY, name) for name in absent]
        if absent:
            pytest.skip(ABSENT)
        return self._folder

    def file(self, name: str) -> Path:
        """The file of a stream."""
        path = find_file(name, self.data_dir(name))
        assert path is not None
        return path

    def rows(self, name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
        """X and y of the first rows of a stream, which tests share and must not write to."""
        return _rows(self.file(name), count)


@cache
def _rows(path: Path, count: int) -> tuple[np.ndarray, np.ndarray]:
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, max_rows=count)
    return np.ascontiguousarray(table[:, :-1]), np.ascontiguousarray(table[:, -1])


def how_to_get(names: Iterable[str]) -> list[str]:
    """Lines that say how to bring absent streams to this machine."""
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

"""LIBSVM and SVMlight files: a label, then pairs INDEX:VALUE of the features that are not 0."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftway.producers.streams.cells import MissingWords, not_plain
from driftway.producers.streams.compressed import UNREADABLE, cannot_read, head_of, open_text
from driftway.producers.streams.encoding import UTF8, encoding_of, in_words
from driftway.producers.streams.file_options import FileOptions
from driftway.producers.streams.labels import LabelReader
from driftway.producers.streams.stream import BLOCK_ROWS, Block
from driftway.producers.streams.tables.table import Table
from driftway.worker.errors import UsageFailure, plural
from driftway.worker.wire.json_tokens.text_values import as_written

LABEL, FEATURES = "y", "x"
BLOCK_CELLS = 1 << 20
"""Numbers per block, 8 MiB, so that wide rows come in blocks of few."""
MAX_CLASSES = 1000
MAX_INDEX = 10_000_000
PAIR = re.compile(r"\d+:\S*")
BLANKS_BEFORE_VALUE = re.compile(r":[ \t]+")
"""LIBSVM reads them, and one of its own data sets has them."""


class SvmlightTable(Table):
    """A file of LIBSVM or SVMlight, plain or compressed. Its length, width and labels follow from a first reading.

    Labels −1 and 1, 0 to K−1 or 1 to K are classes, others are numbers. Features are called by their index, from the
    smaller of 1 and the first one on. ``qid`` and what follows ``#`` are left out.

    Parameters
    ----------
    path : Path
        The file; compressed if its name ends in one of `compressed.PACKED`.
    options : FileOptions
        What the user says about it.
    missing : MissingWords
        Words for a missing label.

    Raises
    ------
    UsageFailure
        The file is missing or empty, a line does not have this form, or there are more features than the user says.

    Source
    ------
    C.-C. Chang, C.-J. Lin: LIBSVM, README; T. Joachims: SVMlight, Source files.
    """

    label = LABEL

    def __init__(self, path: Path, options: FileOptions, missing: MissingWords) -> None:
        self.path, self._unlabelled = path, missing.of(LABEL)
        self._encoding = options.encoding or encoding_of(path, head_of(path))
        low, high, self.rows, labels = math.inf, -1, 0, set[str]()
        for label, pairs in self._lines():
            self.rows += 1
            if len(labels) <= MAX_CLASSES and label not in self._unlabelled:
                labels.add(label)
            if pairs:
                low, high = min(low, pairs[0][0]), max(high, pairs[-1][0])
        if not self.rows:
            raise UsageFailure(f"{path} is empty")
        if high < 0:
            raise UsageFailure(f"{path} has no feature in any row")
        self._first = min(1, int(low))
        found = high - self._first + 1
        self._width = options.width or found
        if found > self._width:
            raise UsageFailure(f"{path} has {plural(found, 'feature')}, more than --width {self._width:,}")
        high = self._first + self._width - 1
        self.columns = (*(str(index) for index in range(self._first, high + 1)), LABEL)
        names = _classes(labels, self.rows)
        self.classes = {} if names is None else {LABEL: names}
        said = self._encoding == UTF8 or options.encoding
        self.notes = [] if said else [f"its text is read as {in_words(self._encoding)}"]
        self.notes += [] if self._first else ["its features are counted from 0"]
        if names is not None:
            self.notes.append(f"its classes are {', '.join(names[:12])}{', ..' if len(names) > 12 else ''}")

    def check_numbers(self, features: Sequence[str]) -> None:
        if LABEL in features:
            raise UsageFailure(
                f"{self.path}: the label of a LIBSVM file is the first word of each line: leave out --label"
            )

    def numbers(self, features: Sequence[str], label: str, reader: LabelReader) -> Iterator[Block]:
        kept = [int(name) - self._first for name in features]
        whole = len(kept) == self._width
        most = max(1, BLOCK_CELLS // self._width)
        x, y = np.zeros((most, self._width)), np.empty(most)
        count = 0
        for text, pairs in self._lines():
            for index, value in pairs:
                x[count, index - self._first] = value
            y[count] = reader.read(text)
            count += 1
            if count == most:
                yield Block(x if whole else np.ascontiguousarray(x[:, kept]), y)
                x, y, count = np.zeros((most, self._width)), np.empty(most), 0
        if count:
            yield Block(x[:count] if whole else np.ascontiguousarray(x[:count, kept]), y[:count])

    @property
    def fields(self) -> tuple[str, ...]:
        """The features that are not 0, as one object, and the label."""
        return FEATURES, LABEL

    def values(self, columns: Sequence[str]) -> Iterator[list[list[Any]]]:
        found: dict[str, list[Any]] = {FEATURES: [], LABEL: []}
        for label, pairs in self._lines():
            found[FEATURES].append({str(index): value for index, value in pairs})
            found[LABEL].append(None if label in self._unlabelled else as_written(label))
            if len(found[LABEL]) == BLOCK_ROWS:
                yield [found[name] for name in columns]
                found = {FEATURES: [], LABEL: []}
        if found[LABEL]:
            yield [found[name] for name in columns]

    def _lines(self) -> Iterator[tuple[str, list[tuple[int, float]]]]:
        """Label and pairs of each row, by index."""
        try:
            with open_text(self.path, self._encoding) as file:
                for number, line in enumerate(file, 1):
                    text = line.partition("#")[0]
                    if ": " in text or ":\t" in text:
                        text = BLANKS_BEFORE_VALUE.sub(":", text)
                    words = text.split()
                    if words and PAIR.fullmatch(words[0]):
                        raise UsageFailure(
                            f"{self.path}: line {number} begins with {words[0][:60]!r}, not with a label"
                        )
                    if words:
                        yield words[0], self._pairs(words[1:], number)
        except UNREADABLE as error:
            raise cannot_read(self.path, error) from None

    def _pairs(self, words: Sequence[str], number: int) -> list[tuple[int, float]]:
        pairs, last = [], -1
        for word in words:
            index, _, value = word.partition(":")
            if index == "qid":
                continue
            try:
                if not_plain(word):
                    raise ValueError
                pair = int(index), float(value)
            except ValueError:
                raise UsageFailure(
                    f"{self.path}: line {number} holds {word[:60]!r}, which is not INDEX:VALUE"
                ) from None
            if not last < pair[0] <= MAX_INDEX:
                why = "does not rise" if pair[0] <= last else f"is above {MAX_INDEX:,}"
                raise UsageFailure(f"{self.path}: line {number} has the index {pair[0]}, which {why}")
            pairs.append(pair)
            last = pair[0]
        return pairs


def _classes(labels: set[str], rows: int) -> tuple[str, ...] | None:
    """The names of the classes, in order; None if the labels are numbers, or texts that hardly ever occur twice."""
    try:
        numbers = sorted({float(label) for label in labels})
    except ValueError:
        return None if len(labels) > min(MAX_CLASSES, max(rows // 2, 2)) else tuple(sorted(labels))
    count = len(numbers)
    if count < 2 or count > MAX_CLASSES or any(not number.is_integer() for number in numbers):
        return None
    if numbers in ([-1.0, 1.0], [float(k) for k in range(count)], [float(k) for k in range(1, count + 1)]):
        return tuple(f"{number:.0f}" for number in numbers)
    return None

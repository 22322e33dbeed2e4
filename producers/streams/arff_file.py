"""Dense ARFF files, with a small parser of our own: the format is a header and comma-separated lines."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from driftway.producers.streams.columns import feature_columns, not_numbers
from driftway.producers.streams.labels import LabelReader
from driftway.producers.streams.stream import BLOCK_ROWS, Block, Stream
from driftway.worker.errors import UsageFailure

ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.*)""", re.IGNORECASE)
CELL = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*?)\s*(?:,|$)""")
NUMERIC = ("numeric", "real", "integer")
DEFAULT_LABEL = "y"


@dataclass(frozen=True)
class Attribute:
    """One column; `values` are those of a nominal attribute in declared order, empty for numbers and text."""

    name: str
    kind: str
    values: tuple[str, ...] = ()


class ArffFile(Stream):
    """An ARFF file, plain or gzipped; nominal values become their index in the declaration.

    Parameters
    ----------
    path : Path
        The file; gzipped if its name ends in ``.gz``.
    label : str
        The label's attribute. If it is the default ``y`` and absent, the last attribute is the label.
    labels : sequence of str or None
        Class names in index order, instead of the declared order.
    drop : sequence of str
        Attributes to leave out.

    Raises
    ------
    UsageFailure
        The file is missing, empty or sparse, lacks an attribute, or has a feature that is text or a date.

    Source
    ------
    Weka's ARFF format, dense data without instance weights.
    """

    def __init__(
        self, path: Path, label: str = DEFAULT_LABEL, labels: Sequence[str] | None = None, drop: Sequence[str] = ()
    ) -> None:
        self._path = path
        with ArffText(path) as file:
            self._attributes = read_header(path, file)
            if next(data_lines(file), None) is None:
                raise UsageFailure(f"{path} has a header but no rows")
        names = [attribute.name for attribute in self._attributes]
        if label not in names and label != DEFAULT_LABEL:
            raise UsageFailure(f"{path} has no label attribute {label!r}; available: {', '.join(names[:8])}")
        self._at = names.index(label) if label in names else len(names) - 1
        chosen = self._attributes[self._at]
        self.feature_names = feature_columns(path, names, chosen.name, drop)
        self._kept = [i for i, name in enumerate(names) if name in self.feature_names]
        for attribute in (self._attributes[i] for i in self._kept):
            if attribute.kind not in ("number", "nominal"):
                raise UsageFailure(
                    f"{path}: feature attribute {attribute.name!r} is {attribute.kind}; only numeric and "
                    f"nominal attributes can be features{not_numbers(path)}"
                )
        self.name = str(path)
        self.label_name = chosen.name
        declared = chosen.values or None
        self.labels = declared if labels is None else tuple(labels)
        self.task = None if self.labels is None else "classification"
        self.source = f"file {path.name}"

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        reader = LabelReader(f"{self._path}: label attribute {self.label_name!r}", self.labels)
        codes = [{value: float(i) for i, value in enumerate(a.values)} for a in self._attributes]
        rows: list[list[float]] = []
        with ArffText(self._path) as file:
            read_header(self._path, file)
            for line in data_lines(file):
                rows.append(self._read_row(line, codes, reader))
                if len(rows) == size:
                    yield self._block(rows)
                    rows = []
        if rows:
            yield self._block(rows)

    def _read_row(self, line: str, codes: list[dict[str, float]], reader: LabelReader) -> list[float]:
        cells = read_cells(self._path, line, len(codes))
        row = []
        for column in (*self._kept, self._at):
            cell = cells[column]
            try:
                if column == self._at:
                    row.append(reader.read(None if cell == "?" else cell))
                elif cell == "?":
                    row.append(np.nan)
                else:
                    row.append(codes[column][cell] if codes[column] else float(cell))
            except (KeyError, ValueError):
                attribute = self._attributes[column]
                expected = "one of its declared values" if attribute.values else "a number"
                where = f"{self._path}: feature attribute {attribute.name!r}"
                raise UsageFailure(f"{where} holds {cell!r}, which is not {expected}") from None
        return row

    def _block(self, rows: list[list[float]]) -> Block:
        table = np.array(rows)
        return Block(np.ascontiguousarray(table[:, :-1]), table[:, -1].copy())


class ArffText:
    """Context manager for the file as text; raises reading errors as UsageFailure."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> TextIO:
        try:
            self._file: TextIO = (
                gzip.open(self._path, "rt", encoding="utf-8-sig")
                if self._path.suffix == ".gz"
                else open(self._path, encoding="utf-8-sig")
            )
        except OSError as error:
            raise UsageFailure(f"cannot read {self._path}: {error.strerror or error}") from None
        return self._file

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._file.close()
        if isinstance(error, (OSError, EOFError, UnicodeDecodeError)):
            raise UsageFailure(f"cannot read {self._path}: {error}") from None


def read_header(path: Path, file: TextIO) -> tuple[Attribute, ...]:
    """Read the attributes, up to and including ``@data``."""
    attributes: list[Attribute] = []
    seen = False
    for line in map(str.strip, file):
        if not line or line[0] == "%":
            continue
        seen = True
        word = line.split(None, 1)[0].lower()
        if word == "@data":
            if not attributes:
                raise UsageFailure(f"{path} declares no attributes")
            return tuple(attributes)
        if word == "@attribute":
            attributes.append(_read_attribute(path, line))
        elif word != "@relation":
            raise UsageFailure(f"{path} is not ARFF: {line[:60]!r} comes before @data")
    raise UsageFailure(f"{path} has no @data" if seen else f"{path} is empty")


def _read_attribute(path: Path, line: str) -> Attribute:
    found = ATTRIBUTE.match(line)
    if found is None:
        # A nominal list may follow the name without a space.
        found = re.match(r"@attribute\s+([^\s{]+)\s*(\{.*)", line, re.IGNORECASE)
    if found is None:
        raise UsageFailure(f"{path}: cannot read the declaration {line[:60]!r}")
    name, kind = _unquote(found[1]), found[2].strip()
    if kind.startswith("{"):
        return Attribute(name, "nominal", tuple(_split(kind[1 : kind.rindex("}")] if "}" in kind else kind[1:])))
    word = kind.split(None, 1)[0].lower()
    return Attribute(name, "number" if word in NUMERIC else word)


def data_lines(file: TextIO) -> Iterator[str]:
    """The lines with rows, of a file positioned after its header."""
    return (line for line in map(str.strip, file) if line and line[0] != "%")


def read_cells(path: Path, line: str, count: int) -> list[str]:
    """The cells of a dense row of `count` values.

    Raises
    ------
    UsageFailure
        The row is sparse, or has another number of values.
    """
    if line[0] == "{":
        raise UsageFailure(f"{path} has sparse rows ({{index value, ...}}); only dense ones can be read")
    cells = _split(line)
    if len(cells) != count:
        raise UsageFailure(f"{path}: a row has {len(cells)} values, not {count}: {line[:60]}")
    return cells


def _split(line: str) -> list[str]:
    if "'" not in line and '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    cells, position = [], 0
    while position <= len(line):
        found = CELL.match(line, position)
        if found is None:
            return []
        cells.append(_unquote(found[1]))
        if not found[0].endswith(","):
            break
        position = found.end()
    return cells


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text

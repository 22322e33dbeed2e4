"""The text of ARFF files, read as Weka reads it: attributes, and rows as cells of text.

Words are separated by commas, or by blanks if a line has no comma. ``%`` outside quotes begins a comment, ``\\`` in
quotes keeps the next character, and an unquoted ``?`` is a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from driftway.producers.streams.columns import require_distinct
from driftway.producers.streams.compressed import UNREADABLE, cannot_read, head_of, open_text
from driftway.producers.streams.encoding import encoding_of
from driftway.worker.errors import UsageFailure, plural

NUMBER, NOMINAL, TEXT, DATE = "number", "nominal", "text", "date"
KINDS = {"numeric": NUMBER, "real": NUMBER, "integer": NUMBER, "string": TEXT, "date": DATE}
ISO_DATE = "yyyy-MM-dd'T'HH:mm:ss"
"""Format of a date attribute that names none."""

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
BEFORE_COMMENT = re.compile(rf"(?:{QUOTED}|[^%])*")
DECLARATION = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE)
CELL = re.compile(rf"\s*(?:({QUOTED})|([^,]*?))\s*(?:,|$)")
WORD = re.compile(rf"({QUOTED})|(\S+)")
WEIGHT = re.compile(r"[,\s]\s*\{\s*([^{},]*?)\s*\}$")
ESCAPED = re.compile(r"\\(.)")
BESIDE = "@relation", "@input", "@inputs", "@output", "@outputs"
"""Other words of the header; KEEL names the attributes that are features and those that are labels."""
LONGEST_INDEX = 10
"""Digits of an attribute's index from which on no file has as many attributes."""
PLAIN = re.compile(r"[^'\"%{}\t]*")
"""A line without quotes, comments, braces and tabs."""


class Attribute(NamedTuple):
    """One column."""

    name: str
    kind: str
    values: tuple[str, ...] = ()
    """The values of a nominal attribute, in declared order."""
    form: str = ""
    """The format of a date, in the letters of Java's SimpleDateFormat."""


class ArffText:
    """An ARFF file, plain or compressed, with its header read; a context manager.

    Parameters
    ----------
    path : Path
        The file; compressed if its name ends in one of `compressed.PACKED`.
    encoding : str
        As Python names it; empty: detected.

    Raises
    ------
    UsageFailure
        The file is missing or is not ARFF, or two attributes have the same name.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        self._path = path
        self.encoding = encoding or encoding_of(path, head_of(path))
        self.weighted = False
        """Whether a row so far had a weight, as in ``1,2,a,{0.5}``; it is not part of the cells."""

    def __enter__(self) -> ArffText:
        try:
            self._file = open_text(self._path, self.encoding)
        except OSError as error:
            raise cannot_read(self._path, error) from None
        try:
            self.attributes = self._read_header()
        except UNREADABLE as error:
            self._file.close()
            raise cannot_read(self._path, error) from None
        except UsageFailure:
            self._file.close()
            raise
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: TracebackType | None) -> None:
        self._file.close()
        if isinstance(error, UNREADABLE):
            raise cannot_read(self._path, error) from None

    def rows(self) -> Iterator[list[str | None]]:
        """The cells of each row; None is a missing value.

        Raises
        ------
        UsageFailure
            A row has another number of values, or a sparse row names no attribute.
        """
        count = len(self.attributes)
        for line in map(str.strip, self._file):
            if PLAIN.fullmatch(line) and "," in line:
                cells: list[str | None] = [None if (cell := part.strip()) == "?" else cell for part in line.split(",")]
            elif not line or line[0] == "%":
                continue
            else:
                cells = self._cells(line)
            if len(cells) == count + 1 and cells[-1] == "":  # a comma at the end of each row, as MOA writes it
                cells.pop()
            if len(cells) != count:
                raise UsageFailure(f"{self._path}: a row has {plural(len(cells), 'value')}, not {count}: {line[:60]}")
            yield cells

    def _cells(self, line: str) -> list[str | None]:
        text = _without_comment(line)
        if weight := WEIGHT.search(text):
            self.weighted, text = True, text[: weight.start()]
        return self._sparse(text) if text.startswith("{") else split(text)

    def _sparse(self, text: str) -> list[str | None]:
        """The cells of ``{index value, ...}``: what is not named is 0, or the first declared value."""
        cells = [_left_out(attribute) for attribute in self.attributes]
        inner = text[1:].removesuffix("}").strip()
        # Commas part the pairs; a blank parts each index from its value.
        seen = set[int]()
        for pair in _pairs(inner):
            index, value = pair
            if not (index.isdecimal() and len(index) < LONGEST_INDEX and int(index) < len(cells)):
                raise UsageFailure(f"{self._path}: a sparse row names attribute {index[:20]!r}, of {len(cells)}")
            at = int(index)
            if at in seen:
                raise UsageFailure(f"{self._path}: a sparse row names attribute {at} twice: {text[:60]}")
            seen.add(at)
            cells[at] = value
        return cells

    def _read_header(self) -> tuple[Attribute, ...]:
        """Read the attributes, up to and including ``@data``."""
        attributes: list[Attribute] = []
        seen = False
        for line in map(str.strip, self._file):
            if not line or line[0] == "%":
                continue
            seen = True
            word = line.split(None, 1)[0].lower()
            if word == "@data":
                self._check(attributes)
                return tuple(attributes)
            if word == "@attribute":
                attributes.append(read_attribute(self._path, _without_comment(line)))
            elif word not in BESIDE:
                raise UsageFailure(f"{self._path} is not ARFF: {line[:60]!r} comes before @data")
        raise UsageFailure(f"{self._path} has no @data" if seen else f"{self._path} is empty")

    def _check(self, attributes: list[Attribute]) -> None:
        if not attributes:
            raise UsageFailure(f"{self._path} declares no attributes")
        require_distinct(self._path, (attribute.name for attribute in attributes), "attributes")


def read_attribute(path: Path, line: str) -> Attribute:
    """Read a line ``@attribute NAME KIND``; `path` is for error messages.

    Raises
    ------
    UsageFailure
        It is not one.
    """
    found = DECLARATION.fullmatch(line)
    if found is None:
        raise UsageFailure(f"{path}: cannot read the declaration {line[:60]!r}")
    name, kind = _unquoted(found[1]), found[2].strip()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise UsageFailure(f"{path}: the values of attribute {name!r} do not end in }} on their line")
        values = ("?" if value is None else value for value in split(kind[1:-1].strip()))
        return Attribute(name, NOMINAL, tuple(dict.fromkeys(values)))  # a value may be declared twice
    word, _, rest = kind.partition(" ")
    if word.lower() not in KINDS:
        raise UsageFailure(f"{path}: attribute {name!r} is {word or 'nothing'}, which cannot be read")
    form = _unquoted(rest.strip()) if word.lower() == DATE else ""
    return Attribute(name, KINDS[word.lower()], (), form or (ISO_DATE if word.lower() == DATE else ""))


def split(text: str) -> list[str | None]:
    """The words of a line: between commas outside quotes, or between blanks if there is none; None for ``?``."""
    cells: list[str | None] = []
    position = 0
    while position <= len(text):
        found = CELL.match(text, position)
        if found is None:  # text behind a quoted word
            break
        cells.append(_value(found[1], found[2]))
        if not found[0].endswith(","):
            break
        position = found.end()
    if len(cells) == 1 or found is None:
        words = [_value(one[1], one[2]) for one in WORD.finditer(text)]
        return words if len(cells) == 1 else []
    return cells


def _pairs(text: str) -> Iterator[tuple[str, str | None]]:
    words = [_value(one[1], one[2]) for one in re.finditer(rf"({QUOTED})|([^\s,]+)", text)]
    for index, value in zip(words[::2], [*words[1::2], None], strict=False):
        yield index or "?", value


def _value(quoted: str | None, plain: str) -> str | None:
    if quoted is not None:
        return _unquoted(quoted)
    return None if plain == "?" else plain


def _left_out(attribute: Attribute) -> str | None:
    """The value of an attribute that a sparse row does not name."""
    if attribute.kind == NUMBER:
        return "0"
    return attribute.values[0] if attribute.values else None


def _without_comment(line: str) -> str:
    if "%" not in line:
        return line
    found = BEFORE_COMMENT.match(line)
    return found[0].rstrip() if found else ""


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return ESCAPED.sub(r"\1", text[1:-1])
    return text

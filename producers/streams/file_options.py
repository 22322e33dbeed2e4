"""How files are read if their own text does not say how, or says it wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from driftway.producers.streams.encoding import known_encoding
from driftway.worker.errors import UsageFailure

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blank": " "}
DECIMALS = {"point": ".", "comma": ","}
OPTIONS = "missing_values", "columns", "separator", "decimal", "encoding", "width"
USED = (
    {".csv": frozenset(OPTIONS) - {"width"}, ".arff": frozenset({"encoding"})}
    | dict.fromkeys((".svm", ".libsvm", ".svmlight"), frozenset({"missing_values", "encoding", "width"}))
    | dict.fromkeys((".parquet", ".arrow", ".feather"), frozenset({"missing_values"}))
    | dict.fromkeys((".jsonl", ".ndjson", ".json"), frozenset[str]())
)
"""Format -> the options that it uses; others are as CSV."""


@dataclass(frozen=True)
class FileOptions:
    """What the user says about a file.

    Parameters
    ----------
    missing_values : tuple of str or None
        Words for missing values, in place of the usual ones.
    columns : tuple of str
        Names of the columns of a CSV file without a header.
    separator : str
        Character between the cells of a CSV file; empty: detected.
    decimal : str
        Decimal mark of a CSV file, ``.`` or ``,``; empty: detected.
    encoding : str
        Of a text file, as Python names it; empty: detected.
    width : int or None
        Number of features of a LIBSVM file; None: detected.
    times : mapping
        Column that may hold times as text or as timestamps -> milliseconds in a unit of its numbers.
    """

    missing_values: tuple[str, ...] | None = None
    columns: tuple[str, ...] = ()
    separator: str = ""
    decimal: str = ""
    encoding: str = ""
    width: int | None = None
    times: Mapping[str, float] = field(default_factory=dict)

    def without_effect(self, form: str) -> list[str]:
        """Say which of the options that were given are not for files of a format, one of the endings of names."""
        used = USED.get(form, USED[".csv"])
        unused = [f"--{name.replace('_', '-')}" for name in OPTIONS if name not in used and getattr(self, name)]
        return [f"a file of this format does not use {', '.join(unused)}"] if unused else []

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> FileOptions:
        """Read the options of the command line by their names; those that are absent or None are not given.

        Raises
        ------
        UsageFailure
            A value is not valid.
        """
        missing, columns = given.get("missing_values"), given.get("columns")
        names = () if columns is None else tuple(name.strip() for name in columns.split(","))
        twice = sorted({name for name in names if names.count(name) > 1})
        if "" in names or twice:
            raise UsageFailure(f"--columns names every column once, got {twice[0] if twice else 'an empty name'!r}")
        separator = given.get("separator") or ""
        separator = SEPARATORS.get(separator, separator.replace("\\t", "\t"))
        if len(separator) > 1 or separator in ('"', "\n", "\r") or not separator.isascii():
            raise UsageFailure(
                f"--separator is one ASCII character or one of {', '.join(SEPARATORS)}, got {separator!r}"
            )
        decimal = given.get("decimal") or ""
        encoding = given.get("encoding") or ""
        return cls(
            None if missing is None else tuple(word.strip() for word in missing.split(",")),
            names,
            separator,
            DECIMALS.get(decimal, decimal),
            known_encoding(encoding) if encoding else "",
            given.get("width"),
            given.get("times") or {},
        )

"""Options that say how a file is read if the file itself does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from driftway.worker.cli.options import Command, with_options
from driftway.worker.errors import UsageFailure, shown

NAMES = ("missing_values", "columns", "separator", "decimal", "encoding", "width")


def file_options(command: Command) -> Command:
    """--missing-values, --columns, --separator, --decimal, --encoding, --width."""
    options = [
        click.option(
            "--missing-values",
            metavar="WORD,..",
            help="Words that mean a missing value in a text file, in addition to empty cells.  [?, NA, N/A, NaN, null, "
            "None, ..; in columns of numbers also -, ., unknown, ..; never a class or category of that name]",
        ),
        click.option("--columns", metavar="NAME,..", help="Names of the columns of a CSV file without a header."),
        click.option(
            "--separator",
            metavar="CHAR",
            help="Separator of the cells of a CSV file: a character, or comma, semicolon, tab, bar, or blank (any "
            "number of spaces).  [detected]",
        ),
        click.option(
            "--decimal", type=click.Choice(["point", "comma"]), help="Decimal mark of a CSV file.  [detected]"
        ),
        click.option("--encoding", metavar="NAME", help="Encoding of a text file, such as cp1252.  [detected]"),
        click.option(
            "--width",
            type=click.IntRange(1),
            metavar="N",
            help="Number of features of a LIBSVM file. Needed if no row has the last feature.  [the largest index]",
        ),
    ]
    return with_options(command, options)


def given_file_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of `file_options` that were given, as the keyword `reading` of the opener of streams; else empty."""
    found = {name: given[name] for name in NAMES if given.get(name) is not None}
    return {"reading": found} if found else {}


def print_notes(opened: Any) -> None:
    """Say what was guessed about a file or left out, on standard error."""
    for note in getattr(opened, "notes", ()):
        click.echo(shown(f"driftway: {opened.name}: {note}"), err=True)


def require_other_file(path: str | Path | None, read: Iterable[str | None], rows: bool = True) -> None:
    """Raise `UsageFailure` if a result would overwrite one of the files that are read, for their `rows` or else."""
    if path is not None and Path(path).is_file():
        for name in read:
            if name is not None and Path(name).is_file() and Path(name).samefile(path):
                why = "the rows are read from this file" if rows else "another option names this file"
                raise UsageFailure(f"cannot write {path}: {why}")

"""Read tables as printed in papers, kept as text: `name | 87.99±0.05 | 84.54±0.47• | ..`, one line per data set."""

from __future__ import annotations

import re
from typing import NamedTuple

BETTER, WORSE = "•", "◦"
"""Marks of a method than which the paper's own is significantly better, or worse."""

FIGURE = re.compile(r"(\d+(?:\.\d+)?)(?:±(\d+(?:\.\d+)?)|\((\.\d+)\))?([•◦]?)")


class PublishedFigure(NamedTuple):
    """A figure of a paper: mean, standard deviation (None: not printed), and mark (empty: none)."""

    mean: float
    deviation: float | None
    mark: str


def read_figure(text: str) -> PublishedFigure:
    """Parse `84.54±0.47•`, `0.306(.006)•` or `75.00`.

    Raises
    ------
    ValueError
        The text has another form.
    """
    found = FIGURE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a figure of a table")
    mean, deviation, bracketed, mark = found.groups()
    spread = deviation or bracketed
    return PublishedFigure(float(mean), None if spread is None else float(spread), mark)


def read_table(text: str, columns: tuple[str, ...]) -> dict[str, dict[str, PublishedFigure]]:
    """Parse a table: data set -> column -> figure; a cell with only a dash is left out.

    Raises
    ------
    ValueError
        A line has another number of cells, or occurs twice.
    """
    table: dict[str, dict[str, PublishedFigure]] = {}
    for line in text.strip().splitlines():
        name, *cells = (cell.strip() for cell in line.split("|"))
        if len(cells) != len(columns) or name in table:
            raise ValueError(f"{line!r} has {len(cells)} of {len(columns)} figures, or is there twice")
        pairs = zip(columns, cells, strict=True)
        table[name] = {column: read_figure(cell) for column, cell in pairs if cell != "-"}
    return table

"""Tables as papers print them, kept as text: `name | 87.99±0.05 | 84.54±0.47• | ..`, one line per data set."""

from __future__ import annotations

import re
from typing import NamedTuple

BETTER, WORSE = "•", "◦"
"""The paper's own method is significantly better, or worse, than the one so marked."""

FIGURE = re.compile(r"(\d+(?:\.\d+)?)(?:±(\d+(?:\.\d+)?)|\((\.\d+)\))?([•◦]?)")


class PublishedFigure(NamedTuple):
    """A figure of a paper: mean, standard deviation (None: not printed) and its mark, or the empty text."""

    mean: float
    deviation: float | None
    mark: str


def read_figure(text: str) -> PublishedFigure:
    """`84.54±0.47•`, `0.306(.006)•` or `75.00` as numbers.

    Raises
    ------
    ValueError
        It reads otherwise.
    """
    found = FIGURE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no figure of a table")
    mean, deviation, bracketed, mark = found.groups()
    spread = deviation or bracketed
    return PublishedFigure(float(mean), None if spread is None else float(spread), mark)


def read_table(text: str, columns: tuple[str, ...]) -> dict[str, dict[str, PublishedFigure]]:
    """Data set -> column -> figure; a cell with a dash alone is left out.

    Raises
    ------
    ValueError
        A line has another number of cells, or stands there twice.
    """
    table: dict[str, dict[str, PublishedFigure]] = {}
    for line in text.strip().splitlines():
        name, *cells = (cell.strip() for cell in line.split("|"))
        if len(cells) != len(columns) or name in table:
            raise ValueError(f"{line!r} has {len(cells)} of {len(columns)} figures, or stands there twice")
        pairs = zip(columns, cells, strict=True)
        table[name] = {column: read_figure(cell) for column, cell in pairs if cell != "-"}
    return table

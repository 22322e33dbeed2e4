"""Curves of an evaluation as PNG, SVG or HTML: like `driftway plot`, but from points kept in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftway.worker.plots.curves import Curves
from driftway.worker.plots.plotting import Picture, draw
from driftway.worker.plots.web_page import HTML, write_page

POINTS = 400
"""Approximate number of points per curve: more than a picture can show, and each takes only microseconds."""
FEW_ROWS = 500
"""Rows between two points if the stream's length is not known beforehand."""


@dataclass
class StreamCurves:
    """The curves of one stream.

    Parameters
    ----------
    name : str
        Name of the stream.
    points : list of dict
        Points of all learners, as `Outcome.points`.
    drift_points : tuple of int
        Rows at which a new concept starts.
    partitions : int
        Number of partitions; row i belongs to partition i mod partitions.
    """

    name: str
    points: list[dict[str, Any]]
    drift_points: tuple[int, ...] = ()
    partitions: int = 1


def points_every(rows: int | None) -> int:
    """Rows between two points of a curve over `rows` rows; None if their number is unknown."""
    return FEW_ROWS if rows is None else max(1, rows // POINTS)


def draw_curves(drawings: Sequence[StreamCurves], path: str, metric: str | None = None) -> list[str]:
    """Draw one metric over rows, a picture per stream.

    Parameters
    ----------
    drawings : sequence of StreamCurves
        One per stream.
    path : str
        File to write. HTML holds all pictures; PNG and SVG take one file per stream, with the stream's name in the
        file name if there are several.
    metric : str or None
        Metric to draw; None: the windowed one of the task, or that of holdout tests.

    Returns
    -------
    list of str
        The files written.

    Raises
    ------
    UsageFailure
        The points do not have that metric.
    Failure
        A file cannot be written, or there is nothing to draw.
    """
    out = Path(path)
    if out.suffix.lower() == HTML:
        write_page([_picture(drawing, metric) for drawing in drawings], path)
        return [path]
    paths = [path] if len(drawings) == 1 else _numbered(out, [drawing.name for drawing in drawings])
    for drawing, file in zip(drawings, paths, strict=True):
        draw(*_picture(drawing, metric), file)
    return paths


def _picture(drawing: StreamCurves, metric: str | None) -> tuple[Curves, Picture]:
    curves = Curves()
    for point in drawing.points:
        curves.add(point)
    if metric is None:
        metric = next((name for name in ("holdout_accuracy", "holdout_mse") if name in curves.metrics), None)
    name = os.path.basename(drawing.name)
    return curves, Picture(name, metric, drawing.drift_points, float(drawing.partitions))


def _numbered(path: Path, names: Sequence[str]) -> list[str]:
    """One file name per stream, containing the stream's name, and its number if names are not unique."""
    words = [re.sub(r"[^\w.=-]+", "_", os.path.basename(name)) for name in names]
    alike = len(set(words)) < len(words)
    return [
        str(path.with_name(f"{path.stem}-{f'{number}-' if alike else ''}{word}{path.suffix}"))
        for number, word in enumerate(words, 1)
    ]

"""Curves of an evaluation as PNG, SVG or HTML: what `driftway plot` draws of topics, drawn of points kept in memory."""

from __future__ import annotations

import base64
import html
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.errors import Failure, UsageFailure
from worker.watch.curves import Curves
from worker.watch.plotting import SUFFIXES, Picture, check_output, draw

HTML = ".html"
POINTS = 400
"""Of a curve, about: more than a picture has room for, and each takes microseconds."""
FEW_ROWS = 500
"""Between two points of a stream whose length is not known beforehand."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }}
img {{ width: 100%; height: auto; }}
</style>
</head>
<body>
{figures}
</body>
</html>
"""


@dataclass
class Drawing:
    """What is drawn of one stream.

    Parameters
    ----------
    name : str
        The stream's.
    points : list of dict
        Of all learners, as `Outcome.points`.
    drift_points : tuple of int
        Rows at which a new concept starts.
    partitions : int
        Row i belongs to partition i mod partitions.
    """

    name: str
    points: list[dict[str, Any]]
    drift_points: tuple[int, ...] = ()
    partitions: int = 1


def points_every(rows: int | None) -> int:
    """Rows between two points of a curve over `rows` rows; None: not known."""
    return FEW_ROWS if rows is None else max(1, rows // POINTS)


def check_curves(path: str) -> None:
    """Find out before a long run whether curves can be drawn.

    Raises
    ------
    UsageFailure
        An unknown suffix, or a directory that does not exist.
    Failure
        matplotlib is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (*SUFFIXES, HTML):
        raise UsageFailure(f"cannot draw {path}: its name must end in {', '.join(SUFFIXES)} or {HTML}")
    check_output(str(Path(path).with_suffix(SUFFIXES[0])))


def draw_curves(drawings: Sequence[Drawing], path: str, metric: str | None = None) -> list[str]:
    """Draw one metric over rows, a picture per stream.

    Parameters
    ----------
    drawings : sequence of Drawing
        One per stream.
    path : str
        HTML holds all pictures; of PNG and SVG there is one file per stream, with its name in the file's if there are
        several.
    metric : str or None
        Of the points; None: the windowed one of the task, or the test rows'.

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
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, f"{number}.svg") for number in range(len(drawings))]
            for drawing, file in zip(drawings, files, strict=True):
                _draw(drawing, file, metric)
            figures = [_figure(d.name, Path(f).read_bytes()) for d, f in zip(drawings, files, strict=True)]
        title = html.escape(f"Driftway: {', '.join(drawing.name for drawing in drawings)}")
        try:
            out.write_text(PAGE.format(title=title, figures="\n".join(figures)), encoding="utf-8")
        except OSError as error:
            raise Failure(f"cannot write {path}: {error.strerror}") from None
        return [path]
    paths = [path] if len(drawings) == 1 else _numbered(out, [drawing.name for drawing in drawings])
    for drawing, file in zip(drawings, paths, strict=True):
        _draw(drawing, file, metric)
    return paths


def _draw(drawing: Drawing, path: str, metric: str | None) -> None:
    curves = Curves()
    for point in drawing.points:
        curves.add(point)
    if metric is None:
        metric = next((name for name in ("holdout_accuracy", "holdout_mse") if name in curves.metrics), None)
    name = os.path.basename(drawing.name)
    draw(curves, Picture(name, metric, drawing.drift_points, float(drawing.partitions)), path)


def _numbered(path: Path, names: Sequence[str]) -> list[str]:
    """One file name per stream: the stream's is put in, and its number where two would be alike."""
    words = [re.sub(r"[^\w.=-]+", "_", os.path.basename(name)) for name in names]
    alike = len(set(words)) < len(words)
    return [
        str(path.with_name(f"{path.stem}-{f'{number}-' if alike else ''}{word}{path.suffix}"))
        for number, word in enumerate(words, 1)
    ]


def _figure(name: str, svg: bytes) -> str:
    picture = base64.b64encode(svg).decode()
    return f'<figure><img alt="{html.escape(name)}" src="data:image/svg+xml;base64,{picture}"></figure>'

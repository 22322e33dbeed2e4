"""Pictures of curves on one self-contained HTML page."""

from __future__ import annotations

import base64
import html
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from driftway.worker.errors import Failure
from driftway.worker.plots.curves import Curves
from driftway.worker.plots.plotting import SUFFIXES, Picture, check_output, draw

HTML = ".html"

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


def check_picture(path: str) -> None:
    """Check early that a picture can be written, as an image or as a page.

    Raises
    ------
    UsageFailure
        An unknown suffix, or a directory that does not exist.
    Failure
        matplotlib is not installed.
    """
    check_output(path, (*SUFFIXES, HTML))


def write_page(pictures: Sequence[tuple[Curves, Picture]], path: str) -> None:
    """Draw each picture as SVG inside one page.

    Raises
    ------
    UsageFailure
        The points do not have a picture's metric.
    Failure
        There are no points, the file cannot be written, or matplotlib is not installed.
    """
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "picture.svg")
        for curves, picture in pictures:
            draw(curves, picture, file)
            image = base64.b64encode(Path(file).read_bytes()).decode()
            name = html.escape(picture.name)
            figures.append(f'<figure><img alt="{name}" src="data:image/svg+xml;base64,{image}"></figure>')
    title = html.escape(f"Driftway: {', '.join(picture.name for _, picture in pictures)}")
    try:
        Path(path).write_text(PAGE.format(title=title, figures="\n".join(figures)), encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None

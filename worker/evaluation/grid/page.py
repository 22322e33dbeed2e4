"""Render grids as a page and as a picture: every point, the best, and how much each parameter matters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from driftway.worker.errors import Failure
from driftway.worker.evaluation.grid.search import GridResult
from driftway.worker.evaluation.results import NONE, markdown
from driftway.worker.plots.plotting import COLOURS, check_output, new_figure, save

MAX_ACROSS = 3
MAX_LINES = 12
"""Maximum number of lines in a panel; with more, only the best of each value is drawn."""


def write_grids(results: Sequence[GridResult], out: Path, command: str, processes: int, seconds: float) -> list[Path]:
    """Write `grid.md` and `grid.png` into a folder, which is created if absent.

    Raises
    ------
    Failure
        The folder cannot be written, or matplotlib is not installed.
    """
    page, picture = out / "grid.md", out / "grid.png"
    try:
        out.mkdir(parents=True, exist_ok=True)
        draw_grids(results, str(picture))
        page.write_text(grid_page(results, command, processes, seconds, picture.name), encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot write to {out}: {error.strerror}") from None
    return [page, picture]


def shown(value: float | None, metric: str, deviation: float | None = None) -> str:
    """Format a metric: accuracies in per cent, others unchanged."""
    if value is None:
        return NONE
    share = "accuracy" in metric
    text = f"{100 * value:.2f}" if share else f"{value:.4g}"
    spread = "" if not deviation else f"±{100 * deviation:.2f}" if share else f"±{deviation:.2g}"
    return text + spread


def grid_page(results: Sequence[GridResult], command: str, processes: int, seconds: float, picture: str) -> str:
    """The page as Markdown."""
    text = (
        f"# Parameters over a grid\n\nMade by `{command}` in {seconds:.0f} s on {processes} processes. **Bold**: the "
        f"best.\n\n![Grid]({picture})\n"
    )
    for result in results:
        names = [name for name, _ in result.grid.axes]
        best = result.best
        lines = []
        for i, (point, figure) in enumerate(zip(result.grid.points(), result.figures, strict=True)):
            value = shown(figure.mean, result.metric, figure.deviation)
            lines.append([*point, f"**{value}**" if i == best else value])
        unit = " in per cent" if "accuracy" in result.metric else ""
        text += f"\n## {result.grid.name} on {result.stream}\n\n`{result.grid.text}`, {result.metric}{unit}.\n\n"
        text += markdown([*names, result.metric], lines, text_columns=len(names))
        rows = [
            [n, v, shown(top, result.metric), shown(mean, result.metric)] for n, v, top, mean in result.sensitivity()
        ]
        text += "\nHow much each parameter matters: the best and the mean of all points with a value.\n\n"
        text += markdown(["parameter", "value", "best", "mean"], rows, text_columns=2)
    return text


def draw_grids(results: Sequence[GridResult], path: str) -> None:
    """Write the picture: a panel per stream and parameter, a line per combination of the other parameters.

    Raises
    ------
    Failure
        The picture cannot be written, or matplotlib is not installed.
    """
    check_output(path)
    widest = max(len(result.grid.axes) for result in results)
    # One row of panels per result; results with a single parameter share rows.
    across = widest if widest > 1 else min(MAX_ACROSS, len(results))
    panels = [(result, axis) if axis < len(result.grid.axes) else None for result in results for axis in range(widest)]
    down = -(-len(panels) // across)
    figure = new_figure(5.2 * across, 3.6 * down)
    for axes, panel in zip_longest(figure.subplots(down, across, squeeze=False).flat, panels):
        if panel is None:
            axes.set_axis_off()
        else:
            _panel(axes, *panel)
    save(figure, path, metadata={"Software": None})


def curves(result: GridResult, axis: int) -> dict[str, list[float | None]]:
    """Label -> metric at each value of axis number `axis`, one curve per point of the other axes."""
    name, values = result.grid.axes[axis]
    del name
    found: dict[str, list[float | None]] = {}
    names = [other for i, (other, _) in enumerate(result.grid.axes) if i != axis]
    for point, figure in zip(result.grid.points(), result.figures, strict=True):
        rest = [value for i, value in enumerate(point) if i != axis]
        label = ", ".join(f"{n}={v}" for n, v in zip(names, rest, strict=True))
        found.setdefault(label, [None] * len(values))[values.index(point[axis])] = figure.mean
    return found


def _panel(axes: Any, result: GridResult, axis: int) -> None:
    name, values = result.grid.axes[axis]
    numbers = [_positive(value) for value in values]
    positions: Sequence[Any] = range(len(values))
    if all(number is not None for number in numbers):
        positions = [float(number or 0.0) for number in numbers]
        if max(positions) > 20 * min(positions):
            axes.set_xscale("log")
    else:
        axes.set_xticks(positions, values)
    factor = 100.0 if "accuracy" in result.metric else 1.0
    lines = curves(result, axis)
    if len(lines) > MAX_LINES:
        best = [top for parameter, _, top, _ in result.sensitivity() if parameter == name]
        lines = {"best of the others": best}
    for number, (label, heights) in enumerate(lines.items()):
        known = sorted((x, factor * y) for x, y in zip(positions, heights, strict=True) if y is not None)
        axes.plot(*zip(*known, strict=True), marker="o", ms=4, label=label, color=COLOURS[number % len(COLOURS)])
    axes.set(title=f"{result.grid.name} on {result.stream}", xlabel=name)
    axes.set_ylabel(result.metric.replace("_", " ") + (", %" if factor != 1.0 else ""))
    axes.grid(alpha=0.3)
    if any(lines):
        axes.legend(fontsize=8, frameon=False)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)


def _positive(text: str) -> float | None:
    """Parse a number above 0; None for other text."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value > 0 else None

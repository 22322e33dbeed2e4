"""Draw the paper's figures: empirical error against running time, a panel per data set and base. Needs matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftway.workbench.paper_tables.online_to_batch.experiment import (
    BASES,
    DATA,
    LENGTHS,
    MARKS,
    Results,
    RunResult,
    runs,
)
from driftway.worker.plots.plotting import COLOURS, check_output, new_figure, save

BLUE, RED, GREEN, BLACK = COLOURS[0], COLOURS[1], COLOURS[2], "#333333"


def draw(results: Results, path: str) -> None:
    """Write the picture.

    Raises
    ------
    Failure
        The picture cannot be written, or matplotlib is not installed.
    """
    check_output(path)
    names = [data for data in DATA if any(runs(results, base, data, "iii") for base in BASES)]
    figure = new_figure(3.1 * len(names) + 1.0, 6.4)
    grid = figure.subplots(len(BASES), len(names), squeeze=False)
    for line, base in zip(grid, BASES, strict=True):
        for axes, data in zip(line, names, strict=True):
            _panel(axes, results, base, data)
            axes.set_title(f"{data}, {base}", fontsize=10)
        line[0].set_ylabel("empirical error, %")
    for axes in grid[-1]:
        axes.set_xlabel("seconds of processor time")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(names)), frameon=False, fontsize=9.5)
    save(figure, path, metadata={"Software": None})


def _panel(axes: Any, results: Results, base: str, data: str) -> None:
    """Draw one data set and base."""
    if found := runs(results, base, data, "ii"):
        marks = [phi for phi in MARKS if phi <= found[0].curve[-1][0] or phi == 1]
        at = [[point for one in found for point in one.curve if point[0] == phi] for phi in marks]
        seconds = [[point[3] for point in points] for points in at]
        errors = [[point[2] for point in points] for points in at]
        _line(axes, seconds, errors, BLUE, "o-", "Algorithm II, φ = 1 … 100")
    if found := runs(results, base, data, "iii"):
        _line(axes, *_points([found]), BLACK, "D", "Algorithm III")
    for name, colour, style, label in (
        ("random-stopping", GREEN, "s", "random stopping, 1n, 10n, 100n"),
        ("longest-survival", RED, "^-", "longest survival, 1n, 10n, 100n"),
    ):
        lengths = [found for length in LENGTHS if (found := runs(results, base, data, f"{name}:mult={length}"))]
        if lengths:
            _line(axes, *_points(lengths), colour, style, label)
    axes.set_xscale("log")
    axes.grid(color="#e3e3e3", linewidth=0.7)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _points(groups: list[list[RunResult]]) -> tuple[list[list[float]], list[list[float]]]:
    """Return the seconds and errors of each group of runs."""
    return [[one.seconds for one in group] for group in groups], [[one.error for one in group] for group in groups]


def _line(
    axes: Any, seconds: list[list[float]], errors: list[list[float]], colour: str, style: str, label: str
) -> None:
    """Draw the mean error with its deviation, at the mean time, for each group of runs."""
    x = [float(np.mean(group)) for group in seconds]
    y = [100.0 * float(np.mean(group)) for group in errors]
    spread = [100.0 * float(np.std(group)) for group in errors]
    axes.errorbar(x, y, spread, fmt=style, color=colour, markersize=4, linewidth=1.2, capsize=2, label=label)

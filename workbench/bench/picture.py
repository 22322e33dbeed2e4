"""Draw a bench: each figure of all sides as bars with their spread, case by case. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from driftway.workbench.bench.cases import CALLED, LIMIT, PASSTHROUGH, WORKER
from driftway.workbench.bench.report import SHOWN, BenchResult
from driftway.worker.plots.plotting import COLOURS, check_output, new_figure, save

PANELS = ("messages_per_second", "cpu_seconds", "peak_rss", "p50", "p99")
WIDTH = 0.76
"""Width of all bars of a case together."""
_COLOUR = {PASSTHROUGH: COLOURS[0], WORKER: COLOURS[1], LIMIT: COLOURS[2]}


def draw_bench(results: Sequence[BenchResult], path: str) -> None:
    """Write the picture.

    Raises
    ------
    UsageFailure
        `path` has an unknown suffix, or its directory does not exist.
    Failure
        The picture cannot be written, or matplotlib is not installed.
    """
    check_output(path)
    from matplotlib.patches import Patch

    panels = [panel for panel in PANELS if any(panel in result.measured() for result in results)]
    width = max(2.4 * len(panels), 0.55 * len(panels) * len(results) + 2)
    figure = new_figure(width, 4.6)
    labels = varying(results)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _draw_panel(axes, results, panel, labels)
    title = results[0].case.named() if len(results) == 1 else "the worker beside the bare client"
    figure.suptitle(title, fontsize=11, fontweight="bold")
    sides = results[0].effort.sides
    handles = [Patch(color=_COLOUR[side]) for side in sides]
    figure.legend(handles, [CALLED[side] for side in sides], loc="outside lower center", ncols=3, frameon=False)
    save(figure, path)


def varying(results: Sequence[BenchResult]) -> list[str]:
    """Return a short text per case with the settings that vary in a sweep; empty for a single case."""
    objects = [vars(result.case) for result in results]
    fields = [name for name in objects[0] if len({str(found[name]) for found in objects}) > 1]
    if len(fields) == 1:
        return [str(found[fields[0]]) for found in objects]
    return ["\n".join(f"{name}={found[name]}" for name in fields) for found in objects]


def _draw_panel(axes: Any, results: Sequence[BenchResult], panel: str, labels: Sequence[str]) -> None:
    heading, factor, form = SHOWN[panel]
    sides = [side for side in results[0].effort.sides if results[0].values(side, panel)]
    width = WIDTH / max(1, len(sides))
    for number, side in enumerate(sides):
        values = [[factor * v for v in result.values(side, panel)] or [0.0] for result in results]
        middles = [median(found) for found in values]
        below = [m - min(found) for m, found in zip(middles, values, strict=True)]
        above = [max(found) - m for m, found in zip(middles, values, strict=True)]
        places = [i + (number - 0.5 * (len(sides) - 1)) * width for i in range(len(results))]
        bars = axes.bar(places, middles, width, color=_COLOUR[side], yerr=[below, above], ecolor="#444444", capsize=3)
        if len(results) == 1:
            axes.bar_label(bars, [format(m, form) for m in middles], fontsize=8, padding=3)
    ratios = [median(found) if (found := result.ratios(panel)) else None for result in results]
    texts = [
        "\n".join(part for part in (label, "" if ratio is None else f"× {ratio:.2f}") if part)
        for label, ratio in zip(labels, ratios, strict=True)
    ]
    axes.set_xticks(range(len(results)), texts, fontsize=8.5)
    axes.set_title(heading, fontsize=10)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.tick_params(axis="y", labelsize=8)
    axes.margins(y=0.15)
    axes.set_ylim(bottom=0)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)

"""How rows of a board look: a table on a terminal, lines elsewhere."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

from rich.console import Console
from rich.table import Table

from driftway.worker.admin.watch.dashboard import DashboardRow, grouped, scale, sparkline
from driftway.worker.wire.rejections import format_counts

SPARKLINE_WIDTH = 24
LEAST_NAME = 8
WIDE_COLUMNS = 115
"""Terminals from here on have room for the sparkline and for wider gaps."""
HEADINGS = {
    "window_accuracy": "window",
    "no_change_accuracy": "no-\nchange",
    "majority_accuracy": "majority",
    "accuracy": "accuracy",
    "kappa_temporal": "kappa-\ntemporal",
    "window_mse": "window\nmse",
    "window_mae": "window\nmae",
    "window_r2": "window\nr2",
    "mse": "mse",
    "mae": "mae",
    "r2": "r2",
}
"""Metric of an accuracy point -> heading; in the order of the columns."""


def table(rows: list[DashboardRow], width: int, title: str | None = None, note: str | None = None) -> Table:
    """A table of one line per row, for a terminal of that many columns; `note` is told below.

    No number is cut: where there is no room the last metrics are left out, and at last a learner's name is folded.
    """
    metrics = [metric for metric in HEADINGS if any(metric in row.point for row in rows)]
    measuring = Console(width=10_000, file=io.StringIO())
    while len(metrics) > 1 and measuring.measure(_table(rows, metrics, width)).maximum > width:
        metrics.pop()
    made = _table(rows, metrics, width)
    made.title, made.caption = title, "\n".join(text for text in (rejected(rows), note) if text) or None
    return made


def _table(rows: list[DashboardRow], shown: list[str], width: int) -> Table:
    wide = width >= WIDE_COLUMNS
    made = Table(
        box=None, header_style="bold", title_justify="left", caption_justify="left", padding=(0, 1 + wide, 0, 0)
    )
    made.add_column("part.", justify="right", no_wrap=True)
    made.add_column("learner", overflow="fold", min_width=LEAST_NAME)
    drifting = ("drift, rows\nago (all)",) if any(row.last_drift for row in rows) else ()
    for heading in ("rows", "rows/s", "lag", *drifting, *(HEADINGS[metric] for metric in shown)):
        made.add_column(heading, justify="right", no_wrap=True)
    drawn = [grouped(row.history, SPARKLINE_WIDTH) for row in rows]
    bounds = scale(drawn)
    trend = wide and any(len(row.history) > 1 for row in rows)
    if trend:
        ends = " to ".join(cell(shown[0], bound) for bound in bounds) if shown else ""
        made.add_column(f"window, lately\n{ends}", no_wrap=True)
    before = None
    for row, means in zip(rows, drawn, strict=True):
        first = row.partition != before
        before = row.partition
        made.add_row(
            str(row.partition) if first else "",
            row.learner or "-",
            *(place_cells(row) if first else ("", "", "")),
            *([drift_cell(row) if first else ""] * len(drifting)),
            *(cell(metric, row.point.get(metric)) for metric in shown),
            *([sparkline(means, bounds)] * trend),
        )
    if not rows:
        made.add_row("", "no accuracy points yet")
    return made


def rejected(rows: list[DashboardRow]) -> str:
    """Rejections by kind, of all partitions; empty if there are none."""
    kinds = sum((Counter(row.rejected) for row in {row.partition: row for row in rows}.values()), Counter[str]())
    return f"rejected lately: {format_counts(kinds)} (driftway rejected shows them)" if kinds else ""


def silence(seconds: float | None) -> str | None:
    """What to say of a broker that has not answered for so long."""
    return None if seconds is None else f"the broker has not answered for {seconds:.0f} s; asking again"


def lines(rows: list[DashboardRow], note: str | None = None) -> list[str]:
    """One plain line per row, what was rejected, and a note."""
    if not rows:
        return [text for text in ("no accuracy points yet", note) if text]
    texts = [text for text in (rejected(rows), note) if text]
    for row in rows:
        done, rate, lag = place_cells(row)
        metrics = [f"{name(m)} {cell(m, row.point[m])}" for m in HEADINGS if m in row.point]
        drift = [f"drift {drift_cell(row)}"] if row.last_drift else []
        texts.append(
            f"partition {row.partition}  {row.learner or '-'}  rows {done}  rows/s {rate}  lag {lag}  "
            + "  ".join(drift + metrics)
        )
    return texts


def place_cells(row: DashboardRow) -> tuple[str, str, str]:
    """Rows, rows a second and lag as text."""
    rate = "-" if row.rows_per_second is None else f"{row.rows_per_second:,.0f}"
    return f"{row.rows:,}", rate, "-" if row.lag is None else f"{row.lag:,}"


def drift_cell(row: DashboardRow) -> str:
    """A partition's last drift alarm: the detector's name, how many rows ago, and how many alarms there were."""
    if row.last_drift is None:
        return ""
    detector, _, _ = row.last_drift[0].partition(":")
    return f"{detector} {row.rows_since_drift:,} ({sum(row.drifts.values()):,})"


def name(metric: str) -> str:
    """A metric's heading on one line."""
    return HEADINGS[metric].replace("-\n", "-").replace("\n", " ")


def cell(metric: str, value: Any) -> str:
    """A metric's value as text; accuracies as percentages."""
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if metric.endswith("accuracy") else f"{value:.3g}"

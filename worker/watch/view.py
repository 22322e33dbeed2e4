"""How rows of a board look: a table on a terminal, lines elsewhere."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from worker.watch.board import Row, sparkline

SPARKLINE_WIDTH = 24
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


def table(rows: list[Row], width: int, title: str | None = None) -> Table:
    """A table of one line per row, for a terminal of that many columns."""
    shown = [metric for metric in HEADINGS if any(metric in row.point for row in rows)]
    made = Table(
        box=None, header_style="bold", title=title, title_justify="left", padding=(0, 1 + (width >= WIDE_COLUMNS), 0, 0)
    )
    made.add_column("part.", justify="right", no_wrap=True)
    made.add_column("learner", no_wrap=True)
    for heading in ("rows", "rows/s", "lag", *(HEADINGS[metric] for metric in shown)):
        made.add_column(heading, justify="right", no_wrap=True)
    trend = width >= WIDE_COLUMNS and any(len(row.history) > 1 for row in rows)
    if trend:
        made.add_column("window, lately", no_wrap=True)
    before = None
    for row in rows:
        first = row.partition != before
        before = row.partition
        made.add_row(
            str(row.partition) if first else "",
            row.learner or "-",
            *(place_cells(row) if first else ("", "", "")),
            *(cell(metric, row.point.get(metric)) for metric in shown),
            *([sparkline(row.history, SPARKLINE_WIDTH)] * trend),
        )
    if not rows:
        made.add_row("", "no accuracy points yet")
    return made


def lines(rows: list[Row]) -> list[str]:
    """One plain line per row."""
    if not rows:
        return ["no accuracy points yet"]
    texts = []
    for row in rows:
        done, rate, lag = place_cells(row)
        metrics = [f"{name(m)} {cell(m, row.point[m])}" for m in HEADINGS if m in row.point]
        texts.append(
            f"partition {row.partition}  {row.learner or '-'}  rows {done}  rows/s {rate}  lag {lag}  "
            + "  ".join(metrics)
        )
    return texts


def place_cells(row: Row) -> tuple[str, str, str]:
    """Rows, rows a second and lag as text."""
    rate = "-" if row.rows_per_second is None else f"{row.rows_per_second:,.0f}"
    return f"{row.rows:,}", rate, "-" if row.lag is None else f"{row.lag:,}"


def name(metric: str) -> str:
    """A metric's heading on one line."""
    return HEADINGS[metric].replace("-\n", "-").replace("\n", " ")


def cell(metric: str, value: Any) -> str:
    """A metric's value as text; accuracies as percentages."""
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if metric.endswith("accuracy") else f"{value:.3g}"

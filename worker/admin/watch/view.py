"""Render the rows of a dashboard: as a table on a terminal, as lines elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from driftway.worker.admin.watch.challengers import of_group, verdict
from driftway.worker.admin.watch.dashboard import DashboardRow, grouped, scale, sparkline
from driftway.worker.admin.watch.recent_predictions import COMPUTED, OF_POINTS
from driftway.worker.cli.console import plain_console
from driftway.worker.errors import plural, shown
from driftway.worker.wire.rejections import format_counts

SPARKLINE_WIDTH = 24
LEAST_NAME = 8
OTHER = " than the champion"
WIDE_COLUMNS = 115
"""Terminals at least this wide have room for the sparkline and for wider gaps."""
HEADINGS = {
    "window_accuracy": "window",
    "window_coverage": "coverage",
    "window_set_size": "set\nsize",
    "no_change_accuracy": "no-\nchange",
    "majority_accuracy": "majority",
    "accuracy": "accuracy",
    "kappa_temporal": "kappa-\ntemporal",
    "window_mse": "window\nmse",
    "window_width": "window\nwidth",
    "window_mae": "window\nmae",
    "window_r2": "window\nr2",
    "mse": "mse",
    "mae": "mae",
    "r2": "r2",
}
"""Metric of an accuracy point -> heading, in column order."""
ASKED = {field: name for name, field in {**COMPUTED, **OF_POINTS}.items()}
"""Metric that is shown only if asked for -> heading."""


def columns(rows: list[DashboardRow], asked: Sequence[str] = ()) -> list[str]:
    """Return the metrics to show: the first one, those that were asked for, and those that are there."""
    first, *rest = [metric for metric in HEADINGS if any(metric in row.point for row in rows)] or [""]
    return [metric for metric in dict.fromkeys([first, *asked, *rest]) if metric]


def table(
    rows: list[DashboardRow], width: int, title: str | None = None, note: str | None = None, asked: Sequence[str] = ()
) -> Table:
    """A table of one line per row, for a console without markup, of `width` columns; `note` is shown below.

    No number is truncated: if there is no room, the last metrics are left out, but none that is `asked` for, and
    finally learners' names are folded.
    """
    metrics = columns(rows, asked)
    console = plain_console()
    unlimited = console.options.update(width=10_000)
    kept = max(1, len({*metrics[:1], *asked}))
    result = _table(rows, metrics, width)
    while len(metrics) > kept and console.measure(result, options=unlimited).maximum > width:
        metrics.pop()
        result = _table(rows, metrics, width)
    notes = rejected(rows), *clocks(rows), *together(rows), note
    result.title, result.caption = title, "\n".join(text for text in notes if text) or None
    return result


def _table(rows: list[DashboardRow], metrics: list[str], width: int) -> Table:
    wide = width >= WIDE_COLUMNS
    result = Table(
        box=None, header_style="bold", title_justify="left", caption_justify="left", padding=(0, 1 + wide, 0, 0)
    )
    result.add_column("part.", justify="right", no_wrap=True)
    result.add_column("learner", overflow="fold", min_width=LEAST_NAME)
    drifting = ("drift, rows\nago (all)",) if any(row.last_drift for row in rows) else ()
    tested = ("against\nchampion",) if any(verdict(row.point) for row in rows) else ()
    for title in ("offsets", "offsets/s", "lag", *drifting, *tested, *(heading(metric) for metric in metrics)):
        result.add_column(title, justify="right", no_wrap=True)
    drawn = [grouped(row.history, SPARKLINE_WIDTH) for row in rows]
    bounds = scale(drawn)
    newest = ("newest\nprediction",) if wide and any(newest_text(row) for row in rows) else ()
    for title in newest:
        result.add_column(title, no_wrap=True)
    trend = wide and any(len(row.history) > 1 for row in rows)
    if trend:
        ends = " to ".join(cell(metrics[0], bound) for bound in bounds) if metrics else ""
        result.add_column(f"window, lately\n{ends}", no_wrap=True)
    before = None
    for row, means in zip(rows, drawn, strict=True):
        first = row.partition != before
        before = row.partition
        result.add_row(
            str(row.partition) if first else "",
            row.learner or "-",
            *(progress_cells(row) if first else ("", "", "")),
            *([drift_cell(row) if first else ""] * len(drifting)),
            *([verdict_cell(row)] * len(tested)),
            *(cell(metric, row.point.get(metric)) for metric in metrics),
            *([newest_text(row)] * len(newest)),
            *([sparkline(means, bounds)] * trend),
        )
    if not rows:
        result.add_row("", "no accuracy points yet")
    return result


def rejected(rows: list[DashboardRow]) -> str:
    """A line with the rejections and labels set aside of all partitions by kind; empty if there are none."""
    partitions = {row.partition: row for row in rows}.values()
    kinds = sum((Counter(row.rejected) for row in partitions), Counter[str]())
    labels = sum((Counter(row.set_aside) for row in partitions), Counter[str]())
    counts = {"rejected": format_counts(kinds), "labels set aside": format_counts(labels)}
    found = "; ".join(f"{what} lately: {count}" for what, count in counts.items() if count)
    return f"{found} (driftway rejected shows them)" if found else ""


def clocks(rows: list[DashboardRow]) -> list[str]:
    """A line on each partition whose producers' clocks are apart, or whose labels wait for events."""
    lines = list[str]()
    for partition, found in {row.partition: row.clocks for row in rows}.items():
        parts = []
        if wrong := found.get("wrong_timestamps"):
            parts.append(f"{plural(wrong, 'timestamp')} ahead or behind, by up to {found['furthest_ms'] / 1000:,.0f} s")
        if found.get("labels_waiting"):
            ahead = found.get("labels_ahead_ms", 0) / 1000
            waiting = plural(found["labels_waiting"], "label waits", "labels wait")
            side = "ahead of" if ahead >= 0 else "behind"
            parts.append(f"{waiting}, the newest {abs(ahead):,.0f} s {side} the events")
        if parts:
            lines.append(f"clocks of partition {partition}: {'; '.join(parts)}")
    return lines


def together(rows: list[DashboardRow]) -> list[str]:
    """A line on each challenger that all partitions together find better or worse than the champion."""
    return [f"all partitions: {learner} is {found.text(OTHER)}" for learner, found in of_group(rows).items()]


def silence(seconds: float | None) -> str | None:
    """A note that the broker has not answered for `seconds`; None if it answers."""
    return None if seconds is None else f"the broker has not answered for {seconds:.0f} s; asking again"


def lines(rows: list[DashboardRow], note: str | None = None, asked: Sequence[str] = ()) -> list[str]:
    """Plain lines: rejections, the note, and one line per row."""
    if not rows:
        return [text for text in ("no accuracy points yet", note) if text]
    texts = [text for text in (rejected(rows), *clocks(rows), *together(rows), note) if text]
    for row in rows:
        done, rate, lag = progress_cells(row)
        there = [metric for metric in columns(rows, asked) if metric in row.point]
        metrics = [f"{name(metric)} {cell(metric, row.point[metric])}" for metric in there]
        drift = [f"drift {drift_cell(row)}"] if row.last_drift else []
        newest = [f"newest {text}"] if (text := newest_text(row)) else []
        tested = [found.text(OTHER)] if (found := verdict(row.point)) else []
        texts.append(
            f"partition {row.partition}  {row.learner or '-'}  offsets {done}  offsets/s {rate}  lag {lag}  "
            + "  ".join([*drift, *tested, *metrics, *newest])
        )
    return texts


def progress_cells(row: DashboardRow) -> tuple[str, str, str]:
    """Offsets, offsets per second and lag as text."""
    rate = "-" if row.rows_per_second is None else f"{row.rows_per_second:,.0f}"
    return f"{row.rows:,}", rate, "-" if row.lag is None else f"{row.lag:,}"


def drift_cell(row: DashboardRow) -> str:
    """A partition's last drift alarm: the detector's name, the rows since then, and the number of alarms so far."""
    if row.last_drift is None:
        return ""
    detector, _, _ = row.last_drift[0].partition(":")
    return f"{detector} {row.rows_since_drift:,} ({sum(row.drifts.values()):,})"


def newest_text(row: DashboardRow) -> str:
    """The champion's newest prediction with how sure it is; empty if it does not say that."""
    said = row.newest
    parts = [f"{100 * said['probability']:.1f} %"] if said.get("probability") is not None else []
    if "set" in said:
        parts.append("{" + ", ".join(map(str, said["set"])) + "}")
    if "low" in said:
        low, high = ("none" if said[end] is None else f"{said[end]:.4g}" for end in ("low", "high"))
        parts.append(f"{low} to {high}")
    predicted = said.get("prediction")
    label = f"{predicted:.4g}" if isinstance(predicted, float) else str(predicted)
    return shown(f"{label}: {', '.join(parts)}") if parts else ""


def verdict_cell(row: DashboardRow) -> str:
    """Whether a challenger is better or worse than the champion, and p; empty if neither is found."""
    found = verdict(row.point)
    return "" if found is None else f"{found.side} p {found.p:.0e}"


def heading(metric: str) -> str:
    """A metric's heading; of one that is shown only if asked for, its name."""
    return HEADINGS.get(metric) or ASKED.get(metric) or metric.replace("_", "\n")


def name(metric: str) -> str:
    """A metric's heading on one line."""
    return heading(metric).replace("-\n", "-").replace("\n", " ")


def cell(metric: str, value: Any) -> str:
    """A metric's value as text; accuracies as percentages."""
    if value is None:
        return "-"
    return f"{100 * value:.1f} %" if metric.endswith(("accuracy", "coverage")) else f"{value:.3g}"

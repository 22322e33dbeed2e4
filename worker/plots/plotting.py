"""Rolling accuracy over rows as a picture: learners, baselines, drift marks. Needs matplotlib."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftway.worker.errors import Failure, UsageFailure, plural, require_writable
from driftway.worker.plots.curves import Curves, Line, scaled

SUFFIXES = (".png", ".svg")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette: distinguishable by everybody, and in print. Lines differ in style too."""
STYLES = ("-", "-", "-", "-", "--", "-.")
BASELINES = {
    "no_change_accuracy": ("no-change", "#666666", (0, (4, 2))),
    "majority_accuracy": ("majority", "#999999", (0, (1, 1.5))),
}
FINDINGS = {"better": "^", "worse": "v"}
"""Marks of where a challenger was first better or worse than the champion, see docs/decisions/0050."""
DRIFT_COLOUR = "#444444"
FEW_PARTITIONS = 4
"""Up to this many, every partition is drawn, faintly, behind the mean."""
MAX_MARKS_WITH_TEXT = 12
DOTS_PER_INCH = 150
SHARES = ("accuracy", "kappa")
TITLES = {
    "window_accuracy": "Rolling accuracy",
    "fading_accuracy": "Fading accuracy",
    "accuracy": "Accuracy so far",
    "kappa": "Kappa so far",
    "kappa_temporal": "Kappa-temporal so far",
    "kappa_m": "Kappa-M so far",
    "window_kappa": "Rolling kappa",
    "window_kappa_temporal": "Rolling kappa-temporal",
    "window_kappa_m": "Rolling kappa-M",
    "window_mse": "Rolling mean squared error",
    "window_mae": "Rolling mean absolute error",
    "window_r2": "Rolling r2 (against the running mean)",
    "mse": "Mean squared error so far",
    "mae": "Mean absolute error so far",
    "r2": "r2 so far (against the running mean)",
}


@dataclass(frozen=True)
class Picture:
    """What a picture shows besides its curves.

    Parameters
    ----------
    name : str
        Name of the stream or topic that the rows are from.
    metric : str or None
        Metric of the accuracy points; None: the windowed one of the task.
    drifts : sequence of int
        Rows with a vertical mark, on the scaled axis.
    rows : float
        Rows of the whole stream that one row of a partition stands for; 0: the axis is a partition's own rows.
    """

    name: str
    metric: str | None = None
    drifts: Sequence[int] = ()
    rows: float = 0.0


def check_output(path: str, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Check early that a picture can be written, in one of the formats that `suffixes` name.

    Raises
    ------
    UsageFailure
        An unknown suffix, or a place where it cannot be written.
    Failure
        matplotlib is not installed.
    """
    out = Path(path)
    if out.suffix.lower() not in suffixes:
        *most, last = suffixes
        raise UsageFailure(f"cannot draw {path}: its name must end in {', '.join(most)} or {last}")
    require_writable(path)
    if importlib.util.find_spec("matplotlib") is None:
        raise Failure("pictures need matplotlib: pip install 'driftway[plot]'")
    os.environ["MPLBACKEND"] = "agg"  # one that shows windows, or that of a notebook, may not be installed here


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of so many inches, without a display or global state.

    Raises
    ------
    Failure
        matplotlib finds no folder for its cache.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except OSError:
        raise Failure("matplotlib finds no folder that it can write to: name one in MPLCONFIGDIR") from None

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Any, path: str, **options: Any) -> None:
    """Write a figure into a file; `options` as matplotlib's `savefig` takes them.

    Raises
    ------
    Failure
        It cannot be written.
    """
    try:
        figure.savefig(path, dpi=DOTS_PER_INCH, **options)
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None


def draw(curves: Curves, picture: Picture, path: str) -> None:
    """Write a picture of one metric over rows.

    Raises
    ------
    UsageFailure
        The points do not have that metric, or `path` has an unknown suffix.
    Failure
        There are no points, the file cannot be written, or matplotlib is not installed.
    """
    check_output(path)
    if not curves.learners:
        raise Failure(f"there are no accuracy points of {picture.name} to draw")
    metric = picture.metric or ("window_accuracy" if "window_accuracy" in curves.metrics else "window_mse")
    if metric not in curves.metrics:
        raise UsageFailure(f"accuracy points have no {metric}; they have {', '.join(curves.metrics)}")
    figure = new_figure(11, 5.2)
    axes = figure.add_subplot()
    _draw_lines(axes, curves, metric, picture.rows or 1.0)
    _mark_drifts(axes, picture.drifts, [row * (picture.rows or 1.0) for row in curves.alarms()])
    _dress(figure, axes, curves, metric, picture)
    save(figure, path)


def _draw_lines(axes: Any, curves: Curves, metric: str, rows: float) -> None:
    partitions = curves.partitions
    for number, learner in enumerate(curves.learners):
        colour, style = COLOURS[number % len(COLOURS)], STYLES[number % len(STYLES)]
        if 1 < len(partitions) <= FEW_PARTITIONS:
            for partition in partitions:
                line = scaled(curves.line(learner, partition, metric), rows)
                axes.plot(*line, color=colour, alpha=0.28, linewidth=0.8, zorder=3)
        line = scaled(curves.mean(learner, metric), rows)
        role = " (champion)" if number == 0 and len(curves.learners) > 1 else ""
        # The champion lies on top of its challengers.
        order, width = 6 - 0.1 * number, 2.0 if number == 0 else 1.6
        axes.plot(*line, color=colour, linestyle=style, linewidth=width, label=learner + role, zorder=order)
        for side, marker in FINDINGS.items():
            marks, label = scaled(curves.findings(learner, metric, side), rows), f"{side} than the champion"
            if len(marks.x):
                axes.plot(*marks, color=colour, linestyle="none", marker=marker, markersize=9, label=label, zorder=7)
    if metric != "accuracy" and not metric.endswith("_accuracy"):
        return
    for baseline, (label, colour, dashes) in BASELINES.items():
        own = curves.baseline(baseline) if metric != "accuracy" else curves.mean(curves.learners[0], baseline)
        if len(own.x):
            line = scaled(own, rows)
            axes.plot(*line, color=colour, linestyle=dashes, linewidth=1.4, label=label, zorder=2)


def _mark_drifts(axes: Any, drifts: Sequence[int], alarms: Sequence[float]) -> None:
    for number, drift in enumerate(drifts):
        label = "concept drift" if number == 0 else None
        axes.axvline(drift, color=DRIFT_COLOUR, linestyle="-", linewidth=1.0, alpha=0.75, label=label, zorder=1)
        if len(drifts) <= MAX_MARKS_WITH_TEXT:
            axes.annotate(
                f"{drift:,}",
                (drift, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(4, -4),
                textcoords="offset points",
                ha="left",
                va="top",
                fontsize=8.5,
                color=DRIFT_COLOUR,
            )
    for number, alarm in enumerate(alarms):
        label = "drift alarm" if number == 0 else None
        axes.axvline(alarm, color=COLOURS[3], linestyle=":", linewidth=1.0, label=label, zorder=1)


def _dress(figure: Any, axes: Any, curves: Curves, metric: str, picture: Picture) -> None:
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    count, window = len(curves.partitions), curves.window
    each = " of a partition" if count > 1 else ""
    notes = [f"window of {plural(window, 'row')}{each}"] if metric.startswith("window") else []
    notes += [f"mean of {count} partitions" + (" (faint: each)" if count <= FEW_PARTITIONS else "")] * (count > 1)
    title = f"{TITLES.get(metric, metric)} on {picture.name}"
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", pad=22 if notes else 8, parse_math=False)
    if notes:
        axes.annotate(
            ", ".join(notes), (0, 1), xycoords="axes fraction", xytext=(0, 7), textcoords="offset points",
            fontsize=9.5, color="#555555",
        )  # fmt: skip
    stream_rows = count == 1 or picture.rows
    axes.set_xlabel("rows of the stream" if stream_rows else "rows of a partition (input offset)", fontsize=10.5)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    share = any(word in metric for word in SHARES)
    if "accuracy" in metric:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    unit = " (% of rows)" if "accuracy" in metric else ""
    axes.set_ylabel(metric.replace("_", " ") + unit, fontsize=10.5)
    axes.set_xlim(0, _furthest(curves, metric) * (picture.rows or 1.0))
    if share:
        low, high = axes.get_ylim()
        axes.set_ylim(low, min(1.0, high + 0.06 * (high - low)))  # space for the numbers of the marks
    axes.grid(axis="y", color="#e3e3e3", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9.5)


def _furthest(curves: Curves, metric: str) -> float:
    lines: list[Line] = [curves.line(n, p, metric) for n in curves.learners for p in curves.partitions]
    return max((float(line.x[-1]) for line in lines if len(line.x)), default=1.0)

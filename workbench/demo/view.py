"""Display of a demo: a live table on a terminal, plain lines elsewhere, and a closing summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from driftway.worker.admin.watch.view import HEADINGS, cell, name, silence, table
from driftway.worker.errors import plural
from driftway.worker.wire.rejections import format_counts

if TYPE_CHECKING:
    from rich.table import Table

    from driftway.workbench.demo.demo import DemoPlan, DemoProgress, DemoResult
    from driftway.worker.plots.curves import Dip

PLAIN_SECONDS = 3.0
"""Seconds between lines without a terminal: often enough to show progress, rare enough for a CI log."""


@contextmanager
def live_view(plan: DemoPlan, say: Callable[[str], None]) -> Iterator[Callable[[DemoProgress], None]]:
    """Yield a function to call with each progress: a live table on a terminal (stderr), occasional lines elsewhere."""
    if not sys.stderr.isatty():
        yield _plain(say)
        return
    from rich.live import Live

    from driftway.worker.cli.console import plain_console

    console = plain_console(stderr=True)
    # The table starts with the first progress, so that start-up messages do not run into it.
    screen = Live(console=console, auto_refresh=False)
    started = False

    def show(progress: DemoProgress) -> None:
        nonlocal started
        if not started:
            screen.start()
            started = True
        screen.update(_screen(plan, progress, console.width), refresh=True)

    try:
        yield show
    finally:
        if started:
            screen.stop()


def _plain(say: Callable[[str], None]) -> Callable[[DemoProgress], None]:
    last, before = 0.0, -1

    def show(progress: DemoProgress) -> None:
        nonlocal last, before
        moved, ended = progress.sent + progress.done != before, progress.done == progress.total
        moved = moved or progress.silent_seconds is not None
        if not progress.sent or not moved or (time.monotonic() - last < PLAIN_SECONDS and not ended):
            return
        last, before = time.monotonic(), progress.sent + progress.done
        say(_sentence(progress))

    return show


def _sentence(progress: DemoProgress) -> str:
    total = "" if progress.total is None else f" of {progress.total:,}"
    rate = sum(row.rows_per_second or 0.0 for row in {row.partition: row for row in progress.rows}.values())
    text = (
        f"{progress.sent:,}{total} rows sent, {progress.done:,} predicted, {rate:,.0f} rows/s, "
        f"lag {progress.sent - progress.done:,}"
    )
    if (note := silence(progress.silent_seconds)) is not None:
        text += f" | {note}"
    champion = next((row.learner for row in progress.rows if row.learner), None)
    for row in progress.rows:
        if row.learner and row.learner == champion:
            shown = ("window_accuracy", "no_change_accuracy", "majority_accuracy", "window_mse", "window_r2")
            values = ", ".join(f"{name(m)} {cell(m, row.point[m])}" for m in shown if m in row.point)
            text += f" | partition {row.partition}: {values}"
    return text


def _screen(plan: DemoPlan, progress: DemoProgress, width: int) -> Table:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(padding=(0, 2, 0, 0))
    bar_width = min(40, max(10, width - 70))
    for label, count in (("sent", progress.sent), ("predicted", progress.done)):
        total = "" if progress.total is None else f" / {progress.total:,}"
        bar = ProgressBar(total=progress.total or max(count, 1), completed=count, width=bar_width)
        speed = f"{count / progress.seconds:,.0f} rows/s" if progress.seconds > 1 else ""
        head.add_row(Text(label, style="bold"), bar, f"{count:,}{total}", speed)
    passed = [drift for drift in plan.drifts if drift <= progress.sent]
    if plan.drifts:
        rows = ", ".join(f"{drift:,}" for drift in plan.drifts)
        head.add_row(Text("drifts", style="bold"), f"at {rows}", f"{len(passed)} of {len(plan.drifts)} passed", "")
    grid = Table.grid()
    grid.add_row(Text(f"{plan.name}, {plural(plan.partitions, 'partition')}", style="bold"))
    grid.add_row(head)
    grid.add_row("")
    grid.add_row(table(progress.rows, width, note=silence(progress.silent_seconds)))
    return grid


def summary(result: DemoResult) -> list[Any]:
    """The closing summary: texts and tables to be printed in this order."""
    parts: list[Any] = ["", _outcomes(result), _verdict(result), "", _learners(result)]
    if result.rejected:
        parts[2:2] = [f"Rejected or set aside: {format_counts(result.rejected)}."]
    if any(result.dips.values()):
        parts += ["", _dips(result)]
    speed = result.sent / max(result.seconds, 1e-9)
    throughput = (
        f"Throughput: {plural(result.sent, 'row')} in {result.seconds:.1f} s from first row to last prediction, "
        f"{speed:,.0f} rows/s (replayed at {result.sent_per_second:,.0f} rows/s)."
    )
    return [*parts, "", throughput]


def _outcomes(result: DemoResult) -> Table:
    made = _new_table("partition", "rows sent", "predicted", "rejected", "gaps", "duplicates")
    for a in result.partition_counts:
        numbers = (a.end, a.predicted, a.rejected, a.missing, a.repeated + a.beyond)
        made.add_row(str(a.partition), *(f"{n:,}" for n in numbers))
    return made


def _verdict(result: DemoResult) -> str:
    if result.exact:
        return (
            f"Exactly once: every one of {result.sent:,} input offsets has exactly one outcome, no gap, no duplicate."
        )
    gaps = sum(a.missing for a in result.partition_counts)
    twice = sum(a.repeated + a.beyond for a in result.partition_counts)
    return f"NOT exactly once: {plural(gaps, 'input offset')} without outcome, {twice:,} with more than one."


def _learners(result: DemoResult) -> Table:
    shown = [m for m in HEADINGS if m in result.curves.metrics and not m.startswith("window")]
    made = _new_table("learner", *(name(metric) for metric in shown))
    for number, learner in enumerate(result.curves.learners):
        totals = result.curves.totals(learner)
        role = " (champion)" if number == 0 and len(result.curves.learners) > 1 else ""
        made.add_row(learner + role, *(cell(metric, totals.get(metric)) for metric in shown))
    return made


def _dips(result: DemoResult) -> Table:
    made = _new_table("drift at row", "learner", "window before", "deepest after", "dip", "recovered after")
    rows = sorted(
        ((dip.drift, n, dip) for n, found in enumerate(result.dips.values()) for dip in found), key=lambda r: r[:2]
    )
    names = list(result.dips)
    before = None
    for drift, number, dip in rows:
        fell = 100 * (dip.before - dip.deepest)
        made.add_row(
            f"{drift:,}" if drift != before else "",
            names[number],
            f"{100 * dip.before:.1f} %",
            f"{100 * dip.deepest:.1f} %",
            f"-{fell:.1f} pp" if dip.visible else "none",
            _recovery(dip),
        )
        before = drift
    return made


def _recovery(dip: Dip) -> str:
    if not dip.visible:
        return "-"
    return "not before the next" if dip.recovered is None else plural(dip.recovered, "row")


def _new_table(first: str, *others: str) -> Table:
    from rich.table import Table

    made = Table(box=None, header_style="bold", padding=(0, 3, 0, 0))
    made.add_column(first, no_wrap=True)
    for heading in others:
        left = heading == "learner"
        made.add_column(heading, justify="left" if left else "right", no_wrap=True)
    return made

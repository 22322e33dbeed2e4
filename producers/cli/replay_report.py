"""What a replay reports: progress bar, closing line, JSON object."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from driftway.worker.errors import plural, shown

if TYPE_CHECKING:
    from driftway.producers.replay import Replay, Report


def closing(work: Replay, report: Report, rate: float | None) -> str:
    """The closing line; `rate` is the requested rate."""
    target = "" if rate is None else f" of {rate:,.0f} requested"
    where = work.topic if work.delivery.dry_run is None else f"{work.delivery.dry_run} (dry run)"
    text = (
        f"{plural(report.rows, 'row')} of {work.stream.name} to {where} in {report.seconds:.2f} s: "
        f"{report.rate:,.0f} messages/s{target}, {plural(report.errors, 'delivery error')}"
    )
    if report.errors:
        text += f" (first: {report.first_error})"
    if report.poison:
        text += f", {plural(report.poison, 'malformed message')}"
    if report.unlabelled:
        text += f", {plural(report.unlabelled, 'label')} withheld"
    if work.delayed_labels is not None:
        where = "" if work.delivery.label_topic is None else f" to {work.delivery.label_topic}"
        text += f", {plural(report.delayed_labels, 'delayed label')}{where}, {report.waiting_labels:,} not due yet"
    if work.schedule is not None:
        text += f", at most {report.late * 1e3:,.1f} ms late"
    if work.delivery.latencies is not None and work.delivery.latencies.count:
        found = work.delivery.latencies.as_milliseconds().items()
        text += "; due to acknowledged in ms: " + ", ".join(f"{k} {v:,.1f}" for k, v in found if k != "messages")
    return text + ("; stopped early" if work.stop.requests else "")


def as_object(work: Replay, report: Report, rate: float | None) -> dict[str, Any]:
    """The report as a JSON object."""
    latencies = work.delivery.latencies
    return {
        "stream": work.stream.name,
        "topic": work.topic,
        "rows": report.rows,
        "bytes": report.bytes,
        "seconds": report.seconds,
        "rate": report.rate,
        "target_rate": rate,
        "late_seconds": report.late,
        "delivery_errors": report.errors,
        "first_error": report.first_error,
        "first_id": report.began,
        "next_id": report.next_id,
        "poison": report.poison,
        "labels_withheld": report.unlabelled,
        "label_topic": work.delivery.label_topic,
        "delayed_labels": report.delayed_labels,
        "waiting_labels": report.waiting_labels,
        "latency_ms": None if latencies is None else latencies.as_milliseconds(),
        "dry_run": work.delivery.dry_run,
        "client": work.client,
        "stopped": work.stop.requests > 0,
    }


@contextlib.contextmanager
def progress(work: Replay, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr if that is a terminal; yields its update function."""
    if quiet or not sys.stderr.isatty():
        yield lambda _rows: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} messages/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(shown(work.stream.name), total=_total(work), rate="0")

        def update(rows: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=rows, rate="" if speed is None else f"{speed:,.0f}")

        yield update


def _total(work: Replay) -> float | None:
    """Number of rows to send, if known."""
    selection = work.selection
    resume = work.delivery.resume
    if resume is not None and resume.position is not None:
        selection = selection.since(resume.position)
    available = math.inf
    if work.stream.rows is not None and selection.laps is not None:
        available = max(0, work.stream.rows * selection.laps - selection.skip)
    total = min(available, math.inf if selection.limit is None else selection.limit)
    return None if math.isinf(total) else total

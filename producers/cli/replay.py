"""`driftway replay`: options, progress bar, closing report and exit code of a replay."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from worker.client import parse_properties
from worker.errors import UsageFailure

if TYPE_CHECKING:
    from producers.replay import Replay, Report
    from producers.sending import Stop

FOREVER = "forever"


@click.command()
@click.argument("stream")
@click.option("--bootstrap", default="localhost:9092", show_default=True, metavar="ADDR", help="A broker's address.")
@click.option("--to", default="EVENTS", show_default=True, metavar="TOPIC", help="Topic to write to.")
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), metavar="R", help="Messages a second.  [unlimited]"
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Send at most N rows.")
@click.option("--skip", type=click.IntRange(min=0), default=0, metavar="N", help="Leave out the first N rows.")
@click.option(
    "--loop",
    is_flag=False,
    flag_value=FOREVER,
    default="1",
    metavar="[N]",
    help="Go through the stream N times, without N for ever; ids continue.",
)
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Partitions of the topic, created if missing.  [as it has; 1 if created]",
)
@click.option("--key", metavar="COLUMN", help="Column whose value is the key and, hashed, chooses the partition.")
@click.option(
    "--format",
    type=click.Choice(["json", "packed"]),
    default="json",
    show_default=True,
    help="How rows are written.",
)
@click.option("--named", is_flag=True, help="Write x as an object by feature name (json).")
@click.option("--seed", type=int, default=1, show_default=True, help="Of a generator.")
@click.option("--label", default="y", show_default=True, metavar="NAME", help="Label column of a file.")
@click.option("--labels", metavar="A,B", help="Class names in index order, of a text label column.")
@click.option("--data-dir", metavar="DIR", help="Folder of files called by bare name.  [$DRIFTWAY_DATA]")
@click.option("-X", "properties", multiple=True, metavar="KEY=VALUE", help="Client property; repeatable.")
@click.option("--client-properties", metavar="FILE", help="File of client properties; -X wins.")
@click.option("--json", is_flag=True, help="Report as one JSON object on stdout.")
@click.option("--quiet", is_flag=True, help="No progress bar and no closing line.")
@click.pass_context
def replay(ctx: click.Context, /, stream: str, **given: Any) -> None:
    """Replay a stream's rows onto a topic.

    STREAM is a generator (sea, hyperplane_staged; options as sea:noise=0,rows=1000), a file (CSV with a
    header, ARFF, Parquet, each also gzipped), or the bare name of a file in the data folder. Row i, counted
    from 0, gets the id i and goes to partition i mod N, so the same command always makes the same partitions;
    with --key the partition follows from the key's murmur2 hash, as in Kafka's Java clients. The producer is
    idempotent. Ends with 0 if every row was delivered, 1 if not, 130 or 143 if interrupted (what was queued
    is still delivered).

    \b
    Examples:
      driftway replay sea --to EVENTS --partitions 2 --rate 5000
      driftway replay electricity.csv.gz --rate 1000 --loop
      driftway replay weather.arff --label play --named
      driftway replay shop.csv --label bought --labels no,yes --key customer
      driftway replay sea:noise=0,rows=1000000 --format packed --json
    """
    from producers.replay import Encoding, Replay, Selection
    from producers.sending import Stop
    from producers.streams import open_stream

    labels = given["labels"]
    properties = parse_properties(given["properties"], given["client_properties"])
    opened = open_stream(
        stream,
        seed=given["seed"],
        label=given["label"],
        labels=None if labels is None else labels.split(","),
        data_dir=given["data_dir"],
    )
    work = Replay(
        opened,
        given["to"],
        given["rate"],
        Selection(given["skip"], given["limit"], _laps(given["loop"])),
        Encoding(given["format"], given["named"], given["key"]),
        Stop(),
    )
    with _signals(work.stop), _progress(work, given["quiet"]) as work.on_progress:
        report = work.run(given["bootstrap"], properties, given["partitions"])
    if not given["quiet"]:
        click.echo(_closing(work, report), err=True)
    elif report.errors:
        click.echo(f"driftway: {report.errors} deliveries failed: {report.first_error}", err=True)
    if given["json"]:
        click.echo(json.dumps(_as_object(work, report)))
    ctx.exit(_exit_code(work, report))


def _laps(text: str) -> int | None:
    if text == FOREVER:
        return None
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise UsageFailure(f"--loop takes a whole number of at least 1 or nothing, got {text!r}")


def _exit_code(work: Replay, report: Report) -> int:
    if work.stop.signal is not None:
        return 128 + work.stop.signal
    return 1 if report.errors else 0


def _closing(work: Replay, report: Report) -> str:
    wanted = "" if work.rate is None else f" of {work.rate:,.0f} asked"
    text = (
        f"{report.rows:,} rows of {work.stream.name} to {work.topic} in {report.seconds:.2f} s: "
        f"{report.rate:,.0f} messages/s{wanted}, {report.errors} delivery errors"
    )
    if report.errors:
        text += f" (first: {report.first_error})"
    return text + ("; stopped early" if work.stop.requests else "")


def _as_object(work: Replay, report: Report) -> dict[str, Any]:
    return {
        "stream": work.stream.name,
        "topic": work.topic,
        "rows": report.rows,
        "bytes": report.bytes,
        "seconds": report.seconds,
        "rate": report.rate,
        "target_rate": work.rate,
        "late_seconds": report.late,
        "delivery_errors": report.errors,
        "first_error": report.first_error,
        "next_id": report.next_id,
        "stopped": work.stop.requests > 0,
    }


@contextlib.contextmanager
def _signals(stop: Stop) -> Iterator[None]:
    """SIGINT and SIGTERM ask for a stop instead of tearing the producer down with rows in its queue."""
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _progress(work: Replay, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, where that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _rows: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]} messages/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(work.stream.name, total=_total(work), rate="0")

        def update(rows: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=rows, rate="" if speed is None else f"{speed:,.0f}")

        yield update


def _total(work: Replay) -> float | None:
    """How many rows there will be, where that is known."""
    chosen = work.selection
    whole = math.inf
    if work.stream.rows is not None and chosen.laps is not None:
        whole = max(0, work.stream.rows * chosen.laps - chosen.skip)
    total = min(whole, math.inf if chosen.limit is None else chosen.limit)
    return None if math.isinf(total) else total

"""`driftway watch`: live table of rolling accuracy, throughput and lag."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.cli.options import client_options, group_of_outputs
from driftway.worker.kafka.client_config import parse_properties

if TYPE_CHECKING:
    from driftway.worker.admin.watch.watcher import Watcher

START, NOW = "start", "now"
TERMINAL_SECONDS, PLAIN_SECONDS = 0.25, 2.0


@click.command()
@click.option("--input", required=True, metavar="EVENTS", help="Topic with the events that the workers read.")
@group_of_outputs
@client_options
@click.option(
    "--from",
    type=click.Choice((START, NOW)),
    default=NOW,
    show_default=True,
    help="Start with all accuracy points and drift alarms, or with only the newest.",
)
@click.option(
    "--metric",
    "metrics",
    metavar="NAME[,NAME..]",
    help="Metrics to show in addition: precision, recall, specificity, f1, g-mean, balanced-accuracy, auc, log-loss, "
    "brier, or fields of the accuracy points.",
)
@click.option("--interval", type=click.FloatRange(min=0.05), metavar="SECONDS", help="Time between two refreshes.")
@click.option("--once", is_flag=True, help="Show the newest values once, then exit.")
@click.option("--json", is_flag=True, help="Print a JSON list of objects on standard output, one line per refresh.")
def watch(**given: Any) -> None:
    """Show rolling accuracy, throughput and lag of an input, per partition and learner, until Ctrl-C.

    The column offsets counts input offsets up to the newest prediction or rejection; lag counts the offsets after it,
    also of labels that came after the last event. The window is the worker's (--metric-window). no-change always
    predicts the last label, majority always the most frequent label; both are over all rows so far. On a terminal the
    table is refreshed four times a second; otherwise plain lines are printed every two seconds. All sparklines have the
    same scale, shown above them. Rejections are counted by kind, starting with the last 10,000 of each partition. If
    there are detectors, the table shows the last alarm of each partition, with its detector and how many rows ago it
    was, and the number of alarms among the last 10,000 records of their topic (with --from start, among all records).
    If a challenger was found better or worse than the champion, which is the first learner, its p-value is shown beside
    it, and in a line below if all partitions together show it. If the broker is unreachable, watch waits for it. It
    commits nothing and joins no group.

    With --metric, the metrics from precision to auc are computed for the champion, from the last 1,000 predictions of
    each partition whose events came with their labels. With two classes they are those of the second class, with more
    classes the mean over the classes. log-loss, brier and the fields of accuracy points are shown for every learner,
    over the worker's window. A - means that the value is undefined, or unknown because labels arrive later.

    \b
    Examples:
      driftway watch --input EVENTS
      driftway watch --input EVENTS --once --json
      driftway watch --input EVENTS --from start
      driftway watch --input EVENTS --metric precision,recall,auc,log-loss
    """
    from driftway.worker.admin.watch.dashboard import Dashboard
    from driftway.worker.admin.watch.recent_predictions import COMPUTED, RecentPredictions, fields_asked
    from driftway.worker.admin.watch.watcher import Watcher, chosen

    passthrough = parse_properties(given["properties"], given["client_properties"])
    asked = fields_asked(given["metrics"])
    dashboard = Dashboard()
    if set(asked) & set(COMPUTED.values()):
        dashboard.recent = RecentPredictions()
    with _until_stopped():
        topics, counts = chosen(given["bootstrap"], passthrough, given)
        watcher = Watcher(given["bootstrap"], passthrough, topics, counts, given["from"] == START, dashboard)
        try:
            _show(watcher, given, topics.prefix, asked)
        finally:
            watcher.close()


def _show(observation: Watcher, given: dict[str, Any], name: str, asked: list[str]) -> None:
    from driftway.worker.admin.watch.recent_predictions import check_asked
    from driftway.worker.wire.codec import write_json

    rows = observation.catch_up()
    check_asked(asked, [row.point for row in rows])
    live = sys.stdout.isatty() and not given["json"]
    seconds = given["interval"] or (TERMINAL_SECONDS if live else PLAIN_SECONDS)
    if live:
        _show_table(observation, given, seconds, name, asked)
        return
    from driftway.worker.admin.watch.view import lines, silence

    while True:
        if given["json"]:
            click.echo(write_json([row.as_object() for row in rows]))
        else:
            click.echo("\n".join(lines(rows, silence(observation.dashboard.silent_seconds), asked)))
        if given["once"]:
            return
        rows = observation.refresh(seconds)


def _show_table(observation: Watcher, given: dict[str, Any], seconds: float, name: str, asked: list[str]) -> None:
    from rich.live import Live

    from driftway.worker.admin.watch.view import silence, table
    from driftway.worker.cli.console import plain_console

    console = plain_console()
    if given["once"]:
        console.print(table(observation.dashboard.rows(), console.width, name, asked=asked))
        return
    with Live(console=console, auto_refresh=False) as screen:
        while True:
            note = silence(observation.dashboard.silent_seconds)
            screen.update(table(observation.dashboard.rows(), console.width, name, note, asked), refresh=True)
            observation.refresh(seconds)


class _WatchInterrupted(BaseException):
    """A signal requested the end; a BaseException, so that no error handler catches it."""


@contextlib.contextmanager
def _until_stopped() -> Iterator[None]:
    """End the block quietly on SIGINT and SIGTERM, the regular way to end a live view."""

    def stop(_number: int, _frame: object) -> None:
        raise _WatchInterrupted

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with contextlib.suppress(_WatchInterrupted):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

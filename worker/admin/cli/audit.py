"""`driftway audit`: check from the topics alone that outputs are exactly-once and bit-identical when recomputed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.admin.cli.group_options import fill_in_from_group
from driftway.worker.cli.console import bar, wide_console
from driftway.worker.cli.event_options import schema_options
from driftway.worker.cli.model_options import event_options, given_model, target_options
from driftway.worker.cli.option_groups import GroupedCommand
from driftway.worker.cli.options import client_options, label_topic_option, outputs_option, reading_option
from driftway.worker.cli.start_options import START_PLACES, start_place, warm_options
from driftway.worker.kafka.client_config import parse_properties
from driftway.worker.settings import EARLIEST, WorkerSettings
from driftway.worker.wire.rejections import format_counts

if TYPE_CHECKING:
    from driftway.worker.admin.audit.report import AuditReport

ORPHANS_SHOWN = 5
COUNTED = "predictions", "challengers'", "rejections", "set aside", "points", "alarms", "shares", "snapshots", "orphans"


@click.command(cls=GroupedCommand)
@click.option("--input", "input_", required=True, metavar="TOPIC", help="Topic of events that the workers read.")
@click.option("--group", required=True, help="The workers' consumer group.")
@target_options
@event_options
@schema_options()
@label_topic_option
@warm_options
@outputs_option
@client_options
@reading_option
@click.option(
    "--start",
    metavar=START_PLACES,
    callback=start_place,
    default=EARLIEST,
    show_default=True,
    help="Where the group began; latest: at the offset of its first output.",
)
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
def audit(input_: str, group: str, as_json: bool, **given: Any) -> None:
    """Recompute the outputs of a group's workers from the topics alone, and compare every byte.

    In each partition the audit reads the input up to the offset that the group has committed when the audit starts,
    and learns as a worker would. It checks that every event has exactly one prediction (in any format, whatever
    --output-format says) or one rejection, and one prediction of each challenger where workers had --emit all, that no
    others are visible, that the accuracy points of all learners and the drift alarms of all detectors are the same, and
    that every complete snapshot holds the state at its offset.
    What was learned, and from what, the group's plans, snapshots and commits say; options that are given count before
    that. Give --format, --registry, --warm-start and --start as to the workers; without --pass-headers or
    --cloudevents-source the headers of predictions are not checked, without --registry and --output-format not the
    registered schemas of predictions.
    Workers may keep running; nothing is written, no group is joined, and memory is bounded.

    If retention has deleted the beginning of the input, the earliest snapshot whose offset is still in the log is
    trusted, and everything after it is checked; the last lines list what was not checked. On a difference the exit
    code is 1, and the message names the first one.

    \b
    Examples:
      driftway audit --input EVENTS --group sea
      driftway audit --input EVENTS --group sea --learner dfop:mu=0.001 --learner arow
      driftway audit --input TRADES --group t --labels DOWN,UP --start latest --json
      driftway audit --input EVENTS --group e --warm-start electricity.driftway --start 20000
    """
    from driftway.worker.admin.audit.deployment import Deployment
    from driftway.worker.admin.audit.diff import Mismatch
    from driftway.worker.kafka.client_factory import choose_client

    given_model(given)  # what is wrong by itself is told before a broker is asked
    passthrough = parse_properties(given["properties"], given["client_properties"])
    fill_in_from_group(given, input_, group, passthrough)
    model = given_model(given)
    settings = WorkerSettings(
        given["bootstrap"],
        input_,
        group,
        model,
        start=given["start"],
        passthrough=passthrough,
        outputs=given["outputs"],
        label_topic=given["label_topic"],
        client=choose_client(given["client"])[0],
    )
    deployment = Deployment(settings)
    try:
        with bar(input_, deployment.total) as progress:
            reports = deployment.audit(progress or (lambda _: None))
    except Mismatch as difference:
        if as_json:
            _print_object(input_, group, [], str(difference))
        raise
    if as_json:
        _print_object(input_, group, reports, None)
    else:
        _show(input_, reports)


def _print_object(name: str, group: str, accounts: list[AuditReport], difference: str | None) -> None:
    from dataclasses import asdict

    from driftway.worker.wire.codec import write_json

    result = {
        "input": name,
        "group": group,
        "holds": difference is None,
        "difference": difference,
        "partitions": [asdict(account) for account in accounts],
    }
    click.echo(write_json(result).decode())


def _show(name: str, accounts: list[AuditReport]) -> None:
    """Print the table, orphans, what was not checked, rejections, and the conclusion."""
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for heading in ("partition", "from", "to", "events", *COUNTED):
        table.add_column(heading, justify="right")
    for one in accounts:
        row = (one.partition, one.begin, one.end, one.records, one.predictions, one.challengers, one.rejections,
               one.set_aside, one.points, one.alarms, one.shares, one.snapshots, len(one.orphans))  # fmt: skip
        table.add_row(*(str(row[0]), *(f"{number:,}" for number in row[1:])))
    console = wide_console()
    console.print(table)
    for one in accounts:
        for place in one.orphans[:ORPHANS_SHOWN]:
            console.print(f"Chunk of an incomplete snapshot: {place}", soft_wrap=True)
        if len(one.orphans) > ORPHANS_SHOWN:
            console.print(f"... and {len(one.orphans) - ORPHANS_SHOWN} more of partition {one.partition}")
    for sentence in (sentence for one in accounts for sentence in one.unchecked):
        console.print(f"Not checked: {sentence}", soft_wrap=True, markup=False)
    kinds = sum((Counter(one.rejected) for one in accounts), Counter[str]())
    if kinds:
        console.print(f"Rejected: {format_counts(kinds)}; driftway rejected shows them.", soft_wrap=True, markup=False)
    if kinds and not any(one.predictions for one in accounts):
        console.print("Not a single event was usable: nothing has been predicted.", soft_wrap=True, style="bold red")
    events, snapshots = sum(one.records for one in accounts), sum(one.snapshots for one in accounts)
    labels = sum(one.set_aside for one in accounts)
    console.print(
        f"{name} holds: {events:,} events have exactly one prediction or rejection each, every byte as recomputed, "
        + (f"{labels:,} labels were set aside, " if labels else "")
        + f"and {snapshots:,} snapshots are the recomputed state.",
        soft_wrap=True,
        markup=False,
    )

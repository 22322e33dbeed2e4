"""The options of `driftway replay`, in the groups that its help shows them by: which rows, when, how, and what if."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from driftway.producers.cli.injecting import inject_option
from driftway.worker.kafka.client_config import AUTO, CLIENTS

FOREVER = "forever"

Decorator = Callable[[Any], Any]

WHERE = (
    click.option(
        "--bootstrap", default="localhost:9092", show_default=True, metavar="ADDR", help="A broker's address."
    ),
    click.option("--to", default="EVENTS", show_default=True, metavar="TOPIC", help="Topic to write to."),
    click.option(
        "--partitions",
        type=click.IntRange(min=1),
        metavar="N",
        help="Partitions of the topic, created if missing.  [as it has; 1 if created]",
    ),
    click.option("--key", metavar="COLUMN", help="Column whose value is the key and, hashed, chooses the partition."),
    click.option("--partition", type=click.IntRange(min=0), metavar="P", help="Send every row to this partition."),
)
WHICH = (
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Send at most N rows."),
    click.option(
        "--skip", type=click.IntRange(min=0), default=0, metavar="N", help="Leave out the first N rows; ids count them."
    ),
    click.option(
        "--loop",
        is_flag=False,
        flag_value=FOREVER,
        default="1",
        metavar="[N]",
        help="Go through the stream N times, without N for ever; ids continue.",
    ),
    click.option(
        "--shuffle",
        is_flag=True,
        help="Rows in a random order, the same each lap; keeps the stream in memory, 8 (features + 2) bytes a row.",
    ),
    inject_option,
    click.option("--label", default="y", show_default=True, metavar="NAME", help="Label column of a file."),
    click.option(
        "--labels",
        metavar="A,B",
        help="Labels in class order; events carry them, as `driftway worker --labels` reads them.",
    ),
    click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column of a file out; repeatable."),
    click.option("--data-dir", metavar="DIR", help="Folder of files called by bare name.  [$DRIFTWAY_DATA]"),
    click.option(
        "--seed",
        type=int,
        default=1,
        show_default=True,
        help="Of a generator, --inject, --shuffle, --poison, --missing-labels and --label-delay.",
    ),
)
WHEN = (
    click.option(
        "--rate", type=click.FloatRange(min=0, min_open=True), metavar="R", help="Rows a second.  [unlimited]"
    ),
    click.option(
        "--profile",
        metavar="PROFILE",
        help="A rate that changes: burst:every=10,rows=5000, ramp:from=100,to=50000,seconds=60, "
        "sine:low=100,high=5000,period=60, or constant:rate=100.",
    ),
    click.option(
        "--time-column",
        metavar="COLUMN",
        help="Rows leave when this column says, counted from the first; it becomes the messages' t and timestamps, "
        "which the topic's retention goes by.",
    ),
    click.option(
        "--time-unit", type=click.Choice(["s", "ms", "us"]), default="ms", show_default=True, help="Of --time-column."
    ),
    click.option(
        "--speed",
        type=click.FloatRange(min=0, min_open=True),
        metavar="F",
        help="With --time-column: F times as fast as it happened.  [1]",
    ),
)
HOW = (
    click.option(
        "--format",
        type=click.Choice(["json", "packed"]),
        default="json",
        show_default=True,
        help="How rows are written.",
    ),
    click.option(
        "--raw",
        is_flag=True,
        help="Rows of a file as they stand: a JSON object of its columns each, or its JSON lines; --key takes a path.",
    ),
    click.option("--named", is_flag=True, help="Write x as an object by feature name (json)."),
    click.option(
        "--truth",
        is_flag=True,
        help="Two headers on every message: `concept`, the id of its row's concept, and `changed`, the stream's last "
        "drift point at or before that row (0: none yet), both as `driftway streams` lists them. Sends message by "
        "message, since the client's batch call takes no headers.",
    ),
    click.option(
        "--missing-labels",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="SHARE",
        help="Withhold this share of the labels.",
    ),
    click.option(
        "--label-delay",
        metavar="ROWS|geometric:MEAN|column:NAME",
        help='Send labels by themselves, {"id": .., "y": ..}, behind so many later rows, for --label-wait of a worker; '
        "column: as many as a column says, which is then no feature. Those that are due behind the last row are not "
        "sent.",
    ),
    click.option(
        "--label-topic",
        metavar="TOPIC",
        help="With --label-delay: send labels to this topic, each to its row's partition with its row's key; created "
        "if missing, with as many partitions as that of the rows.  [that of the rows]",
    ),
    click.option(
        "--poison",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="SHARE",
        help="Put a malformed message before this share of the rows, of every kind that workers reject, without an id.",
    ),
    click.option(
        "--transactional",
        metavar="ID[:ROWS]",
        help="Send in transactions of ROWS rows (10000), or of 10 s if that is shorter, under this transactional id.",
    ),
    click.option(
        "--resume",
        metavar="FILE",
        help="Keep the position in FILE each second and, if it exists, go on there. After a crash some rows arrive "
        "again (at least once), with --transactional none (exactly once).",
    ),
    click.option(
        "--dry-run",
        metavar="FILE",
        help="Write the values to FILE (- is stdout) instead: JSON one per line, packed behind a 4-byte length; with "
        "--label-topic each line has its topic and a tab before it.",
    ),
    click.option(
        "--client",
        type=click.Choice(CLIENTS),
        default=AUTO,
        show_default=True,
        help="How Kafka is talked to: native goes past the Python client to the C library under it, two to three times "
        "as fast; auto takes it where it can be used. --latency, --time-column, --truth and --transactional go through "
        "the Python client all the same.",
    ),
    click.option("-X", "properties", multiple=True, metavar="KEY=VALUE", help="Client property; repeatable."),
    click.option("--client-properties", metavar="FILE", help="File of client properties; -X wins."),
)
TOLD = (
    click.option(
        "--latency",
        is_flag=True,
        help="Report percentiles from the moment a row was due to the broker's acknowledgement, of every message; "
        "costs some 5 us of processor time a message, so not by default.",
    ),
    click.option("--json", is_flag=True, help="Report as one JSON object on stdout."),
    click.option("--quiet", is_flag=True, help="No progress bar and no closing line."),
)


def options(*groups: tuple[Decorator, ...]) -> Decorator:
    """One decorator of groups of options, shown in this order."""

    def decorate(command: Any) -> Any:
        for group in reversed(groups):
            for option in reversed(group):
                command = option(command)
        return command

    return decorate

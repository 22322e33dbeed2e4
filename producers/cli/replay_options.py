"""The options of `driftway replay`, grouped as in its help: where to, which rows, when, how, and what to report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from driftway.producers.cli.injecting import inject_option
from driftway.worker.cli.file_options import file_options
from driftway.worker.cli.options import address
from driftway.worker.kafka.client_config import AUTO, CLIENTS

FOREVER = "forever"
FLAGS = {"profile": "--load-profile", "truth": "--concept-headers", "transactional": "--transactional-id"}
"""Parameter -> option, where the names differ."""

Decorator = Callable[[Any], Any]


def flag(name: str) -> str:
    """Return the option of a parameter, as it is typed."""
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


WHERE = (
    click.option(
        "--bootstrap",
        default="localhost:9092",
        show_default=True,
        metavar="ADDR",
        callback=address,
        help="Bootstrap address of the Kafka cluster.",
    ),
    click.option("--to", default="EVENTS", show_default=True, metavar="TOPIC", help="Topic to write to."),
    click.option(
        "--partitions",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of partitions of the topic, which is created if it is missing.  [as many as it has; 1 if created]",
    ),
    click.option("--key", metavar="COLUMN", help="Column to use as the key, whose hash determines the partition."),
    click.option("--partition", type=click.IntRange(min=0), metavar="P", help="Send every row to this partition."),
)
WHICH = (
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Send at most N rows."),
    click.option(
        "--skip",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Leave out the first N rows. Ids still count them.",
    ),
    click.option(
        "--loop",
        is_flag=False,
        flag_value=FOREVER,
        default="1",
        metavar="[N]",
        help="Send the stream N times, or forever without N. Ids continue.",
    ),
    click.option(
        "--shuffle",
        is_flag=True,
        help="Shuffle the rows, into the same order for each pass. The stream is kept in memory, at 8 (features + 2) "
        "bytes per row.",
    ),
    inject_option,
    click.option(
        "--label", metavar="NAME", help="Label column of a file.  [y; of an ARFF file the last one, if it is nominal]"
    ),
    click.option(
        "--labels",
        metavar="A,B",
        help="Class names in class order. Events contain them, as `driftway worker --labels` expects.",
    ),
    click.option("--drop", multiple=True, metavar="COLUMN", help="Column of a file to leave out. Repeatable."),
    file_options,
    click.option("--data-dir", metavar="DIR", help="Folder of files that are given without a path.  [$DRIFTWAY_DATA]"),
    click.option(
        "--seed",
        type=int,
        default=1,
        show_default=True,
        help="Seed of a generator, --inject, --shuffle, --poison, --missing-labels and --label-delay.",
    ),
)
WHEN = (
    click.option(
        "--rate", type=click.FloatRange(min=0, min_open=True), metavar="R", help="Rows per second.  [unlimited]"
    ),
    click.option(
        "--load-profile",
        "profile",
        metavar="PROFILE",
        help="Varying rate: burst:every=10,rows=5000, ramp:from=100,to=50000,seconds=60, "
        "sine:low=100,high=5000,period=60, or constant:rate=100.",
    ),
    click.option(
        "--time-column",
        metavar="COLUMN",
        help="Send rows at the times in this column, relative to the first row: numbers, timestamps of Parquet, or "
        "text in ISO 8601, in UTC if it names no zone. The times become t and the timestamps of the messages. Kafka "
        "deletes messages by them, so a topic that is created keeps them all (retention.ms=-1). If an existing topic "
        "does not, there is a warning. The column remains a feature.",
    ),
    click.option(
        "--time-unit",
        type=click.Choice(["s", "ms", "us", "ns", "days"]),
        default="ms",
        show_default=True,
        help="Unit of numbers in --time-column.",
    ),
    click.option(
        "--speed",
        type=click.FloatRange(min=0, min_open=True),
        metavar="F",
        help="With --time-column: send F times as fast as the recorded times.  [1]",
    ),
)
HOW = (
    click.option(
        "--format",
        type=click.Choice(["json", "packed"]),
        default="json",
        show_default=True,
        help="Message format. In packed messages labels are class indices, also with --labels.",
    ),
    click.option(
        "--raw",
        is_flag=True,
        help="Send the rows of a file as they are: each as a JSON object of its columns, or the JSON lines of the "
        "file. --key then takes a path.",
    ),
    click.option("--named", is_flag=True, help="Write x as an object with feature names (json only)."),
    click.option(
        "--concept-headers",
        "truth",
        is_flag=True,
        help="Add two headers to every message: `concept`, the id of the concept of its row, and `changed`, the last "
        "drift point of the stream at or before that row (0: none yet). `driftway streams` lists both. Messages are "
        "then sent one by one, because the client's batch call accepts no headers.",
    ),
    click.option(
        "--missing-labels",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="SHARE",
        help="Leave out this share of the labels.",
    ),
    click.option(
        "--label-delay",
        metavar="ROWS|geometric:MEAN|column:NAME",
        help='Send labels separately, as {"id": .., "y": ..}, this many rows later, for a worker with --label-wait. '
        "column: the number of rows is in this column, which is then not a feature. Labels that are due after the last "
        "row are not sent.",
    ),
    click.option(
        "--label-topic",
        metavar="TOPIC",
        help="With --label-delay: send labels to this topic, each to the partition of its row and with the key of its "
        "row. The topic is created if it is missing, with as many partitions as the topic of the rows.  [the topic of "
        "the rows]",
    ),
    click.option(
        "--poison",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="SHARE",
        help="Insert a malformed message without an id before this share of the rows. The messages are of every kind "
        "that workers reject.",
    ),
    click.option(
        "--transactional-id",
        "transactional",
        metavar="ID[:ROWS]",
        help="Send in transactions with this transactional id. Each has ROWS rows (default 10000), or fewer if 10 s "
        "are over.",
    ),
    click.option(
        "--resume",
        metavar="FILE",
        help="Save the position to FILE every second. If FILE exists, continue from there. After a crash some rows are "
        "sent again (at least once); with --transactional-id none are (exactly once).",
    ),
    click.option(
        "--dry-run",
        metavar="FILE",
        help="Write the values to FILE (- is stdout) instead of Kafka: JSON values one per line, packed values each "
        "after a 4-byte length. With --label-topic each line starts with its topic and a tab.",
    ),
    click.option(
        "--client",
        type=click.Choice(CLIENTS),
        default=AUTO,
        show_default=True,
        help="Kafka client. native calls the C library (librdkafka) directly instead of the Python client and is two "
        "to three times as fast. auto uses native where possible. --latency, --time-column, --concept-headers and "
        "--transactional-id always use the Python client.",
    ),
    click.option("-X", "properties", multiple=True, metavar="KEY=VALUE", help="Client property; repeatable."),
    click.option(
        "--client-properties",
        metavar="FILE",
        help="File with client properties, one key=value per line; -X overrides it.",
    ),
)
TOLD = (
    click.option(
        "--latency",
        is_flag=True,
        help="Report percentiles, over all messages, of the time from when a row was due until the broker acknowledged "
        "it. This costs about 5 us of CPU time per message, so it is off by default.",
    ),
    click.option("--json", is_flag=True, help="Print the report as one JSON object on stdout."),
    click.option("--quiet", is_flag=True, help="Show neither a progress bar nor a closing line."),
)


def options(*groups: tuple[Decorator, ...]) -> Decorator:
    """Combine groups of options into one decorator; the help lists them in this order."""

    def decorate(command: Any) -> Any:
        for group in reversed(groups):
            for option in reversed(group):
                command = option(command)
        return command

    return decorate

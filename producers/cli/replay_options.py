"""The options of `driftway replay`, grouped as in its help: where to, which rows, when, how, and what to report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from driftway.producers.cli.injecting import inject_option
from driftway.worker.cli.file_options import file_options
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
        "--bootstrap", default="localhost:9092", show_default=True, metavar="ADDR", help="Address of a broker."
    ),
    click.option("--to", default="EVENTS", show_default=True, metavar="TOPIC", help="Topic to write to."),
    click.option(
        "--partitions",
        type=click.IntRange(min=1),
        metavar="N",
        help="Partitions of the topic, which is created if missing.  [as many as it has; 1 if created]",
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
        help="Leave out the first N rows; ids count them too.",
    ),
    click.option(
        "--loop",
        is_flag=False,
        flag_value=FOREVER,
        default="1",
        metavar="[N]",
        help="Send the stream N times, or forever without N; ids continue.",
    ),
    click.option(
        "--shuffle",
        is_flag=True,
        help="Shuffle the rows, in the same order for each pass; keeps the stream in memory, 8 (features + 2) bytes a "
        "row.",
    ),
    inject_option,
    click.option(
        "--label", metavar="NAME", help="Label column of a file.  [y; of an ARFF file the last one, if it is nominal]"
    ),
    click.option(
        "--labels",
        metavar="A,B",
        help="Labels in class order; events contain them, as `driftway worker --labels` reads them.",
    ),
    click.option("--drop", multiple=True, metavar="COLUMN", help="Column of a file to leave out; repeatable."),
    file_options,
    click.option(
        "--data-dir", metavar="DIR", help="Folder of the files that are named without a path.  [$DRIFTWAY_DATA]"
    ),
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
        help="Send rows at the times in this column, relative to the first; they become the messages' t and "
        "timestamps, which the topic's retention depends on.",
    ),
    click.option(
        "--time-unit",
        type=click.Choice(["s", "ms", "us", "ns", "days"]),
        default="ms",
        show_default=True,
        help="Unit of --time-column.",
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
        help="Message format.",
    ),
    click.option(
        "--raw",
        is_flag=True,
        help="Send rows of a file as they are: each as a JSON object of its columns, or the file's JSON lines; --key "
        "takes a path.",
    ),
    click.option("--named", is_flag=True, help="Write x as an object by feature name (json)."),
    click.option(
        "--concept-headers",
        "truth",
        is_flag=True,
        help="Add two headers to every message: `concept`, the id of its row's concept, and `changed`, the stream's "
        "last drift point at or before that row (0: none yet), both as `driftway streams` lists them. Sends messages "
        "one by one, because the client's batch call takes no headers.",
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
        help='Send labels separately, as {"id": .., "y": ..}, this many rows later, for a worker with --label-wait; '
        "column: the number of rows is in this column, which is then not a feature. Labels due after the last row are "
        "not sent.",
    ),
    click.option(
        "--label-topic",
        metavar="TOPIC",
        help="With --label-delay: send labels to this topic, each to its row's partition with its row's key; created "
        "if missing, with as many partitions as the topic of the rows.  [the topic of the rows]",
    ),
    click.option(
        "--poison",
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="SHARE",
        help="Insert a malformed message before this share of the rows, of every kind that workers reject, without an "
        "id.",
    ),
    click.option(
        "--transactional-id",
        "transactional",
        metavar="ID[:ROWS]",
        help="Send in transactions of ROWS rows (10000), or of 10 s if that is sooner, under this transactional id.",
    ),
    click.option(
        "--resume",
        metavar="FILE",
        help="Save the position to FILE every second and, if it exists, continue from there. After a crash some rows "
        "are sent again (at least once), with --transactional-id none (exactly once).",
    ),
    click.option(
        "--dry-run",
        metavar="FILE",
        help="Write the values to FILE (- is stdout) instead of Kafka: JSON one per line, packed each after a 4-byte "
        "length; with --label-topic each line starts with its topic and a tab.",
    ),
    click.option(
        "--client",
        type=click.Choice(CLIENTS),
        default=AUTO,
        show_default=True,
        help="Kafka client: native bypasses the Python client and calls the C library under it, two to three times as "
        "fast; auto uses it where possible. --latency, --time-column, --concept-headers and --transactional-id always "
        "use the Python client.",
    ),
    click.option("-X", "properties", multiple=True, metavar="KEY=VALUE", help="Client property; repeatable."),
    click.option("--client-properties", metavar="FILE", help="File of client properties; -X overrides it."),
)
TOLD = (
    click.option(
        "--latency",
        is_flag=True,
        help="Report percentiles of the time from when a row was due to the broker's acknowledgement, over all "
        "messages; costs some 5 us of CPU time per message, so off by default.",
    ),
    click.option("--json", is_flag=True, help="Print the report as one JSON object on stdout."),
    click.option("--quiet", is_flag=True, help="Show no progress bar and no closing line."),
)


def options(*groups: tuple[Decorator, ...]) -> Decorator:
    """Combine groups of options into one decorator; the help lists them in this order."""

    def decorate(command: Any) -> Any:
        for group in reversed(groups):
            for option in reversed(group):
                command = option(command)
        return command

    return decorate

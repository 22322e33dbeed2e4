"""Options of `driftway evaluate` that repeat a history of plans, or read what workers saw, and what goes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from driftway.worker.cli.event_options import registry_options
from driftway.worker.cli.options import Command, client_options, outputs_option, was_given, was_typed, with_options
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.registry.parser import FORMS as REGISTERED
from driftway.worker.wire.codec import FORMATS, JSON

OF_TOPICS = (
    "topic", "group", "outputs", "partition", "form", "registry", "registry_properties", "warm_start", "bootstrap",
    "properties", "client_properties", "as_json", "csv", "parquet",
)  # fmt: skip
"""What goes with --topic, whose group has the other options."""
OF_PLANS = ("plan", "scores", "points")
NOT_OF_FILES = (
    "learner", "warm_start", "frozen", "protocol", "skip", "label_delay", "share", "holdout_every",
    "holdout_rows", "holdout_noisy", "regret", "jobs", "curves", "curve_metric", "grids", "table", "outputs", "form",
    "registry", "registry_properties", "first", "out", "topic", "bootstrap", "properties", "client_properties",
)  # fmt: skip
"""What does not go with --plan on a STREAM."""
ONLY_HERE = {
    "group": "--topic or --plan", "partition": "--topic or --plan", "first": "--topic", "points": "--plan",
    "accuracy_every": "--plan",
    **dict.fromkeys(
        ("outputs", "form", "registry", "registry_properties", "bootstrap", "properties", "client_properties"),
        "--topic",
    ),
}  # fmt: skip
"""Options that mean nothing without others."""


def replay_options(command: Command) -> Command:
    """--plan, --topic, --group, --partition, --from, --points, --accuracy-every, --format, --registry and clients'."""
    options = [
        click.option(
            "--plan",
            metavar="FILE",
            help="Repeat a history of plans, as printed by `driftway models history --json`. The models change at its "
            "offsets; row i of a STREAM has offset i.",
        ),
        click.option(
            "--topic",
            metavar="EVENTS",
            help="Evaluate on the rows that the workers of --group saw, instead of a STREAM, with the options of the "
            "group: what would --learner have predicted?",
        ),
        click.option(
            "--group",
            help="With --topic: the workers' consumer group, needed if several groups read the topic. With --plan: the "
            "name of the group in accuracy points.",
        ),
        click.option(
            "--partition",
            type=click.IntRange(0),
            metavar="P",
            help="With --topic: read only this partition. With --plan: use the offsets of this partition.",
        ),
        click.option(
            "--from",
            "first",
            multiple=True,
            metavar="OFFSET|PARTITION:OFFSET",
            help="With --topic: first row. Repeatable.  [default: the first row of the group]",
        ),
        click.option(
            "--points", metavar="FILE", help="With --plan: write the accuracy points to FILE as a worker does."
        ),
        click.option(
            "--accuracy-every",
            type=click.IntRange(1),
            default=500,
            show_default=True,
            help="With --plan: rows between two accuracy points of a partition.",
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice((*FORMATS, *REGISTERED)),
            default=JSON,
            show_default=True,
            help="With --topic: format of the events. The last three need --registry.",
        ),
        registry_options,
        outputs_option,
        client_options,
    ]
    return with_options(command, options)


def check_replay_options(streams: tuple[str, ...], given: dict[str, Any]) -> None:
    """Refuse options that do not go together.

    Raises
    ------
    UsageFailure
        The message names the option.
    """
    if given["topic"] is not None:
        if streams:
            raise UsageFailure("--topic takes the place of a STREAM: leave one of them out")
        goes = (*OF_TOPICS, *OF_PLANS) if given["plan"] else (*OF_TOPICS, "learner", "first")
        _refuse(lambda name: name not in goes, "--topic with --plan" if given["plan"] else "--topic")
        if given["plan"] is None and not was_given("learner"):
            raise UsageFailure("--topic: name the learners to compare with the workers, --learner NAME")
    elif given["plan"] is not None:
        if len(streams) != 1:
            raise UsageFailure("--plan: name one STREAM, or the --topic of a group")
        _refuse(lambda name: name in NOT_OF_FILES, "--plan")
        if given["partition"] is not None and given["partitions"] > 1:
            raise UsageFailure("--partition says which partition a STREAM is: leave --partitions out")
    else:
        for name, option in _typed_options():
            if name in ONLY_HERE:
                raise UsageFailure(f"{option} needs {ONLY_HERE[name]}")


def _refuse(is_wrong: Callable[[str], bool], mode: str) -> None:
    """Refuse the typed options for whose names `is_wrong` holds."""
    for name, option in _typed_options():
        if is_wrong(name):
            raise UsageFailure(f"{option} does not go with {mode}")


def _typed_options() -> Iterator[tuple[str, str]]:
    """Yield the name of each option of the current command that was typed, and how it is written."""
    for parameter in click.get_current_context().command.params:
        if isinstance(parameter, click.Option) and parameter.name is not None and was_typed(parameter.name):
            yield parameter.name, parameter.opts[0]


def beginnings(given: tuple[str, ...]) -> Callable[[int], int | None]:
    """Parse --from; return partition -> the offset to begin at, None: the first.

    Raises
    ------
    UsageFailure
        A value is neither OFFSET nor PARTITION:OFFSET, or two are for the same partition.
    """
    found = dict[int | None, int]()
    for text in given:
        partition, colon, offset = text.rpartition(":")
        numbers = [offset, *([partition] if colon else [])]
        if not all(number.isascii() and number.isdecimal() and len(number) < 19 for number in numbers):
            raise UsageFailure(f"--from {text}: write OFFSET, or PARTITION:OFFSET as in 0:10000")
        key = int(partition) if colon else None
        if key in found:
            raise UsageFailure(f"--from {text}: {'all partitions are' if key is None else f'{key} is'} given twice")
        found[key] = int(offset)
    return lambda partition: found.get(partition, found.get(None))

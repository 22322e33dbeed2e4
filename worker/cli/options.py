"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from driftway.worker.kafka.client_config import AUTO, CLIENTS, PROTOCOLS

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_BOOTSTRAP = "localhost:9092"
LARGEST_PORT = 65535


def was_given(option: str) -> bool:
    """Return whether an option of the current command was given, by flag, environment or file."""
    return click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT


def was_typed(option: str) -> bool:
    """Return whether it was given by flag, and not as a default for all commands in the environment or a file."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def with_options(command: Command, options: Sequence[Callable[[Any], Any]]) -> Command:
    """Add options to a command, whose help lists them in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def group_of_outputs(command: Command) -> Command:
    """Add ``--group`` and ``--output-prefix`` to a command that only reads outputs."""
    return only_group_option(outputs_option(command))


def only_group_option(command: Command) -> Command:
    """Add ``--group`` to a command that finds the group by itself if only one reads the input."""
    group = click.option("--group", help="The workers' consumer group. Needed if several groups read the input.")
    return group(command)


def outputs_option(command: Command) -> Command:
    """Add ``--output-prefix``; the command gets `outputs`, empty by default."""
    return click.option(
        "--output-prefix",
        "outputs",
        default="",
        metavar="PREFIX",
        help="Prefix of the names of the output topics.  [default: INPUT.GROUP]",
    )(command)


def late_label_options(command: Command) -> Command:
    """Add ``--label-wait`` and ``--label-topic``; the command gets `label_wait` (None) and `label_topic` (empty)."""
    options = (
        click.option(
            "--label-wait",
            metavar="ROWS|TIME[/ROWS]",
            help="How long an event waits for its label: 10000 (rows), 12h or 7d/50000 (time and rows). The label "
            'arrives as {"id": .., "y": ..} in the same partition.  [default: labels come with their events, or not at '
            "all]",
        ),
        click.option(
            "--label-topic",
            default="",
            metavar="TOPIC",
            help="With --label-wait: topic of the labels. It must have as many partitions as the input, with each "
            "label in the partition of its event.  [default: labels are among the events]",
        ),
    )
    return with_options(command, options)


def address(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Check that a bootstrap address has no password, which messages would show, and is no URL, but as clients read."""
    if value is None:
        return None
    if "@" in value:
        raise click.BadParameter(
            "user and password do not go into the address; write HOST:PORT, and give -X sasl.username=.. and "
            "-X sasl.password=..",
            context,
            option,
        )
    for one in map(str.strip, value.split(",")):
        scheme, _, host = one.partition("://")
        if host and scheme.upper() not in PROTOCOLS:
            words = f"{one!r} is a URL; write HOST:PORT, as in {host.rstrip('/')!r}."
            raise click.BadParameter(words, context, option)
        ip, _, port = (host or one).rpartition(":")
        if re.fullmatch(r"[\da-fA-F]*:[\da-fA-F:]*", ip):
            raise click.BadParameter(f"an IPv6 address needs brackets: write [{ip}]:{port}.", context, option)
        if re.search(r"[;\s]", one):
            raise click.BadParameter(f"{one!r} is not one address; separate several by commas.", context, option)
        if ip and not one.endswith("]") and not (re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) <= LARGEST_PORT):
            raise click.BadParameter(f"{port!r} is not a port; write HOST:PORT.", context, option)
    return value


def client_options(command: Command) -> Command:
    """Add ``--bootstrap``, ``-X`` and ``--client-properties``.

    The command gets `bootstrap` (text), `properties` (a tuple of ``key=value`` texts) and `client_properties` (a
    file's name or None); `driftway.worker.kafka.client_config.parse_properties` takes the last two.
    """
    options = (
        click.option(
            "--bootstrap",
            default=DEFAULT_BOOTSTRAP,
            show_default=True,
            metavar="HOST:PORT[,..]",
            callback=address,
            help="Bootstrap address of the Kafka cluster.",
        ),
        click.option(
            "-X",
            "properties",
            multiple=True,
            metavar="KEY=VALUE",
            envvar="DRIFTWAY_X",
            help="Any property of the Kafka client (librdkafka); repeatable.",
        ),
        click.option(
            "--client-properties",
            metavar="FILE",
            help="File with client properties, one key=value per line; -X overrides it.",
        ),
    )
    return with_options(command, options)


def reading_option(command: Command) -> Command:
    """Add ``--client``: how records are read. The command gets `client`, for `worker/kafka/client_factory.py`."""
    return click.option(
        "--client",
        type=click.Choice(CLIENTS),
        default=AUTO,
        show_default=True,
        help="Kafka client that reads events. native calls the C library (librdkafka) directly instead of the Python "
        "client; the result is the same. auto uses native where possible.",
    )(command)

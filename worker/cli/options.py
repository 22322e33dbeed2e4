"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_BOOTSTRAP = "localhost:9092"


def was_given(option: str) -> bool:
    """Whether an option of the present command was given, by flag, environment or file."""
    return click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT


def was_typed(option: str) -> bool:
    """Whether it was given by flag: a default for all commands, out of the environment or a file, was not."""
    return click.get_current_context().get_parameter_source(option) is ParameterSource.COMMANDLINE


def client_options(command: Command) -> Command:
    """Add ``--bootstrap``, ``-X`` and ``--client-properties``.

    The command gets `bootstrap` (text), `properties` (a tuple of ``key=value`` texts) and `client_properties` (a
    file's name or None); `worker.client.parse_properties` takes the last two.
    """
    options = (
        click.option(
            "--bootstrap",
            default=DEFAULT_BOOTSTRAP,
            show_default=True,
            metavar="HOST:PORT[,..]",
            help="Kafka's bootstrap address.",
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
            help="File of client properties, key=value lines; -X wins over it.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command

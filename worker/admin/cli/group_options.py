"""Options of the commands about a group's states, and the lookup of the partitions that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from driftway.worker.cli.event_options import given_registry, registry_options
from driftway.worker.cli.options import client_options, only_group_option, outputs_option
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import parse_properties
from driftway.worker.kafka.registry.event_format import JSON_FORMAT, EventFormat
from driftway.worker.kafka.registry.parser import FORMS as REGISTERED
from driftway.worker.wire.codec import FORMATS, JSON

if TYPE_CHECKING:
    from driftway.worker.admin.state_admin.source import GroupPartition

F = TypeVar("F", bound=Callable[..., Any])


def group_options(required: bool = True, new: bool = False) -> Callable[[F], F]:
    """Add --input, --group and --output-prefix, along with --bootstrap, -X and --client-properties.

    A command gets None for a group that is not given, unless it may make a `new` one; `find_group` finds it.
    """

    def add(command: F) -> F:
        command = outputs_option(client_options(command))
        if new:
            command = click.option("--group", required=True, help="The workers' consumer group.")(command)
        else:
            command = only_group_option(command)
        return click.option(
            "--input",
            "input_",
            required=required,
            metavar="EVENTS",
            help="Topic with the events that the workers read.",
        )(command)

    return add


def partition_option(required: bool) -> Callable[[F], F]:
    """Add --partition."""
    kind = click.IntRange(0)
    return click.option("--partition", type=kind, required=required, metavar="P", help="Partition of the input.")


def rebuild_options(command: F) -> F:
    """Add --format, --registry, --registry-property and --warm-start, as the workers have them."""
    command = click.option(
        "--warm-start",
        metavar="FILE",
        help="Model file that the workers started from. Needed for states before the first snapshot.",
    )(command)
    return click.option(
        "--format",
        "form",
        type=click.Choice((*FORMATS, *REGISTERED)),
        default=JSON,
        show_default=True,
        help="Format of the events. The last three need --registry.",
    )(registry_options(command))


def given_form(given: dict[str, Any]) -> EventFormat:
    """The event format given by the options of `rebuild_options`.

    Raises
    ------
    UsageFailure
        The options do not fit together, or the registry's address or a property is invalid.
    Failure
        The package that reads such events is not installed.
    """
    if "form" not in given:
        return JSON_FORMAT
    name, properties = given["form"], given_registry(given)
    registry = given["registry"] if name in REGISTERED else None  # workers may have it for their predictions only
    form = EventFormat(name, registry, properties)
    form.loads()  # fail early if the format is invalid, before the broker is asked
    return form


def at_options(command: F) -> F:
    """Add --at, along with `rebuild_options`."""
    return click.option(
        "--at",
        type=click.IntRange(0),
        metavar="OFFSET",
        help="Take the state after all rows before this input offset.  [default: the newest committed snapshot]",
    )(rebuild_options(command))


def find_group(given: dict[str, Any], input_: str, passthrough: dict[str, Any]) -> str:
    """Return the group that the options name, or else the only one that has outputs of the input.

    Raises
    ------
    UsageFailure
        It is not given, and there is none or more than one, or the outputs have a prefix, which does not tell.
    Failure, Unreachable
        The broker refuses, or does not answer.
    """
    if given["group"] is not None:
        return str(given["group"])
    if given["outputs"]:
        raise UsageFailure("--output-prefix does not tell the group: give --group, too")
    from driftway.worker.kafka.topics import present_topics, written_for

    return written_for(present_topics(given["bootstrap"], passthrough), input_).group


def asked_partitions(given: dict[str, Any], partition: int | None, new: bool = False) -> list[GroupPartition]:
    """Look up the partition that the options name, or all partitions, at the broker; fill in the group."""
    from driftway.worker.admin.state_admin.source import find_partitions, settings_for
    from driftway.worker.state.model_file import load

    form = given_form(given)
    passthrough = parse_properties(given["properties"], given["client_properties"])
    warm = None if given.get("warm_start") is None else load(given["warm_start"]).warm_start()
    given["group"] = find_group(given, given["input_"], passthrough)
    target = given["bootstrap"], given["input_"], given["group"], passthrough
    return find_partitions(settings_for(*target, warm, given["outputs"]), partition, new, form)

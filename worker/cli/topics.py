"""``driftway topics``: create or check the topics of an input."""

from __future__ import annotations

from typing import Any

import click

from driftway.worker.cli.options import Command, client_options, outputs_option, with_options
from driftway.worker.errors import Failure, plural
from driftway.worker.kafka.client_config import parse_properties

Plan = dict[str, tuple[int, dict[str, str]]]


def _topic_options(command: Command) -> Command:
    options = (
        click.option(
            "--input", "input_topic", required=True, metavar="EVENTS", envvar="DRIFTWAY_INPUT", help="Input topic."
        ),
        click.option(
            "--partitions", type=click.IntRange(1), required=True, metavar="N", help="Partitions of each topic."
        ),
        click.option("--group", metavar="GROUP", help="Include the output topics of this consumer group."),
        click.option(
            "--alarms",
            is_flag=True,
            help="With --group: include the topic of drift alarms, for workers with --detector.",
        ),
        click.option(
            "--shares",
            is_flag=True,
            help="With --group: include the topic through which partitions share models, for workers with "
            "--share-models.",
        ),
        click.option(
            "--challengers",
            is_flag=True,
            help="With --group: include the topic of the challengers' predictions, for workers with --emit all.",
        ),
        outputs_option,
    )
    return client_options(with_options(command, options))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def topics() -> None:
    """Create or check the topics of an input.

    These are the input itself and, with --group, what its workers write: EVENTS.GROUP.predictions, .accuracy, .rejected
    and the compacted .snapshots, with --alarms also .alarms, with --challengers .challengers, with --shares the
    compacted .shares, all with as many partitions as the input.

    \b
    Examples:
      driftway topics create --input EVENTS --partitions 4 --group sea
      driftway topics check --input EVENTS --partitions 4 --group sea

    Driftway deletes no topics. To remove a group, stop its workers, then delete its output topics with kafka-topics.sh
    and its offsets with kafka-consumer-groups.sh: the input stays, and a group of that name begins with an empty model.
    """


@topics.command()
@_topic_options
@click.option(
    "--replication-factor",
    "replication",
    type=click.IntRange(1),
    metavar="R",
    help="Replication factor of each topic.  [default: the cluster's]",
)
def create(
    input_topic: str,
    partitions: int,
    group: str | None,
    alarms: bool,
    shares: bool,
    challengers: bool,
    outputs: str,
    replication: int | None,
    bootstrap: str,
    properties: tuple[str, ...],
    client_properties: str | None,
) -> None:
    """Create the topics that are missing. Existing topics are left unchanged."""
    from driftway.worker.kafka.topics import create_topics

    passthrough = parse_properties(properties, client_properties)
    plan = _plan(input_topic, partitions, group, outputs, watched=alarms, shared=shares, challenged=challengers)
    created = create_topics(bootstrap, passthrough, plan, -1 if replication is None else replication)
    for name in plan:
        click.echo(
            f"{'created' if name in created else 'exists '} {name} ({plural(partitions, 'partition')})", err=True
        )


@topics.command()
@_topic_options
def check(
    input_topic: str,
    partitions: int,
    group: str | None,
    alarms: bool,
    shares: bool,
    challengers: bool,
    outputs: str,
    bootstrap: str,
    properties: tuple[str, ...],
    client_properties: str | None,
) -> None:
    """Report topics that are missing or have other settings. The exit code is 1 if there are any."""
    from driftway.worker.kafka.cluster import wrong_settings
    from driftway.worker.kafka.topics import present_topics

    passthrough = parse_properties(properties, client_properties)
    present = present_topics(bootstrap, passthrough)
    plan = _plan(input_topic, partitions, group, outputs, watched=alarms, shared=shares, challenged=challengers)
    wrong = [f"{name} is missing" for name in plan if name not in present]
    wrong += [
        f"{name} has {plural(present[name], 'partition')}, not {wanted}"
        for name, (wanted, _) in plan.items()
        if present.get(name, wanted) != wanted
    ]
    wrong += _compacted_input(bootstrap, passthrough, [input_topic] if input_topic in present else [])
    there = {name: plan[name] for name in plan if name in present and name != input_topic}
    wrong += [one.sentence for one in wrong_settings(bootstrap, passthrough, there)]
    if wrong:
        raise Failure("; ".join(wrong))
    right = plural(len(plan), f"topic of {input_topic} is", f"topics of {input_topic} are")
    click.echo(f"{right} set up as expected", err=True)


def _plan(input_topic: str, partitions: int, group: str | None, outputs: str, **more: Any) -> Plan:
    from driftway.worker.kafka.topics import Topics, output_plan, require_prefix

    require_prefix(outputs, input_topic, group or "")
    plan: Plan = {input_topic: (partitions, {})}
    if group is not None or outputs:
        plan |= output_plan(Topics(input_topic, group or "", outputs, **more), partitions)
    return plan


def _compacted_input(bootstrap: str, passthrough: dict[str, Any], topics: list[str]) -> list[str]:
    """Return a message per input topic that is compacted."""
    from driftway.worker.kafka.log_reader.topic_facts import COMPACTED_INPUT, compacted_topics

    compacted = compacted_topics(bootstrap, passthrough, topics)
    return [f"{name} has cleanup.policy {policy}: {COMPACTED_INPUT}" for name, policy in compacted.items()]

"""What the commands of `driftway models` share: options, the lookup of a group, writing and showing a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from driftway.worker.admin.cli.group_options import find_group, group_options
from driftway.worker.errors import UsageFailure, plural, shown
from driftway.worker.kafka.client_config import parse_properties

if TYPE_CHECKING:
    from driftway.worker.admin.models import GroupModels
    from driftway.worker.state.plans.configuration import Configuration
    from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel

F = TypeVar("F", bound=Callable[..., Any])


def change_options(command: F) -> F:
    """Add the options of a command that writes a plan: where partitions adopt it, and the group's."""
    command = click.option(
        "--at-time",
        type=click.DateTime(("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d")),
        metavar="TIME",
        help="Apply the plan in every partition at the first record of this time or later: 2026-11-01T00:00:00Z (UTC, "
        "unless it has an offset).",
    )(command)
    command = click.option(
        "--at",
        "offsets",
        multiple=True,
        metavar="PARTITION:OFFSET",
        help="Apply the plan at this input offset of the partition. Repeatable.  [default: at the next commit of each "
        "partition]",
    )(command)
    command = click.option(
        "--transactional-id-prefix",
        default="",
        metavar="PREFIX",
        help="Prefix of the transactional ids, as the workers have it.",
    )(command)
    return group_options()(command)


def begin_option(command: F) -> F:
    """--begin."""
    return click.option(
        "--begin",
        type=click.Choice(("empty", "relearned")),
        help="How to start models that cannot keep their state when the features change. empty: with an empty state. "
        "relearned: with what they would have learned from the log of the partition with these features.",
    )(command)


def looked_up(given: dict[str, Any]) -> GroupModels:
    """Look up the group that the options name."""
    from driftway.worker.admin.models import find_models
    from driftway.worker.admin.state_admin.source import settings_for

    passthrough = parse_properties(given["properties"], given["client_properties"])
    group = find_group(given, given["input_"], passthrough)
    settings = settings_for(given["bootstrap"], given["input_"], group, passthrough, None, given["outputs"])
    settings = replace(settings, transactional_id_prefix=given.get("transactional_id_prefix", ""))
    return find_models(settings, _tell)


def _tell(sentence: str) -> None:
    click.echo(sentence, err=True)


def write_change(
    given: dict[str, Any],
    change: str,
    models_of: Callable[[GroupModels], Sequence[PlannedModel]],
    configuration_of: Callable[[GroupModels], Configuration] = lambda group: group.newest.configuration,
    relearn_from: dict[int, int] | None = None,
    begin: str | None = None,
) -> None:
    """Write the next plan, with the models and the configuration that functions make of the present ones."""
    from driftway.worker.admin.models import offsets_at, write_next
    from driftway.worker.state.plans.configuration import described_change

    offsets = parsed_offsets(given["offsets"])
    if offsets and given["at_time"] is not None:
        raise UsageFailure("give --at or --at-time, not both")
    group = looked_up(given)
    if given["at_time"] is not None:
        at: datetime = given["at_time"]
        at = at.replace(tzinfo=at.tzinfo or UTC)
        offsets = offsets_at(group, round(1000 * at.timestamp()))
    plan = write_next(
        group, models_of(group), offsets, change, _tell, configuration_of(group), relearn_from or {}, begin or ""
    )
    where = ", ".join(f"{p}:{offset}" for p, offset in sorted(offsets.items()))
    at_commit = "each partition adopts it at its next commit"
    if where:
        others = "" if len(offsets) == len(group.partitions) else ", the others at their next commit"
        at_commit = f"adopted at {where}{others}"
    if plan.relearned_after(group.newest):
        at_commit += ", once it has relearned the log"
    said = [f"champion {plan.champion}{_challengers(plan)}"]
    anew = ", ".join(model.name for model in plan.models if model.anew)
    said += [f"{anew} begins anew"] if anew else []
    said += described_change(group.newest.configuration, plan.configuration)
    click.echo(f"plan {plan.number}: {'; '.join([*said, at_commit])}", err=True)


def parsed_offsets(given: tuple[str, ...], option: str = "--at") -> dict[int, int]:
    """Parse options with the offsets of partitions."""
    offsets: dict[int, int] = {}
    for text in given:
        partition, colon, offset = text.partition(":")
        if not (colon and partition.isdecimal() and offset.isdecimal() and len(text) < 30):
            raise UsageFailure(f"{option} {text}: write PARTITION:OFFSET, as in 0:10000")
        if int(partition) in offsets:
            raise UsageFailure(f"{option} {text}: partition {int(partition)} is given twice")
        offsets[int(partition)] = int(offset)
    return offsets


def _begins(model: PlannedModel) -> str:
    """Say with which state a model begins; empty if with its initial one."""
    if model.origin:
        return f"from {model.origin}"
    if model.relearned:
        return "relearned"
    return "" if model.file is None else f"from file {model.file.name}"


def print_plan(plan: ModelPlan) -> None:
    """Print a plan's number, when it was written and what was changed, and a line for each model."""
    when = datetime.fromtimestamp(plan.made_at / 1000, UTC).strftime(" · %Y-%m-%d %H:%M:%S UTC") if plan.made_at else ""
    click.echo(shown(f"plan {plan.number}{when}{f' · {plan.change}' if plan.change else ''}"))
    for i, model in enumerate(plan.models):
        begins = _begins(model)
        origin = f"  ({begins})" if begins else ""
        click.echo(shown(f"  {'challenger' if i else 'champion  '}  {model.name}{origin}"))
    watching = plan.configuration
    if watching.features is not None:
        click.echo(shown(f"  features    {', '.join(watching.features)}"))
    if watching.detectors is not None:
        click.echo(f"  detectors   {', '.join(spec.text for spec in watching.detectors) or 'none'}")
    if watching.window is not None and watching.accuracy_every is not None:
        click.echo(f"  window      {plural(watching.window, 'row')}, an accuracy point every {watching.accuracy_every}")
    if watching.coverage:
        click.echo(f"  coverage    {watching.coverage}")


def _challengers(plan: ModelPlan) -> str:
    return f", challengers {', '.join(plan.names[1:])}" if len(plan.models) > 1 else ""


def all_partitions(n: int) -> str:
    """Name all of so many partitions."""
    return "the partition" if n == 1 else f"all {n} partitions"

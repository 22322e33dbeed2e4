"""`driftway models`: show and change the models of a group while its workers run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from driftway.worker.admin.cli.snapshot import group_options
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import parse_properties

if TYPE_CHECKING:
    from driftway.worker.admin.models import GroupModels
    from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel

F = TypeVar("F", bound=Callable[..., Any])


def change_options(command: F) -> F:
    """Add the options of a command that writes a plan: where partitions take it, and the group's."""
    command = click.option(
        "--at-time",
        type=click.DateTime(("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d")),
        help="Take it with the first record of that time (UTC), in every partition.",
    )(command)
    command = click.option(
        "--at",
        "places",
        multiple=True,
        metavar="PARTITION:OFFSET",
        help="Take it at this input offset of that partition; repeatable.  [default: at each partition's next commit]",
    )(command)
    command = click.option("--transactional-prefix", default="", metavar="PREFIX", help="As the workers have it.")(
        command
    )
    return group_options()(command)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def models() -> None:
    """The models of a group: show them, and change them while its workers run.

    A group has a champion, whose predictions are written, and challengers. They form a numbered plan; the workers'
    --learner options are plan 1. Each change writes the next plan to EVENTS.GROUP.models. Every partition takes it at
    one offset, in the transaction of a commit: the rows before were predicted by the models of the plan before, those
    from there on by the new ones. A model that stays keeps its state and its metrics, as champion or as challenger.
    Predictions, accuracy points and alarms say to which plan they belong, from the second on.

    \b
    Examples:
      driftway models show --input EVENTS --group sea
      driftway models add dfop --input EVENTS --group sea
      driftway models add pa1:C=1 --from pa1 --input EVENTS --group sea --at 0:10000 --at 1:12000
      driftway models promote dfop --input EVENTS --group sea
      driftway models set dfop mu=0.001 --input EVENTS --group sea
      driftway models rollback --input EVENTS --group sea
    """


@models.command()
@group_options()
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
def show(as_json: bool, **given: Any) -> None:
    """Show the newest plan, and which plan each partition has taken.

    \b
    Examples:
      driftway models show --input EVENTS --group sea
      driftway models show --input EVENTS --group sea --json
    """
    from driftway.worker.wire.codec import write_json

    group = _looked_up(given)
    taken = {str(one.partition): one.plan for one in group.partitions}
    if as_json:
        click.echo(write_json({**group.newest.as_dict(), "taken": taken}).decode())
        return
    _print(group.newest)
    behind = [one for one in group.partitions if one.plan < group.newest.number]
    for one in behind:
        at = group.newest.places.get(one.partition)
        place = "its next commit" if at is None else f"offset {at}"
        when = "its first event" if one.committed is None else place
        click.echo(f"  partition {one.partition} has plan {one.plan} and takes plan {group.newest.number} at {when}")
    if not behind:
        click.echo(f"  taken by {_all_partitions(len(group.partitions))}")


@models.command()
@group_options()
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
def history(as_json: bool, **given: Any) -> None:
    """List all plans, oldest first, with the offset at which each partition took them.

    \b
    Examples:
      driftway models history --input EVENTS --group sea
      driftway models history --input EVENTS --group sea --json
    """
    from driftway.worker.admin.models import places_of
    from driftway.worker.wire.codec import write_json

    group = _looked_up(given)
    places = places_of(group)
    rows = []
    for plan in group.plans:
        taken = {str(p): found[plan.number].offset for p, found in places.items() if plan.number in found}
        rows.append({**plan.as_dict(), "taken_at": taken})
        if not as_json:
            _print(plan)
            if taken:
                click.echo("  taken at " + ", ".join(f"{p}:{offset}" for p, offset in taken.items()))
    if as_json:
        click.echo(write_json(rows).decode())


@models.command()
@click.argument("learner")
@click.option(
    "--from",
    "origin",
    default="",
    metavar="LEARNER",
    help="Begin with the state of this model, if only parameters differ.  [default: empty]",
)
@change_options
def add(learner: str, origin: str, **given: Any) -> None:
    """Add a challenger.

    \b
    Examples:
      driftway models add dfop --input EVENTS --group sea
      driftway models add pa1:C=1 --from pa1 --input EVENTS --group sea
    """
    from driftway.worker.admin.models import added

    _change(given, f"add {learner}{f' --from {origin}' if origin else ''}", lambda g: added(g.newest, learner, origin))


@models.command()
@click.argument("learner")
@change_options
def drop(learner: str, **given: Any) -> None:
    """Drop a challenger; its state is lost.

    \b
    Examples:
      driftway models drop dfop --input EVENTS --group sea
    """
    from driftway.worker.admin.models import dropped

    _change(given, f"drop {learner}", lambda g: dropped(g.newest, learner))


@models.command("set")
@click.argument("learner")
@click.argument("parameters", nargs=-1, required=True, metavar="PARAMETER=VALUE..")
@change_options
def set_(learner: str, parameters: tuple[str, ...], **given: Any) -> None:
    """Change parameters of a model; its state and its metrics stay.

    \b
    Examples:
      driftway models set dfop mu=0.001 --input EVENTS --group sea
    """
    from driftway.learners.engine.parameters import ParameterError, parse_pairs
    from driftway.worker.admin.models import with_parameters

    text = ",".join(parameters)
    try:
        pairs = parse_pairs(text, text)
    except ParameterError as error:
        raise UsageFailure(str(error)) from None
    _change(given, f"set {learner} {' '.join(parameters)}", lambda g: with_parameters(g.newest, learner, pairs))


@models.command()
@click.argument("learner")
@change_options
def promote(learner: str, **given: Any) -> None:
    """Make a challenger the champion; the champion becomes a challenger.

    \b
    Examples:
      driftway models promote dfop --input EVENTS --group sea
      driftway models promote dfop --input EVENTS --group sea --at 0:20000 --at 1:20000
    """
    from driftway.worker.state.plans.next_plan import promoted

    _change(given, f"promote {learner}", lambda g: promoted(g.newest, learner))


@models.command()
@click.option("--to", type=click.IntRange(1), metavar="PLAN", help="Number of the plan.  [default: the one before]")
@change_options
def rollback(to: int | None, **given: Any) -> None:
    """Go back to the models of an earlier plan, as a new plan.

    Models that are still there keep their states, and so does one whose parameters were changed since. One that was
    dropped begins empty.

    \b
    Examples:
      driftway models rollback --input EVENTS --group sea
      driftway models rollback --to 1 --input EVENTS --group sea
    """
    from driftway.worker.admin.models import rolled_back

    _change(given, "rollback" if to is None else f"rollback --to {to}", lambda g: rolled_back(g.plans, to))


def _looked_up(given: dict[str, Any]) -> GroupModels:
    """Look up the group that the options name."""
    from dataclasses import replace

    from driftway.worker.admin.models import find_models
    from driftway.worker.admin.state_admin.source import settings_for

    passthrough = parse_properties(given["properties"], given["client_properties"])
    settings = settings_for(given["bootstrap"], given["input_"], given["group"], passthrough, None, given["outputs"])
    settings = replace(settings, transactional_prefix=given.get("transactional_prefix", ""))
    return find_models(settings, lambda sentence: click.echo(sentence, err=True))


def _change(given: dict[str, Any], change: str, models_of: Callable[[GroupModels], Sequence[PlannedModel]]) -> None:
    """Write the next plan, with the models that a function makes of the present ones."""
    from driftway.worker.admin.models import offsets_at, write_next

    places = _places(given["places"])
    if places and given["at_time"] is not None:
        raise UsageFailure("give --at or --at-time, not both")
    group = _looked_up(given)
    if given["at_time"] is not None:
        at: datetime = given["at_time"]
        places = offsets_at(group, round(1000 * at.replace(tzinfo=UTC).timestamp()))
    plan = write_next(group, models_of(group), places, change, lambda sentence: click.echo(sentence, err=True))
    where = ", ".join(f"{p}:{offset}" for p, offset in sorted(places.items()))
    at_commit = "each partition takes it at its next commit"
    if where:
        others = "" if len(places) == len(group.partitions) else ", the others at their next commit"
        at_commit = f"taken at {where}{others}"
    click.echo(f"plan {plan.number}: champion {plan.champion}{_challengers(plan)}; {at_commit}", err=True)


def _places(given: tuple[str, ...]) -> dict[int, int]:
    """Parse --at options."""
    places: dict[int, int] = {}
    for text in given:
        partition, colon, offset = text.partition(":")
        if not (colon and partition.isdecimal() and offset.isdecimal() and len(text) < 30):
            raise UsageFailure(f"--at {text}: write PARTITION:OFFSET, as in 0:10000")
        if int(partition) in places:
            raise UsageFailure(f"--at {text}: partition {int(partition)} is given twice")
        places[int(partition)] = int(offset)
    return places


def _print(plan: ModelPlan) -> None:
    """Print a plan's number, when it was written and what was changed, and a line for each model."""
    when = datetime.fromtimestamp(plan.made_at / 1000, UTC).strftime(" · %Y-%m-%d %H:%M:%S UTC") if plan.made_at else ""
    click.echo(f"plan {plan.number}{when}{f' · {plan.change}' if plan.change else ''}")
    for i, model in enumerate(plan.models):
        origin = f"  (from {model.origin})" if model.origin else ""
        click.echo(f"  {'challenger' if i else 'champion  '}  {model.name}{origin}")


def _challengers(plan: ModelPlan) -> str:
    return f", challengers {', '.join(plan.names[1:])}" if len(plan.models) > 1 else ""


def _all_partitions(n: int) -> str:
    return "the partition" if n == 1 else f"all {n} partitions"

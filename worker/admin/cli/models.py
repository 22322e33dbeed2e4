"""`driftway models`: show and change the models of a group while its workers run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.admin.cli.group_options import group_options
from driftway.worker.admin.cli.plan_commands import (
    all_partitions,
    begin_option,
    change_options,
    looked_up,
    parsed_offsets,
    print_plan,
    write_change,
)
from driftway.worker.errors import UsageFailure
from driftway.worker.settings.option_values import MAX_COVERAGE, NO_COVERAGE

if TYPE_CHECKING:
    from driftway.worker.admin.models import GroupModels
    from driftway.worker.state.plans.configuration import Configuration

NUMBERS = {"window": "--metric-window", "accuracy_every": "--accuracy-every", "coverage": "--coverage"}
"""Parameter of `configure` -> option."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def models() -> None:
    """The models of a group: show them, and change them while its workers run.

    A group has a champion, whose predictions are written, and challengers. They form a numbered plan; the workers'
    --learner options are plan 1. Each change writes the next plan to EVENTS.GROUP.models. Every partition adopts it at
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
      driftway models configure --detector ddm --metric-window 500 --input EVENTS --group sea
      driftway models rollback --input EVENTS --group sea
    """


@models.command()
@group_options()
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
def show(as_json: bool, **given: Any) -> None:
    """Show the newest plan, and which plan each partition has adopted.

    \b
    Examples:
      driftway models show --input EVENTS --group sea
      driftway models show --input EVENTS --group sea --json
    """
    from driftway.worker.wire.codec import write_json

    group = looked_up(given)
    adopted = {str(one.partition): one.plan for one in group.partitions}
    if as_json:
        click.echo(write_json({**group.newest.as_dict(), "adopted": adopted}).decode())
        return
    print_plan(group.newest)
    behind = [one for one in group.partitions if one.plan < group.newest.number]
    for one in behind:
        at = group.newest.offsets.get(one.partition)
        place = "its next commit" if at is None else f"offset {at}"
        if group.is_relearning(one):
            place = f"{place}, once it has caught up: it is relearning"
        when = "its first event" if one.committed is None else place
        click.echo(f"  partition {one.partition} has plan {one.plan} and adopts plan {group.newest.number} at {when}")
    if not behind:
        click.echo(f"  adopted by {all_partitions(len(group.partitions))}")


@models.command()
@group_options()
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects.")
def history(as_json: bool, **given: Any) -> None:
    """List all plans, oldest first, with the offset at which each partition adopted them.

    The output of --json is the input of `driftway evaluate --plan FILE`.

    \b
    Examples:
      driftway models history --input EVENTS --group sea
      driftway models history --input EVENTS --group sea --json
    """
    from driftway.worker.admin.models import adoptions_of
    from driftway.worker.wire.codec import write_json

    group = looked_up(given)
    adoptions = adoptions_of(group)
    rows = []
    for plan in group.plans:
        adopted = {str(p): found[plan.number].offset for p, found in adoptions.items() if plan.number in found}
        of_plan = {p: found[plan.number].relearned for p, found in adoptions.items() if plan.number in found}
        relearned = {str(p): source.as_dict() for p, source in of_plan.items() if source is not None}
        rows.append({**plan.as_dict(), "adopted_at": adopted, **({"relearned": relearned} if relearned else {})})
        if not as_json:
            print_plan(plan)
            if adopted:
                click.echo("  adopted at " + ", ".join(f"{p}:{offset}" for p, offset in adopted.items()))
    if as_json:
        click.echo(write_json(rows).decode())


@models.command()
@click.argument("learner", default="")
@click.option(
    "--from",
    "origin",
    default="",
    metavar="LEARNER",
    help="Start from the state of this model. Only parameters may differ.  [default: empty]",
)
@click.option(
    "--relearned",
    is_flag=True,
    help="Start with what the learner would have learned from the log of the partition. Workers relearn the log in the "
    "background first.",
)
@click.option(
    "--from-offset",
    "begins",
    multiple=True,
    metavar="PARTITION:OFFSET",
    help="With --relearned: relearn the partition from this input offset on. Repeatable.  [default: the whole log]",
)
@click.option(
    "--from-file",
    "path",
    metavar="FILE",
    help="Add the champion of a model file, with its state. `driftway train` and `driftway snapshot export` write such "
    "files.",
)
@change_options
def add(learner: str, origin: str, relearned: bool, begins: tuple[str, ...], path: str | None, **given: Any) -> None:
    """Add a challenger.

    With --from-file the learner is that of the file. Its state is written to the topic of plans, so workers do not need
    the file. The model must have learned the same task from the same features, standardised in the same way.

    \b
    Examples:
      driftway models add dfop --input EVENTS --group sea
      driftway models add pa1:C=1 --from pa1 --input EVENTS --group sea
      driftway models add arow --relearned --input EVENTS --group sea
      driftway models add --from-file sea.driftway --input EVENTS --group sea
    """
    from driftway.worker.admin.models import added, added_from_file

    if begins and not relearned:
        raise UsageFailure("--from-offset says from where a model is relearned: give --relearned")
    if bool(learner) == (path is not None) or (path is not None and (origin or relearned)):
        raise UsageFailure("give a LEARNER, perhaps with --from or --relearned, or --from-file")
    if path is not None:
        from pathlib import PurePath

        from driftway.worker.state import model_file

        file = model_file.load(path)
        write_change(given, f"add --from-file {PurePath(path).name}", lambda g: added_from_file(g, file))
        return
    how = f"{f' --from {origin}' if origin else ''}{' --relearned' if relearned else ''}"
    how += "".join(f" --from-offset {begin}" for begin in begins)
    begin_at = parsed_offsets(begins, "--from-offset")
    write_change(
        given, f"add {learner}{how}", lambda g: added(g.newest, learner, origin, relearned), relearn_from=begin_at
    )


@models.command()
@click.argument("learner")
@change_options
def drop(learner: str, **given: Any) -> None:
    """Drop a challenger and its state.

    \b
    Examples:
      driftway models drop dfop --input EVENTS --group sea
    """
    from driftway.worker.admin.models import dropped

    write_change(given, f"drop {learner}", lambda g: dropped(g.newest, learner))


@models.command("set")
@click.argument("learner")
@click.argument("parameters", nargs=-1, required=True, metavar="PARAMETER=VALUE..")
@change_options
def set_(learner: str, parameters: tuple[str, ...], **given: Any) -> None:
    """Change parameters of a model. It keeps its state and its metrics.

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
    write_change(given, f"set {learner} {' '.join(parameters)}", lambda g: with_parameters(g.newest, learner, pairs))


@models.command()
@click.option(
    "--detector",
    "detectors",
    multiple=True,
    metavar="NAME[:PARAM=VALUE,...]",
    help="Drift detector, as in the worker's option --detector. Repeatable. Detectors that you do not name are "
    "removed.",
)
@click.option("--no-detectors", is_flag=True, help="Remove all drift detectors.")
@click.option(
    "--metric-window", "window", type=click.IntRange(1), metavar="ROWS", help="Size of the rolling window, in rows."
)
@click.option(
    "--accuracy-every", type=click.IntRange(1), metavar="ROWS", help="Number of rows between two accuracy points."
)
@click.option(
    "--coverage",
    type=click.FloatRange(NO_COVERAGE, MAX_COVERAGE),
    metavar="SHARE",
    help="Share of the labels that prediction intervals or sets should contain, as in the worker's option --coverage. "
    "0: no intervals or sets.",
)
@click.option(
    "--add-feature",
    "added",
    multiple=True,
    metavar="PATH[:OPTION,..]",
    help="Add a feature, written as in the worker's option --feature. If events have an object x, the name of the "
    "feature. Repeatable.",
)
@click.option("--drop-feature", "dropped", multiple=True, metavar="NAME", help="Drop a feature; repeatable.")
@begin_option
@change_options
def configure(
    detectors: tuple[str, ...],
    no_detectors: bool,
    added: tuple[str, ...],
    dropped: tuple[str, ...],
    begin: str | None,
    **given: Any,
) -> None:
    """Change the features, or what monitors the models: detectors, rolling window, accuracy points, coverage.

    Settings that you do not name stay as they are. A detector that stays keeps its state; a new one starts empty. With
    a shorter window, metrics continue as if the window had always been that long. With a longer one they start again,
    since the earlier rows are gone. With another coverage, intervals or sets start without any labels.

    If the features change, learners whose state has one part for each feature, such as linear learners, keep what they
    have learned about the features that stay; a new feature starts as in a new learner. For all other learners --begin
    says how they start.

    \b
    Examples:
      driftway models configure --detector ddm --detector adwin --input EVENTS --group sea
      driftway models configure --no-detectors --input EVENTS --group sea
      driftway models configure --metric-window 500 --accuracy-every 100 --input EVENTS --group sea --at 0:20000
      driftway models configure --coverage 0.9 --input EVENTS --group sea
      driftway models configure --add-feature volume --drop-feature day --input TRADES --group t
      driftway models configure --add-feature country:one-of=de|fr|* --begin relearned --input PAYMENTS --group fraud
    """
    from driftway.learners import ParameterError, Spec
    from driftway.worker.admin.models import present_features
    from driftway.worker.state.plans.configuration import Configuration, changed, edited_features

    if no_detectors and detectors:
        raise UsageFailure("give --detector or --no-detectors, not both")
    try:
        named = tuple(map(Spec.parse, detectors)) if detectors or no_detectors else None
    except ParameterError as error:
        raise UsageFailure(f"--detector: {error}") from None
    numbers = {name: given[name] for name in NUMBERS}
    asked = Configuration(named, **numbers)
    words = [f"--detector {text}" for text in detectors] + ["--no-detectors"] * no_detectors
    words += [f"{flag} {numbers[name]}" for name, flag in NUMBERS.items() if numbers[name] is not None]
    words += [f"--add-feature {text}" for text in added] + [f"--drop-feature {text}" for text in dropped]
    if not words:
        raise UsageFailure(
            "give --detector, --no-detectors, --metric-window, --accuracy-every, --coverage, --add-feature or "
            "--drop-feature"
        )
    change = f"configure {' '.join(words)}{f' --begin {begin}' if begin else ''}"

    def configured(group: GroupModels) -> Configuration:
        if not (added or dropped):
            return changed(group.newest.configuration, asked)
        features = edited_features(present_features(group), group.model.events, added, dropped)
        return changed(group.newest.configuration, replace(asked, features=features))

    write_change(given, change, lambda g: g.newest.models, configured, begin=begin)


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

    write_change(given, f"promote {learner}", lambda g: promoted(g.newest, learner))


@models.command()
@click.option(
    "--to", type=click.IntRange(1), metavar="PLAN", help="Number of the earlier plan.  [default: the previous one]"
)
@begin_option
@change_options
def rollback(to: int | None, begin: str | None, **given: Any) -> None:
    """Write a new plan with the models, features and monitoring of an earlier plan.

    Models that the group still has keep their state, even if their parameters have changed since. A model that was
    dropped starts empty, or is relearned if it was relearned before.

    \b
    Examples:
      driftway models rollback --input EVENTS --group sea
      driftway models rollback --to 1 --input EVENTS --group sea
    """
    from driftway.worker.admin.models import earlier_plan, rolled_back

    change = "rollback" if to is None else f"rollback --to {to}"
    change += f" --begin {begin}" if begin else ""
    write_change(
        given,
        change,
        lambda g: rolled_back(g.plans, to),
        lambda g: earlier_plan(g.plans, to).configuration,
        begin=begin,
    )

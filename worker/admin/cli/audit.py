"""`driftway audit`: check from the topics alone that outputs are exactly-once and bit-identical when recomputed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from driftway.worker.admin.cli.group_options import find_group
from driftway.worker.cli.console import bar, wide_console
from driftway.worker.cli.event_options import schema_options
from driftway.worker.cli.model_options import event_options, given_model, target_options
from driftway.worker.cli.option_groups import GroupedCommand
from driftway.worker.cli.options import (
    client_options,
    late_label_options,
    only_group_option,
    outputs_option,
    reading_option,
    was_given,
)
from driftway.worker.cli.start_options import START_OFFSETS, start_offset, warm_options
from driftway.worker.errors import CannotRestore, Failure, Unreachable, UsageFailure, plural
from driftway.worker.kafka.client_config import parse_properties
from driftway.worker.settings import EARLIEST, WorkerSettings
from driftway.worker.wire.rejections import format_counts

if TYPE_CHECKING:
    from driftway.worker.admin.audit.report import AuditReport
    from driftway.worker.admin.models import GroupModels
    from driftway.worker.settings import ModelSettings

ORPHANS_SHOWN = 5
COUNTED = "predictions", "challengers'", "rejections", "set aside", "points", "alarms", "shares", "snapshots", "orphans"


@click.command(cls=GroupedCommand)
@click.option("--input", "input_", required=True, metavar="TOPIC", help="Topic with the events that the workers read.")
@only_group_option
@target_options
@event_options
@schema_options()
@late_label_options
@warm_options
@outputs_option
@client_options
@reading_option
@click.option(
    "--start",
    metavar=START_OFFSETS,
    callback=start_offset,
    default=EARLIEST,
    show_default=True,
    help="Where the group began. latest: at the offset of its first output.",
)
@click.option("--json", "as_json", is_flag=True, help="Print an object.")
def audit(input_: str, as_json: bool, **given: Any) -> None:
    """Recompute the outputs of a group's workers from the topics alone, and compare every byte.

    In each partition the audit reads the input up to the offset that the group had committed when the audit started,
    and learns from it as a worker would. It checks that every event has exactly one prediction or one rejection, and
    one prediction by each challenger where workers had --emit all; that no other predictions or rejections are visible;
    that the accuracy points of all learners and the drift alarms of all detectors are the same; and that every complete
    snapshot holds the state at its offset. Predictions may be in any format, whatever --output-format says. The audit
    takes the models and their settings from the group's plans, snapshots and commits; options that you give override
    them. Give --format, --registry, --warm-start and --start as the workers had them. Without --pass-headers or
    --cloudevents-source the headers of predictions are not checked. Without --registry and --output-format the
    registered schemas of predictions are not checked. Workers may keep running: the audit writes nothing and joins no
    group, and its memory is bounded.

    If retention has deleted the beginning of the input, the audit trusts the earliest snapshot whose offset is still in
    the log, and checks everything after it. The last lines list what was not checked. If there is a difference, the
    exit code is 1, and the message names the first difference.

    \b
    Examples:
      driftway audit --input EVENTS --group sea
      driftway audit --input EVENTS --group sea --learner dfop:mu=0.001 --learner arow
      driftway audit --input TRADES --group t --labels DOWN,UP --start latest --json
      driftway audit --input EVENTS --group e --warm-start electricity.driftway --start 20000
    """
    from driftway.worker.admin.audit.deployment import Deployment
    from driftway.worker.admin.audit.diff import Mismatch
    from driftway.worker.kafka.client_factory import choose_client

    given_model(given)  # what is wrong by itself is told before a broker is asked
    passthrough = parse_properties(given["properties"], given["client_properties"])
    group = find_group(given, input_, passthrough)
    first_plan = _fill_in_from_group(given, input_, group, passthrough)
    model = given_model(given)
    settings = WorkerSettings(
        given["bootstrap"],
        input_,
        group,
        model,
        start=given["start"],
        passthrough=passthrough,
        outputs=given["outputs"],
        label_topic=given["label_topic"],
        client=choose_client(given["client"])[0],
    )
    deployment = Deployment(settings, first_plan)
    try:
        with bar(input_, deployment.total) as progress:
            reports = deployment.audit(progress or (lambda _: None))
    except Mismatch as difference:
        if as_json:
            _print_object(input_, group, [], str(difference))
        raise
    if as_json:
        _print_object(input_, group, reports, None)
    else:
        _show(input_, reports)


def _print_object(name: str, group: str, accounts: list[AuditReport], difference: str | None) -> None:
    from dataclasses import asdict

    from driftway.worker.wire.codec import write_json

    result = {
        "input": name,
        "group": group,
        "holds": difference is None,
        "difference": difference,
        "partitions": [asdict(account) for account in accounts],
    }
    click.echo(write_json(result).decode())


def _show(name: str, accounts: list[AuditReport]) -> None:
    """Print the table, orphans, what was not checked, rejections, and the conclusion."""
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for heading in ("partition", "from", "to", "records", *COUNTED):
        table.add_column(heading, justify="right")
    for one in accounts:
        row = (one.partition, one.begin, one.end, one.records, one.predictions, one.challengers, one.rejections,
               one.set_aside, one.points, one.alarms, one.shares, one.snapshots, len(one.orphans))  # fmt: skip
        table.add_row(*(str(row[0]), *(f"{number:,}" for number in row[1:])))
    console = wide_console()
    console.print(table)
    for one in accounts:
        for place in one.orphans[:ORPHANS_SHOWN]:
            console.print(f"Chunk of an incomplete snapshot: {place}", soft_wrap=True)
        if len(one.orphans) > ORPHANS_SHOWN:
            console.print(f"... and {len(one.orphans) - ORPHANS_SHOWN} more of partition {one.partition}")
    for sentence in (sentence for one in accounts for sentence in one.unchecked):
        console.print(f"Not checked: {sentence}", soft_wrap=True)
    kinds = sum((Counter(one.rejected) for one in accounts), Counter[str]())
    if kinds:
        console.print(f"Rejected: {format_counts(kinds)}; driftway rejected shows them.", soft_wrap=True)
    if kinds and not any(one.predictions for one in accounts):
        console.print("Not a single event was usable: nothing has been predicted.", soft_wrap=True, style="bold red")
    snapshots = sum(one.snapshots for one in accounts)
    events = sum(one.predictions + one.rejections for one in accounts)
    later, labels = sum(one.labels for one in accounts), sum(one.set_aside for one in accounts)
    console.print(
        f"{name} holds: {plural(events, 'event has', 'events have')} exactly one prediction or rejection"
        + f"{' each' * (events > 1)}, every byte as recomputed, "
        + (f"{plural(later, 'other record is a label', 'other records are labels')}, " if later else "")
        + (f"{plural(labels, 'label was set aside', 'labels were set aside')}, " if labels else "")
        + f"and {plural(snapshots, 'snapshot is the recomputed state', 'snapshots are the recomputed state')}.",
        soft_wrap=True,
    )


def _fill_in_from_group(given: dict[str, Any], input_: str, group: str, passthrough: dict[str, Any]) -> int:
    """Set the model options that were not given to those of the group's first plan; they stay if it says nothing yet.

    Returns the number of that plan: more than 1 if the topic of plans has lost earlier ones.

    Raises
    ------
    UsageFailure
        The options name other learners than the first plan, or the group began with a model file.
    Failure
        The newest snapshot, which tells the models, cannot be read, and no --learner is given.
    Unreachable
        No broker answers.
    """
    from driftway.worker.admin.models import find_models
    from driftway.worker.admin.state_admin.source import settings_for
    from driftway.worker.state.plans.model_plan import FIRST

    settings = settings_for(given["bootstrap"], input_, group, passthrough, None, given["outputs"])
    try:
        found = find_models(settings, lambda sentence: click.echo(sentence, err=True))
    except (Unreachable, CannotRestore):
        raise
    except UsageFailure:
        return FIRST  # nothing is committed yet: whoever reads on tells
    except Failure as problem:
        if was_given("learner"):
            return FIRST
        raise Failure(
            f"the models of group {group} are not known: {problem}; with --learner and the other options of its "
            "workers the outputs before it are checked"
        ) from None
    first = found.plans[0].applied_to(found.model)
    options = {**options_of(first), "label_topic": next((one.labels for one in found.partitions if one.labels), "")}
    if given["warm_start"] is None:
        _require_complete(found, first)
        _require_agreement(found, given["learner"])
    elif first.warm is None:
        return FIRST  # the first snapshot tells
    else:
        _require_agreement(found, given["learner"], from_files=1)
        options["frozen"], given["challengers"] = first.warm.frozen, options["learner"][1:]
    given |= {option: value for option, value in options.items() if not was_given(option)}
    if was_given("learner") or found.plans[0].number == FIRST:
        return FIRST
    click.echo(
        f"{settings.topics.models} no longer has plan {FIRST}: with --learner and the other options of the group's "
        "first workers the outputs before it are checked, too",
        err=True,
    )
    return found.plans[0].number


def _require_complete(found: GroupModels, first: ModelSettings) -> None:
    """Check that the group says all that its first plan needs, or the options do."""
    if not was_given("learner") and first.warm_model is not None and first.warm is not None:
        group = found.settings.group
        raise UsageFailure(f"group {group} began with model file {first.warm.digest}: name it with --warm-start")
    plan = found.plans[0]
    if first.events is not None and plan.configuration.features is None and not was_given("feature"):
        raise UsageFailure(f"plan {plan.number} was written by an earlier version: give its --feature options")


def _require_agreement(found: GroupModels, learners: Sequence[str], from_files: int = 0) -> None:
    """Check that learners that were given are those of the first plan, in a group with plans.

    `from_files` is 1 if the champion began with --warm-start, and so is not among those given.
    """
    from driftway.worker.state.plans.next_plan import spec_of

    if was_given("learner") and found.newest.number > found.plans[0].number:
        names = tuple(spec_of(text).text for text in learners)
        if names != found.plans[0].names[from_files:]:
            raise UsageFailure(
                f"--learner {', '.join(names)} are not the learners that the group began with: plan "
                f"{found.plans[0].number} has {', '.join(found.plans[0].names)}; leave --learner out, and the audit "
                "takes them from there"
            )


def options_of(settings: ModelSettings) -> dict[str, Any]:
    """The options of `driftway worker` that make these settings, by the names of their parameters."""
    target, events = settings.target, settings.events
    options: dict[str, Any] = {
        "learner": tuple(spec.text for spec in settings.specs),
        "task": target.task,
        "classes": None if target.labels else target.n_classes or None,
        "labels": ",".join(target.labels) or None,
        "maps": tuple(spec.text for spec in settings.maps),
        "standardize": settings.standardize,
        "window": settings.window,
        "accuracy_every": settings.accuracy_every,
        "detectors": tuple(spec.text for spec in settings.detectors),
        "coverage": settings.coverage,
        "share": None if settings.share is None else str(settings.share),
        "label_wait": None if settings.wait is None else str(settings.wait),
        "missing": str(settings.missing),
        "missing_indicators": settings.indicators,
    }
    if events is None:
        return options
    return options | {
        "feature": tuple(map(str, events.features)),
        "label": str(events.label),
        "id_": str(events.id),
        "time_": events.written_time,
        "envelope": events.envelope or None,
        "missing": str(events.missing),
        "missing_indicators": events.indicators,
    }

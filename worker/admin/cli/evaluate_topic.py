"""`driftway evaluate --topic`: on the rows that a group's workers saw, its plans again, or other learners beside it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import click

from driftway.learners.metrics.e_process import LEVEL, SIDES
from driftway.worker.admin.cli.group_options import asked_partitions
from driftway.worker.admin.cli.snapshot.tables import bars
from driftway.worker.admin.state_admin.group_replay import ReplayStart, beginning
from driftway.worker.admin.state_admin.shared_history import require_as_shared
from driftway.worker.admin.state_admin.state_at_offset import ProgressFactory, plan_run, replayed
from driftway.worker.admin.state_admin.what_if import WhatIf
from driftway.worker.admin.watch.challengers import Verdict, verdict
from driftway.worker.cli.model_options import make_model_settings
from driftway.worker.errors import UsageFailure
from driftway.worker.evaluation.cli.plan_options import print_river_cost
from driftway.worker.evaluation.cli.planned import RecordFiles, RepeatedPartition
from driftway.worker.evaluation.cli.replay_options import beginnings
from driftway.worker.evaluation.river.spec import spec_of
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import FIRST, PlanAdoption
from driftway.worker.state.plans.plan_file import PlanHistory, read_history
from driftway.worker.state.plans.plan_topic import with_state

Row = dict[str, Any]
REPLAYED = (
    "worker: what the workers predicted, replayed from {topic} with the group's own plans and options, and found to be "
    "the state of its snapshots on the way"
)


def evaluate_topic(given: dict[str, Any]) -> list[Row]:
    """Evaluate as the options say; return a row for each partition and learner, then those of all partitions.

    Raises
    ------
    UsageFailure
        The options do not fit the group, or it has committed nothing.
    Failure, Unreachable
        The rows cannot be read, or the models there not be made.
    """
    sources = asked_partitions({**given, "input_": given["topic"]}, given["partition"])
    given["group"] = sources[0].settings.group
    start = beginnings(given["first"])
    history = None if given["plan"] is None else read_history(given["plan"])
    with bars() as shown:
        found = (beginning(source, start(source.partition), shown, history is not None) for source in sources)
        begins = [begin for begin in found if begin is not None]
        if not begins:
            raise UsageFailure(f"group {given['group']} has committed nothing on {given['topic']} yet")
        for note in (begin.note for begin in begins if begin.note):
            click.echo(f"driftway: {note}", err=True)
        if history is not None:
            return repeated(begins, history, given, shown)
        return compared(begins, given, shown)


def repeated(
    begins: Sequence[ReplayStart], history: PlanHistory, given: dict[str, Any], bars: ProgressFactory
) -> list[Row]:
    """Repeat a history of plans on each partition.

    Raises
    ------
    UsageFailure
        A plan cannot be, or does not say what was relearned, or the replay begins behind the first plan with other
        models than the history has there.
    Failure, Unreachable
        The rows cannot be read.
    """
    rows, group, settings = list[Row](), given["group"], begins[0].source.settings
    plans = (with_state(PlanAdoption(0, plan), settings).plan for plan in history.plans)
    history = replace(history, plans=tuple(plans))
    with RecordFiles(given["scores"], given["points"]) as files:
        for begin in begins:
            source = begin.source
            history.require_relearned_from(source.partition)
            run = plan_run(source, _first_model(begin, history, group), history.adoptions(source.partition))
            part = RepeatedPartition(run, files)
            progress = bars("rows", begin.end - begin.first)
            span = begin.first, begin.end, begin.state.begin
            with closing(replayed(source, run, *span, progress)) as pieces:
                for piece in pieces:
                    part.learn(piece)
            rows += [
                {**row, "group": group, "from": begin.first, "to": begin.end}
                for row in part.results(str(given["topic"]))
            ]
    return rows


def _first_model(begin: ReplayStart, history: PlanHistory, group: str) -> Model:
    """The models of the history's plan at the beginning of a replay."""
    worker, partition = begin.state.model, begin.source.partition
    history.require_possible(worker.settings)
    if worker.settings.share is not None:
        require_as_shared(begin.source, history, begin.history.adoptions, worker.plan)
    before = [adoption.plan for adoption in history.adoptions(partition) if adoption.offset <= begin.first]
    taken = [plan for plan in before if plan.number <= worker.plan.number]
    plan = taken[-1] if taken else history.first
    fresh = worker.rows == 0 and plan.number == FIRST
    if not fresh and (plan.number, plan.names) != (worker.plan.number, worker.plan.names):
        raise UsageFailure(
            f"{history.name}: the replay of {begin.source} begins at offset {begin.first}, where the group has plan "
            f"{worker.plan.number}, {', '.join(worker.plan.names)}, and not plan {plan.number}, {', '.join(plan.names)}"
        )
    model = Model(worker.settings, partition, group, plan)
    model.continue_as(worker.form)
    if not fresh:
        model.load(worker.save())
    return model


def compared(begins: Sequence[ReplayStart], given: dict[str, Any], bars: ProgressFactory) -> list[Row]:
    """Compare other learners with the workers on each partition.

    Raises
    ------
    UsageFailure
        A learner is not valid, or does not fit the task.
    Failure, Unreachable
        The replay has not come to the workers' states, or the rows cannot be read.
    """
    settings = begins[0].state.model.settings
    maps = tuple(s.text for s in settings.maps)
    specs = make_model_settings(tuple(given["learner"]), settings.target, maps, spec_of).specs
    print_river_cost(specs)
    what_if = WhatIf(specs, settings)
    progress = bars("rows", sum(begin.end - begin.first for begin in begins))
    for begin in begins:
        what_if.add(begin, progress)
    head = {"protocol": "what-if", "stream": given["topic"], "group": given["group"]}
    rows = [*what_if.rows, *(what_if.of_group() if len(begins) > 1 else ())]
    if not given["as_json"]:
        click.echo(REPLAYED.format(topic=given["topic"]), err=True)
        rows = [{**row, "verdict": _verdict(row)} for row in rows]
    return [{**head, **row} for row in rows]


def _verdict(row: Row) -> str | None:
    """What is known of a learner and the worker, in words."""
    if "better_log_e" in row:
        found = verdict(row)
    else:
        sides = [side for side in SIDES if row.get(f"{side}_p", 1.0) <= LEVEL]
        found = Verdict(sides[0], row[f"{sides[0]}_p"], None) if sides else None
    return None if found is None else found.text()

"""The learners and the configuration of a worker's options as a group's next plan, for `--plan from-options`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from confluent_kafka import Consumer

from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, committed_offset, open_reader, partitions_of
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.changelog.snapshot_scan import read_chunks
from driftway.worker.state.model_file import unpack
from driftway.worker.state.plans.alarm_topic import require_alarm_topic
from driftway.worker.state.plans.configuration import Configuration, why_not_features
from driftway.worker.state.plans.model_plan import ModelPlan, first_plan
from driftway.worker.state.plans.next_plan import can_continue, restarted
from driftway.worker.state.plans.plan_topic import PlanWriter, WrittenMeanwhile, known_plans
from driftway.worker.state.plans.transition import why_not
from driftway.worker.state.snapshot import BadSnapshot

OTHERS_SECONDS = 5.0
"""How long a worker that another worker has kept from writing waits for that worker's plan before it tries again."""
LOOK_SECONDS = 0.1
CHANGE = "--plan from-options"


def write_options(settings: WorkerSettings, tell: Callable[[str], None]) -> ModelPlan | None:
    """Write the options as the next plan unless the newest one says the same; return it, None if there was no need.

    Of several workers that start at once with the same options, one writes it. A group that has committed nothing has
    no plans: its options are the first.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    tell : callable
        Is told of plans that cannot be read.

    Raises
    ------
    UsageFailure
        Workers could not adopt such a plan.
    Failure, Unreachable
        The plans, or what the group has committed, cannot be read, or the plan cannot be written.
    """
    with translated_errors(settings):
        while True:
            with closing(open_reader(settings)) as reader:
                present = _present_plan(settings, reader, tell)
            if present is None or following_plan(present, settings) is None:
                return None
            try:
                return _write(settings, present, tell)
            except WrittenMeanwhile:
                _await_other(settings, tell)


def _present_plan(settings: WorkerSettings, reader: Consumer, tell: Callable[[str], None]) -> ModelPlan | None:
    """The group's newest plan; None if it has committed nothing."""
    deadline = Deadline(ASK_SECONDS)
    if plans := known_plans(reader, settings, deadline, tell):
        return plans[-1]
    topic = settings.topics.snapshots
    for partition in range(partitions_of(reader, settings.input, deadline)):
        pointer = Pointer.parse(committed_offset(reader, settings.input, partition, deadline)[1])
        if pointer is None:
            continue
        try:
            blob = b"".join(read_chunks(reader, topic, partition, pointer, deadline))
            file = unpack(blob, f"the snapshot at {topic}/{partition}@{pointer.first}")
        except (BadSnapshot, Failure):
            continue  # another partition's says the same; a restore tells what is wrong with this one
        model = file.settings()
        return file.plan or first_plan(model.specs, model.warm, Configuration.of(model))
    return None


def following_plan(present: ModelPlan, settings: WorkerSettings) -> ModelPlan | None:
    """The plan that makes the options follow `present`; None if that says the same."""
    wanted = settings.model
    options = Configuration.of(wanted).over(present.configuration)  # they may not name the features
    same_features = present.configuration.features in (None, options.features)
    if wanted.names == present.names and present.configuration.over(options) == options:
        return None
    known = {model.name: replace(model, anew=False) for model in present.models}
    if not same_features:
        known = {name: one if can_continue(one, wanted) else restarted(one) for name, one in known.items()}
    models = tuple(known.get(model.name, model) for model in first_plan(wanted.specs, wanted.warm).models)
    made_at = round(1000 * time.time())
    return ModelPlan(present.number + 1, models, made_at=made_at, change=CHANGE, configuration=options)


def _write(settings: WorkerSettings, found: ModelPlan, tell: Callable[[str], None]) -> ModelPlan | None:
    """Write the plan after the newest, `found` if the topic holds none; return it, None if another has written it.

    Raises
    ------
    WrittenMeanwhile
        Another one is writing.
    """
    writer = PlanWriter(settings)
    plans = writer.read(tell)
    plan = following_plan(plans[-1] if plans else found, settings)
    if plan is None:
        return None
    before = (plans[-1] if plans else found).applied_to(settings.model)
    if (why := why_not(plan, settings.model) or why_not_features(before, plan.configuration.features)) is not None:
        raise UsageFailure(f"{CHANGE}: {why}")
    if plan.configuration.detectors:
        require_alarm_topic(settings)
    writer.write([plan] if plans else [found, plan])
    return plan


def _await_other(settings: WorkerSettings, tell: Callable[[str], None]) -> None:
    """Wait a while for the plan of the one that has kept this one from writing."""
    until = time.monotonic() + OTHERS_SECONDS
    with closing(open_reader(settings)) as reader:
        while time.monotonic() < until:
            present = _present_plan(settings, reader, tell)
            if present is not None and following_plan(present, settings) is None:
                return
            time.sleep(LOOK_SECONDS)

"""The models of a group: which plan it has, and the next one, for `driftway models`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from confluent_kafka import TopicPartition

from driftway.worker.admin.state_admin.source import GroupPartition, find_partitions, read_snapshot
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import query, translated_errors
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, watermarks
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import SnapshotScan, scan_snapshots
from driftway.worker.state.factory import allocating, make_learner
from driftway.worker.state.model_file import ModelFile
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan, PlannedModel, PlanPlace, first_plan
from driftway.worker.state.plans.next_plan import named, spec_of, write_after
from driftway.worker.state.plans.plan_topic import read_plans, topic_exists
from driftway.worker.state.plans.transition import is_of_one_kind, why_not
from driftway.worker.state.stored_fields import LARGEST


@dataclass(frozen=True)
class GroupModels:
    """The models of a group, as they were at the time of the lookup.

    Parameters
    ----------
    settings : WorkerSettings
        As `settings_for` makes them.
    partitions : list of GroupPartition
        The input's partitions; each has the number of the plan that it has taken.
    model : ModelSettings
        What the group's newest snapshot says of its model.
    width : int or None
        Features of a row; None if no event has come yet.
    plans : list of ModelPlan
        All plans, the first one included, by number.
    """

    settings: WorkerSettings
    partitions: list[GroupPartition]
    model: ModelSettings
    width: int | None
    plans: list[ModelPlan]

    @property
    def newest(self) -> ModelPlan:
        """The plan that the group has, or takes next."""
        return self.plans[-1]

    @property
    def next_number(self) -> int:
        """Number of the next plan."""
        return 1 + max(self.newest.number, *(one.plan for one in self.partitions))


def find_models(settings: WorkerSettings, tell: Callable[[str], None]) -> GroupModels:
    """Look up the models of a group; `tell` gets a sentence for each plan that cannot be read.

    Raises
    ------
    UsageFailure
        There is no such topic, or nothing is committed yet.
    Failure, Unreachable
        The broker refuses, or does not answer.
    """
    partitions = find_partitions(settings)
    file = _newest_snapshot(settings, partitions)
    try:
        model = file.settings()
    except UsageFailure as error:
        raise Failure(str(error)) from None
    with translated_errors(settings), closing(reader_of(settings)) as reader:
        deadline = Deadline(ASK_SECONDS)
        plans = read_plans(reader, settings, deadline, tell) if topic_exists(reader, settings, deadline) else []
    if not plans and file.plan is not None:  # the topic is gone
        plans = [file.plan]
    schema = file.saved.schema
    width = None if schema is None else schema.n_features
    return GroupModels(settings, partitions, model, width, plans or [first_plan(model.specs)])


def _newest_snapshot(settings: WorkerSettings, partitions: Sequence[GroupPartition]) -> ModelFile:
    """The newest snapshot of the partition that has taken the newest plan, and has events."""
    pointed = [one for one in partitions if one.pointer is not None]
    if not pointed:
        raise UsageFailure(
            f"group {settings.group} has committed nothing on {settings.input} yet: its workers' --learner decide"
        )
    found = None
    for one in sorted(pointed, key=lambda one: one.plan, reverse=True):
        assert one.pointer is not None  # noqa: S101
        file = read_snapshot(one, one.pointer)
        if file.saved.schema is not None:
            return file
        found = found or file
    assert found is not None  # noqa: S101
    return found


def added(plan: ModelPlan, learner: str, origin: str = "") -> tuple[PlannedModel, ...]:
    """Return the models of a plan with another challenger, which begins with the state of `origin`, or empty.

    Raises
    ------
    UsageFailure
        There is such a model already, or none named `origin`, or the text is no learner.
    """
    spec = spec_of(learner)
    if spec.text in plan.names:
        raise UsageFailure(f"there is a model {spec.text} already")
    return *plan.models, PlannedModel(spec, named(plan, origin).name if origin else "")


def dropped(plan: ModelPlan, learner: str) -> tuple[PlannedModel, ...]:
    """Return the models of a plan without a challenger.

    Raises
    ------
    UsageFailure
        There is no such model, or it is the champion.
    """
    gone = named(plan, learner)
    if gone.name == plan.champion:
        raise UsageFailure(f"{gone.name} is the champion, whose predictions are written: promote another model first")
    return tuple(model for model in plan.models if model is not gone)


def with_parameters(plan: ModelPlan, learner: str, given: Mapping[str, str]) -> tuple[PlannedModel, ...]:
    """Return the models of a plan in which one has other parameters, and goes on with its state.

    Raises
    ------
    UsageFailure
        There is no such model, one with these parameters already, or they are not valid.
    """
    changed = named(plan, learner)
    spec = replace(changed.spec, parameters=tuple((dict(changed.spec.parameters) | dict(given)).items()))
    if spec.text in plan.names:
        raise UsageFailure(f"there is a model {spec.text} already")
    return tuple(PlannedModel(spec, changed.name) if model is changed else model for model in plan.models)


def rolled_back(plans: Sequence[ModelPlan], number: int | None) -> tuple[PlannedModel, ...]:
    """Return the models of an earlier plan, by default of the one before the newest.

    A model whose parameters were changed since goes on with its state, under its earlier parameters.

    Raises
    ------
    UsageFailure
        There is no such plan, or none before.
    """
    *earlier, newest = plans
    if not earlier:
        raise UsageFailure(f"there is no plan before plan {newest.number}")
    found = earlier[-1] if number is None else next((plan for plan in earlier if plan.number == number), None)
    if found is None:
        raise UsageFailure(f"there is no plan {number} before plan {newest.number}")
    followers = {model.origin: model.name for model in newest.models if model.origin}
    return tuple(PlannedModel(model.spec, followers.get(model.name, "")) for model in found.models)


def require_possible(group: GroupModels, plan: ModelPlan) -> None:
    """Check a plan as workers will.

    Raises
    ------
    UsageFailure
        A learner or a parameter is not valid, does not fit the task or the number of features, or a state cannot go on.
    Failure
        A state needs more memory than there is.
    """
    if (why := why_not(plan, group.model)) is not None:
        raise UsageFailure(why)
    if group.width is None:
        return
    made = {}
    for model in (*group.newest.models, *plan.models):
        with allocating(model.name, group.width):
            made[model.name] = make_learner(model.spec, group.model, group.width)
    for model in plan.models:
        origin = made.get(model.origin)
        if model.name not in group.newest.names and origin is not None and not is_of_one_kind(origin, made[model.name]):
            raise UsageFailure(f"{model.name} cannot go on with the state of {model.origin}, whose fields are others")


def write_next(
    group: GroupModels,
    models: Sequence[PlannedModel],
    places: Mapping[int, int],
    change: str,
    tell: Callable[[str], None],
) -> ModelPlan:
    """Write the next plan of a group.

    Raises
    ------
    UsageFailure
        It cannot be, see `require_possible`, or somebody has written another plan since the lookup.
    Failure, Unreachable
        Another command writes at the same time, the broker refuses, or does not answer.
    """
    _require_ahead(group, places)
    plan = ModelPlan(group.next_number, tuple(models), dict(places), round(1000 * time.time()), change)
    require_possible(group, plan)
    with translated_errors(group.settings):
        write_after(group.settings, group.newest, plan, tell)
    return plan


def _require_ahead(group: GroupModels, places: Mapping[int, int]) -> None:
    """Check that the partitions are there, and have not passed the offsets."""
    for partition, offset in places.items():
        if partition >= len(group.partitions):
            raise UsageFailure(
                f"there is no partition {partition} of {group.settings.input}: it has 0 to {len(group.partitions) - 1}"
            )
        if offset < (group.partitions[partition].committed or 0):
            raise UsageFailure(
                f"partition {partition} has passed offset {offset}: it has committed "
                f"{group.partitions[partition].committed}"
            )
        before = group.newest.places.get(partition, 0)
        if offset < before:
            newest = group.newest.number
            raise UsageFailure(f"partition {partition} takes plan {newest} at {before}: plans are taken in order")


def offsets_at(group: GroupModels, millis: int) -> dict[int, int]:
    """Partition -> offset of its first record with that time, in ms since 1970, or a later one.

    A partition without such a record takes the plan with the first record after those that it has now.

    Raises
    ------
    Failure, Unreachable
        The broker refuses, or does not answer.
    """
    topic, deadline = group.settings.input, Deadline(ASK_SECONDS)
    asked = [TopicPartition(topic, one.partition, millis) for one in group.partitions]
    with translated_errors(group.settings), closing(reader_of(group.settings)) as reader:
        found = query(lambda: reader.offsets_for_times(asked, timeout=deadline.remaining()), deadline)
    return {
        place.partition: place.offset if place.offset >= 0 else group.partitions[place.partition].high
        for place in found
    }


def places_of(group: GroupModels) -> dict[int, dict[int, PlanPlace]]:
    """Partition -> number of each plan that it has taken -> where, as far as its log still says.

    Raises
    ------
    Failure, Unreachable
        The broker refuses, or does not answer.
    """
    topic, found = group.settings.topics.snapshots, {}
    with translated_errors(group.settings), closing(reader_of(group.settings)) as reader:
        for one in group.partitions:
            if one.plan == FIRST:
                found[one.partition] = dict[int, PlanPlace]()
                continue
            deadline = Deadline(ASK_SECONDS)
            first, end = watermarks(reader, topic, one.partition, deadline)
            scan = SnapshotScan(one.partition, 0, LARGEST)
            found[one.partition] = scan_snapshots(reader, topic, first, end, scan, deadline).places
    return found

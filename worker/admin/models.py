"""The models of a group: which plan it has, and the next one, for `driftway models`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from confluent_kafka import TopicPartition

from driftway.learners.metrics.rolling import create_metrics
from driftway.worker.admin.state_admin.changed_features import features_of, models_with_features
from driftway.worker.admin.state_admin.from_file import from_file
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
from driftway.worker.state.plans.alarm_topic import require_alarm_topic
from driftway.worker.state.plans.configuration import AS_OPTIONS, Configuration
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan, PlanAdoption, PlannedModel, first_plan
from driftway.worker.state.plans.next_plan import named, spec_of, write_after
from driftway.worker.state.plans.plan_topic import known_plans
from driftway.worker.state.plans.transition import is_of_one_kind, why_not
from driftway.worker.state.stored_fields import LARGEST
from driftway.worker.stream.relearning.from_log import why_not_relearned


@dataclass(frozen=True)
class GroupModels:
    """The models of a group, as they were at the time of the lookup.

    Parameters
    ----------
    settings : WorkerSettings
        As `settings_for` makes them.
    partitions : list of GroupPartition
        The input's partitions; each has the number of the plan that it has adopted.
    model : ModelSettings
        What the group's newest snapshot says of its model.
    width : int or None
        Features of a row; None if no event has come yet.
    plans : list of ModelPlan
        All plans, the first one included, by number.
    snapshot : ModelFile
        The newest snapshot.
    """

    settings: WorkerSettings
    partitions: list[GroupPartition]
    model: ModelSettings
    width: int | None
    plans: list[ModelPlan]
    snapshot: ModelFile

    @property
    def newest(self) -> ModelPlan:
        """The plan that the group has, or adopts next."""
        return self.plans[-1]

    def is_relearning(self, partition: GroupPartition) -> bool:
        """Whether a partition relearns models of plans that it has not adopted yet."""
        before = next((plan for plan in self.plans if plan.number == partition.plan), self.plans[0])
        return partition.plan < self.newest.number and bool(self.newest.relearned_after(before))

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
        plans = known_plans(reader, settings, Deadline(ASK_SECONDS), tell)
    if not plans and file.plan is not None:  # the topic is gone
        plans = [file.plan]
    schema = file.saved.schema
    width = None if schema is None else schema.n_features
    plans = _completed(plans or [first_plan(model.specs, model.warm)], file.plan, model)
    return GroupModels(settings, partitions, model, width, plans, file)


def _completed(plans: Sequence[ModelPlan], adopted: ModelPlan | None, model: ModelSettings) -> list[ModelPlan]:
    """Return plans with what the workers' options say besides, as far as `model`, of plan `adopted`, tells it."""
    said = vars(AS_OPTIONS if adopted is None else adopted.configuration)
    known = {name: one for name, one in vars(Configuration.of(model)).items() if said[name] is None}
    options = plans[0].configuration.over(Configuration(**known))
    return [replace(plan, configuration=plan.configuration.over(options)) for plan in plans]


def _newest_snapshot(settings: WorkerSettings, partitions: Sequence[GroupPartition]) -> ModelFile:
    """The newest snapshot of the partition that has adopted the newest plan, and has events."""
    pointed = [one for one in partitions if one.pointer is not None]
    if not pointed:
        raise UsageFailure(
            f"group {settings.group} has committed nothing on {settings.input} yet: until then the workers' --learner "
            "options determine the models"
        )
    found = None
    for one in sorted(pointed, key=lambda one: one.plan, reverse=True):
        file = _snapshot_of(one)
        if file.saved.schema is not None:
            return file
        found = found or file
    assert found is not None  # noqa: S101
    return found


def added(plan: ModelPlan, learner: str, origin: str = "", relearned: bool = False) -> tuple[PlannedModel, ...]:
    """Return the models of a plan with another challenger: it begins with the state of `origin`, relearned, or empty.

    Raises
    ------
    UsageFailure
        There is such a model already, or none named `origin`, or the text is no learner, or it would begin twice.
    """
    if origin and relearned:
        raise UsageFailure("give --from or --relearned, not both")
    spec = spec_of(learner)
    if spec.text in plan.names:
        raise UsageFailure(f"there is a model {spec.text} already")
    return *plan.models, PlannedModel(spec, named(plan, origin).name if origin else "", relearned=relearned)


def added_from_file(group: GroupModels, file: ModelFile) -> tuple[PlannedModel, ...]:
    """Return the models of a group's newest plan with a challenger that begins with the state of a file's champion.

    Raises
    ------
    UsageFailure
        There is such a model already, or no event has come yet, or see `from_file`.
    Failure
        As `from_file`.
    """
    if group.width is None:
        raise UsageFailure(f"group {group.settings.group} has had no usable event yet: its features are not known")
    model = from_file(file, group.snapshot.model())
    if model.name in group.newest.names:
        raise UsageFailure(f"there is a model {model.name} already")
    return *group.newest.models, model


def dropped(plan: ModelPlan, learner: str) -> tuple[PlannedModel, ...]:
    """Return the models of a plan without a challenger.

    Raises
    ------
    UsageFailure
        There is no such model, or it is the champion.
    """
    gone = named(plan, learner)
    if gone.name == plan.champion:
        raise UsageFailure(f"{gone.name} is the champion, which cannot be dropped: promote another model first")
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
    following = replace(changed, spec=spec, origin=changed.name)
    if following.name in plan.names:
        raise UsageFailure(f"there is a model {following.name} already")
    return tuple(following if model is changed else model for model in plan.models)


def rolled_back(plans: Sequence[ModelPlan], number: int | None) -> tuple[PlannedModel, ...]:
    """Return the models of an earlier plan, by default of the one before the newest.

    A model whose parameters were changed since goes on with its state, under its earlier parameters.

    Raises
    ------
    UsageFailure
        As `earlier_plan`.
    """
    found, newest = earlier_plan(plans, number), plans[-1]
    followers = {model.origin: model.name for model in newest.models if model.origin}
    return tuple(
        replace(model, origin=followers.get(model.name, ""), relearned=model.relearned and model.name not in followers)
        for model in found.models
    )


def earlier_plan(plans: Sequence[ModelPlan], number: int | None) -> ModelPlan:
    """Return an earlier plan than the newest, by default the one before it.

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
    return found


def require_possible(group: GroupModels, plan: ModelPlan) -> None:
    """Check a plan as workers will.

    Raises
    ------
    UsageFailure
        A learner or a parameter is not valid, does not fit the task or the number of features, or a state cannot go on.
    Failure
        A state needs more memory than there is.
    """
    if (why := why_not(plan, group.model) or why_not_relearned(plan, group.model)) is not None:
        raise UsageFailure(why)
    if group.width is None:
        return
    changed = plan.configuration.features != group.newest.configuration.features
    width = (changed and plan.applied_to(group.model).width) or group.width
    made = {}
    for model in (*group.newest.models, *plan.models):
        with allocating(model.name, width):
            made[model.name] = learner = make_learner(model.spec, group.model, width)
            target, window = group.model.target, plan.configuration.window or group.model.window
            create_metrics(target.task, target.n_classes, learner.n_scores, window)
    for model in plan.models:
        origin = made.get(model.origin)
        if model.name not in group.newest.names and origin is not None and not is_of_one_kind(origin, made[model.name]):
            raise UsageFailure(f"{model.name} cannot go on with the state of {model.origin}, which has other fields")


def write_next(
    group: GroupModels,
    models: Sequence[PlannedModel],
    offsets: Mapping[int, int],
    change: str,
    tell: Callable[[str], None],
    says: Configuration,
    relearn_from: Mapping[int, int],
    begin: str,
) -> ModelPlan:
    """Write the next plan of a group; parameters as `ModelPlan` has them, `says` is its configuration.

    With other features, `begin`, EMPTY or RELEARNED, says how models begin that cannot go on with them.

    Raises
    ------
    UsageFailure
        It cannot be, see `require_possible`, or is as the newest, or somebody has written another since the lookup.
    Failure, Unreachable
        Another command writes at the same time, the broker refuses, or does not answer.
    """
    _require_ahead(group, offsets)
    _require_behind(group, relearn_from)
    models, now = models_with_features(group.newest, models, says, group.model, begin), round(1000 * time.time())
    plan = ModelPlan(group.next_number, models, dict(offsets), now, change, says, dict(relearn_from))
    newest = group.newest
    if plan.names == newest.names and says == newest.configuration:
        raise UsageFailure(f"plan {newest.number}, the newest, has these models and settings already: nothing changes")
    require_possible(group, plan)
    if says.features != newest.configuration.features:  # the first plan of its topic says its own
        newest = replace(newest, configuration=replace(newest.configuration, features=present_features(group)))
    with translated_errors(group.settings):
        if plan.configuration.detectors:
            require_alarm_topic(group.settings)
        write_after(group.settings, newest, plan, tell)
    return plan


def present_features(group: GroupModels) -> tuple[str, ...]:
    """Return the features of a group's newest plan, as `Configuration` has them.

    Raises
    ------
    UsageFailure
        They are not known yet, have no names, or differ between partitions.
    """
    if (known := group.newest.configuration.features) is not None:
        return known
    return features_of([_snapshot_of(one).saved.schema for one in group.partitions if one.pointer is not None])


def _snapshot_of(one: GroupPartition) -> ModelFile:
    """The newest snapshot of a partition that has one."""
    assert one.pointer is not None  # noqa: S101
    return read_snapshot(one, one.pointer)


def _require_partition(group: GroupModels, partition: int) -> None:
    if partition >= len(group.partitions):
        raise UsageFailure(
            f"there is no partition {partition} of {group.settings.input}: it has 0 to {len(group.partitions) - 1}"
        )


def _require_behind(group: GroupModels, begins: Mapping[int, int]) -> None:
    """Check that the partitions are there, have passed the offsets, and that the log still has them."""
    for partition, offset in begins.items():
        _require_partition(group, partition)
        one = group.partitions[partition]
        if not one.low <= offset <= (one.committed or 0):
            raise UsageFailure(
                f"partition {partition} cannot relearn from offset {offset}: its log begins at {one.low}, and it has "
                f"committed {one.committed or 0}"
            )


def _require_ahead(group: GroupModels, offsets: Mapping[int, int]) -> None:
    """Check that the partitions are there, and have not passed the offsets."""
    for partition, offset in offsets.items():
        _require_partition(group, partition)
        if offset < (group.partitions[partition].committed or 0):
            raise UsageFailure(
                f"partition {partition} has passed offset {offset}: it has committed "
                f"{group.partitions[partition].committed}"
            )
        before = group.newest.offsets.get(partition, 0)
        if offset < before:
            newest = group.newest.number
            raise UsageFailure(f"partition {partition} adopts plan {newest} at {before}: plans are adopted in order")


def offsets_at(group: GroupModels, millis: int) -> dict[int, int]:
    """Partition -> offset of its first record with that time, in ms since 1970, or a later one.

    A partition without such a record adopts the plan with the first record after those that it has now.

    Raises
    ------
    Failure, Unreachable
        The broker refuses, or does not answer.
    """
    topic, deadline = group.settings.input, Deadline(ASK_SECONDS)
    asked = [TopicPartition(topic, one.partition, millis) for one in group.partitions]
    with translated_errors(group.settings), closing(reader_of(group.settings)) as reader:
        found = query(lambda: reader.offsets_for_times(asked, timeout=deadline.remaining()), deadline)
    return {one.partition: one.offset if one.offset >= 0 else group.partitions[one.partition].high for one in found}


def adoptions_of(group: GroupModels) -> dict[int, dict[int, PlanAdoption]]:
    """Partition -> number of each plan that it has adopted -> where, as far as its log still says.

    Raises
    ------
    Failure, Unreachable
        The broker refuses, or does not answer.
    """
    topic, found = group.settings.topics.snapshots, {}
    with translated_errors(group.settings), closing(reader_of(group.settings)) as reader:
        for one in group.partitions:
            if one.plan == FIRST:
                found[one.partition] = dict[int, PlanAdoption]()
                continue
            deadline = Deadline(ASK_SECONDS)
            first, end = watermarks(reader, topic, one.partition, deadline)
            scan = SnapshotScan(one.partition, 0, LARGEST)
            found[one.partition] = scan_snapshots(reader, topic, first, end, scan, deadline).adoptions
    return found

"""Whether a plan can follow another, and what its models keep; the rules are in `model_plan`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.learner import Learner
from driftway.learners.preprocessing.feature_changes import can_change_features, continue_with_features
from driftway.learners.preprocessing.imputation import Imputer
from driftway.learners.registry import UnknownLearner
from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.delayed_labels.pending_rows import SAME_COLUMNS, PendingRows, WaitingRows
from driftway.worker.state.model_sharing.model_exchange import ModelExchange
from driftway.worker.state.monitoring.alarms import make_detectors
from driftway.worker.state.monitoring.monitors import Monitors
from driftway.worker.state.plans.configuration import why_not_features
from driftway.worker.state.plans.model_plan import ModelPlan
from driftway.worker.wire.events import Schema


class PlannedState(NamedTuple):
    """A plan with what has a state under it; the learners are none before the first usable event."""

    plan: ModelPlan
    settings: ModelSettings
    columns: tuple[str, ...] | None
    """As `named_columns` returns them."""
    learners: Sequence[Learner]
    monitors: Monitors
    pending: PendingRows | None
    exchange: ModelExchange | None
    imputer: Imputer | None


def named_columns(schema: Schema | None, columns: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of learners' input columns; None if the features of the schema have none."""
    return None if schema is None or schema.names is None else columns


def carry_over(before: PlannedState, after: PlannedState) -> None:
    """Carry over what `after` keeps; the rest stays as it begins. `before` is used no more.

    Metrics with a longer window begin anew if it holds rows that the shorter one has dropped. The test of a challenger
    and the drift detectors that stay go on while the champion is the same.

    Raises
    ------
    Failure
        The state of a model file with which one is to begin is missing, or does not fit; or the features are others,
        and a model that is not to begin anew cannot go on with them.
    """
    columns = _kept_columns(before, after)
    if before.imputer is not None and after.imputer is not None:
        after.imputer.continue_from(before.imputer, columns)
    kept = _carry_models_over(before, after, columns)
    warm, number = after.settings.warm, after.settings.warm_model
    if kept and warm is not None and number is not None and kept[number] is None and not warm.state:
        raise Failure(f"{after.plan.names[number]} begins with a model file, which --warm-start must name")
    watched, watching = before.monitors, after.monitors
    if before.plan.champion == after.plan.champion:
        tested = dict(zip(before.plan.names[1:], watched.tests.processes, strict=False))
        for name, test in zip(after.plan.names[1:], watching.tests.processes, strict=False):
            if name in tested:
                test.state.memory[:] = tested[name].state.memory
        same = not after.plan.models[0].anew
        if same and watched.drift is not None and watching.drift is not None:
            watching.drift.continue_from(watched.drift)
    if before.pending is not None and after.pending is not None:
        after.pending.continue_from(before.pending, after.learners, kept, _with_columns(after, columns))
        for i, (number, confidence) in enumerate(zip(kept, watching.confidence.models, strict=True)):
            earlier = None if number is None else watched.confidence.models[number]
            confidence.keep_waiting(after.pending.waiting, after.pending.scores_of(i), earlier)
    if before.exchange is not None and after.exchange is not None:
        after.exchange.continue_from(before.exchange, kept)


def _kept_columns(before: PlannedState, after: PlannedState) -> list[int | None] | None:
    """For each input column of the learners after its number among those before; None: all are the same.

    A column is the same if its name is, and what makes it of the field of an event.

    Raises
    ------
    Failure
        The features have no names.
    """
    ours, theirs = (_column_keys(one) for one in (after, before))
    if ours == theirs or not before.learners:
        return None
    if theirs is None or ours is None:
        raise Failure("the features of this partition's events have no names, so they cannot be changed by name")
    index_of = {key: i for i, key in enumerate(theirs)}
    return [index_of.get(key) for key in ours]


def _column_keys(one: PlannedState) -> list[tuple[object, ...]] | None:
    """What tells the learners' input columns apart: names, and of a column of a hash how many there are."""
    if one.columns is None:
        return None
    events = one.settings.events
    kinds = [] if events is None else [(f.kind, f.width) for f in events.features for _ in f.columns]
    return list(zip_longest(one.columns, kinds))


def _with_columns(after: PlannedState, columns: Sequence[int | None] | None) -> WaitingRows:
    """Convert the waiting rows: a new column gets its constant, or 0, and its indicator says that it was missing."""
    if columns is None:
        return SAME_COLUMNS
    constants = [] if after.imputer is None else after.imputer.constants
    return WaitingRows(columns, [*constants, *[1.0 if constants else 0.0] * (len(columns) - len(constants))])


def _carry_models_over(
    before: PlannedState, after: PlannedState, columns: Sequence[int | None] | None
) -> list[int | None]:
    """Copy states and metrics of models that stay, or go on under other parameters; give others those of their files.

    How sure its predictions are belongs to a model, too. `columns` are as `_kept_columns` returns them.

    Returns for each learner of `after` the number of the one whose state it goes on with; None: it is new.
    """
    numbers = {name: number for number, name in enumerate(before.plan.names[: len(before.learners)])}
    kept = list[int | None]()
    watched, watching = before.monitors, after.monitors
    each = zip(after.plan.models, after.learners, watching.metrics, watching.confidence.models, strict=False)
    for model, learner, metrics, confidence in each:
        number = numbers.get(model.name, numbers.get(model.origin))
        if model.anew or (number is not None and not is_of_one_kind(before.learners[number], learner, columns is None)):
            number = None
        if number is not None:
            if columns is None:
                learner.state.memory[:] = before.learners[number].state.memory
            elif can_change_features(learner):
                continue_with_features(learner, before.learners[number], columns)
            else:
                raise Failure(f"{model.name} cannot go on with other features, and is not to begin anew")
            metrics.continue_from(watched.metrics[number])  # type: ignore[arg-type]  # of the same task
            confidence.continue_from(watched.confidence.models[number])
        elif model.file is not None and not model.anew:
            model.file.begin(learner, after.columns)
            if model.file.learner is not None:
                confidence.begin_with(model.file.learner.calibration)
        kept.append(number)
    return kept


def join(relearned: PlannedState, after: PlannedState, names: Sequence[str]) -> None:
    """Copy the states of the named models, with their metrics and their predictions for rows that wait."""
    for name in names:
        i, j = after.plan.names.index(name), relearned.plan.names.index(name)
        after.learners[i].state.memory[:] = relearned.learners[j].state.memory
        after.monitors.metrics[i].state.memory[:] = relearned.monitors.metrics[j].state.memory
        confidence, learned = after.monitors.confidence.models[i], relearned.monitors.confidence.models[j]
        confidence.continue_from(learned)
        if after.pending is not None and relearned.pending is not None:
            own, theirs = after.pending.adopt(i, relearned.pending, j)
            confidence.adopt_waiting(own, learned, theirs)


def is_of_one_kind(one: Learner, other: Learner, same_features: bool = True) -> bool:
    """Whether a learner can go on with another's state: only their parameters, and perhaps features, may differ."""
    if same_features:
        return one.name == other.name and one.state.fields == other.state.fields
    forms = ([(name, dtype, len(shape)) for name, (dtype, shape) in each.state.fields.items()] for each in (one, other))
    return one.name == other.name and next(forms) == next(forms)


def why_not(plan: ModelPlan, settings: ModelSettings) -> str | None:
    """Return why workers with these settings cannot adopt a plan; None if they can, as far as that is known."""
    target, lacking = settings.target, plan.lacking
    if (why := why_not_features(settings, plan.configuration.features)) is not None:
        return why
    if lacking is not None and lacking.file is not None:
        return f"the state of {lacking.name} from model file {lacking.file.name} is missing, or damaged"
    try:
        make_detectors(plan.applied_to(settings).detectors, target.task)
        for model in plan.models:
            model.spec.min_features(target.n_classes, target.task)
    except (Failure, ParameterError, UnknownLearner) as error:
        return str(error)
    return None

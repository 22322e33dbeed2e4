"""Whether a plan can follow another, and what its models keep; the rules are in `model_plan`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.learner import Learner
from driftway.learners.registry import UnknownLearner
from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.delayed_labels.pending_rows import PendingRows
from driftway.worker.state.model_sharing.model_exchange import ModelExchange
from driftway.worker.state.monitoring.alarms import make_detectors
from driftway.worker.state.monitoring.monitors import Monitors
from driftway.worker.state.plans.model_plan import ModelPlan
from driftway.worker.wire.events import Schema


class PlannedState(NamedTuple):
    """A plan with what has a state under it; the learners are none before the first good event."""

    plan: ModelPlan
    settings: ModelSettings
    columns: tuple[str, ...] | None
    """As `named_columns` returns them."""
    learners: Sequence[Learner]
    monitors: Monitors
    pending: PendingRows | None
    exchange: ModelExchange | None


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
        The state of a model file with which one is to begin is missing, or does not fit.
    """
    kept = _carry_models_over(before, after)
    warm, number = after.settings.warm, after.settings.warm_model
    if kept and warm is not None and number is not None and kept[number] is None and not warm.state:
        raise Failure(f"{after.plan.names[number]} begins with a model file, which --warm-start must name")
    watched, watching = before.monitors, after.monitors
    if before.plan.champion == after.plan.champion:
        tested = dict(zip(before.plan.names[1:], watched.tests.processes, strict=False))
        for name, test in zip(after.plan.names[1:], watching.tests.processes, strict=False):
            if name in tested:
                test.state.memory[:] = tested[name].state.memory
        if watched.drift is not None and watching.drift is not None:
            watching.drift.continue_from(watched.drift)
    if before.pending is not None and after.pending is not None:
        after.pending.go_on_from(before.pending, after.learners, kept)
        for i, (number, confidence) in enumerate(zip(kept, watching.confidence.models, strict=True)):
            earlier = None if number is None else watched.confidence.models[number]
            confidence.keep_waiting(after.pending.waiting, after.pending.scores_of(i), earlier)
    if before.exchange is not None and after.exchange is not None:
        after.exchange.go_on_from(before.exchange, kept)


def _carry_models_over(before: PlannedState, after: PlannedState) -> list[int | None]:
    """Copy states and metrics of models that stay, or go on under other parameters; give others those of their files.

    How sure its predictions are belongs to a model, too.

    Returns for each learner of `after` the number of the one whose state it goes on with; None: it is new.
    """
    numbers = {name: number for number, name in enumerate(before.plan.names[: len(before.learners)])}
    kept = list[int | None]()
    watched, watching = before.monitors, after.monitors
    each = zip(after.plan.models, after.learners, watching.metrics, watching.confidence.models, strict=False)
    for model, learner, metrics, confidence in each:
        number = numbers.get(model.name, numbers.get(model.origin))
        if number is not None and not is_of_one_kind(before.learners[number], learner):
            number = None
        if number is not None:
            learner.state.memory[:] = before.learners[number].state.memory
            metrics.continue_from(watched.metrics[number])  # type: ignore[arg-type]  # of the same task
            confidence.continue_from(watched.confidence.models[number])
        elif model.file is not None:
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


def is_of_one_kind(one: Learner, other: Learner) -> bool:
    """Whether a learner can go on with another's state: only their parameters may differ."""
    return one.name == other.name and one.state.fields == other.state.fields


def why_not(plan: ModelPlan, settings: ModelSettings) -> str | None:
    """Return why workers with these settings cannot take a plan; None if they can, as far as that is known."""
    target, lacking = settings.target, plan.lacking
    if lacking is not None and lacking.file is not None:
        return f"the state of {lacking.name} from model file {lacking.file.name} is missing, or damaged"
    try:
        make_detectors(plan.applied_to(settings).detectors, target.task)
        for model in plan.models:
            model.spec.min_features(target.n_classes, target.task)
    except (Failure, ParameterError, UnknownLearner) as error:
        return str(error)
    return None

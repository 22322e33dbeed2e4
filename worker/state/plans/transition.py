"""Whether a plan can follow another, and what its models keep; the rules are in `model_plan`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.learner import Learner
from driftway.learners.metrics.e_process import EProcess
from driftway.learners.metrics.rolling import Metrics
from driftway.learners.registry import UnknownLearner
from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.monitoring.alarms import make_detectors
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan
from driftway.worker.wire.events import Schema


class PlannedState(NamedTuple):
    """A plan with the learners of its models and their metrics, both empty before the first good event."""

    plan: ModelPlan
    learners: Sequence[Learner]
    metrics: Sequence[Metrics]
    tests: Sequence[EProcess]
    """Of the challengers; empty where they are not tested."""
    columns: tuple[str, ...] | None = None
    """As `named` returns them."""


def named(schema: Schema | None, columns: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of learners' input columns; None if the features of the schema have none."""
    return None if schema is None or schema.names is None else columns


def carry_over(before: PlannedState, after: PlannedState) -> None:
    """Copy the states that the models of `after` keep, with their metrics; the others stay as they begin.

    Metrics with a longer window begin anew if it holds rows that the shorter one has dropped. The test of a challenger
    goes on while its champion is the same.

    Raises
    ------
    Failure
        The state of a model file is missing, or does not fit.
    """
    present = dict(zip(before.plan.names, zip(before.learners, before.metrics, strict=True), strict=False))
    for model, learner, metrics in zip(after.plan.models, after.learners, after.metrics, strict=False):
        kept = present.get(model.name, present.get(model.origin))
        if kept is not None and is_of_one_kind(kept[0], learner):
            learner.state.memory[:] = kept[0].state.memory
            metrics.continue_from(kept[1])  # type: ignore[arg-type]  # of the same task
        elif model.file is not None:
            model.file.begin(learner, after.columns)
    if before.plan.champion == after.plan.champion:
        tested = dict(zip(before.plan.names[1:], before.tests, strict=False))
        for name, test in zip(after.plan.names[1:], after.tests, strict=False):
            if name in tested:
                test.state.memory[:] = tested[name].state.memory


def is_of_one_kind(one: Learner, other: Learner) -> bool:
    """Whether a learner can go on with another's state: only their parameters may differ."""
    return one.name == other.name and one.state.fields == other.state.fields


def why_not(plan: ModelPlan, settings: ModelSettings) -> str | None:
    """Return why workers with these settings cannot take a plan; None if they can, as far as that is known."""
    if plan.number > FIRST and (reason := settings.why_models_stay) is not None:
        return reason
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

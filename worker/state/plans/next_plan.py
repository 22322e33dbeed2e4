"""What commands and workers that write plans share: naming a model, promoting one, writing the next plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from driftway.learners.engine.parameters import ParameterError
from driftway.learners.preprocessing.feature_changes import can_change_features
from driftway.learners.registry import UnknownLearner
from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.state.plans.plan_topic import PlanWriter


def spec_of(learner: str) -> Spec:
    """Parse a learner as typed.

    Raises
    ------
    UsageFailure
        It is none.
    """
    try:
        return Spec.parse(learner)
    except ParameterError as error:
        raise UsageFailure(str(error)) from None


def named(plan: ModelPlan, learner: str) -> PlannedModel:
    """Return the model of that name.

    Raises
    ------
    UsageFailure
        There is none.
    """
    found = next((model for model in plan.models if model.name == learner), None)
    if found is None:
        name = spec_of(learner).text
        found = next((model for model in plan.models if model.name == name), None)
    if found is None:
        raise UsageFailure(f"there is no model {name} in plan {plan.number}: it has {', '.join(plan.names)}")
    return found


def promoted(plan: ModelPlan, learner: str) -> tuple[PlannedModel, ...]:
    """Return the models of a plan with another champion; the present one becomes a challenger.

    Raises
    ------
    UsageFailure
        There is no such model, or it is the champion.
    """
    champion = named(plan, learner)
    if champion.name == plan.champion:
        raise UsageFailure(f"{champion.name} is the champion already")
    return champion, *(model for model in plan.models if model is not champion)


def can_continue(model: PlannedModel, settings: ModelSettings) -> bool:
    """Whether a model's state can go on with other features, as far as that is known."""
    like = settings.target.n_classes, settings.target.task
    try:
        learner = model.spec.create(model.spec.min_features(*like), *like)
    except (ParameterError, UnknownLearner):
        return True  # the check of the plan says so
    return can_change_features(learner) and not (settings.maps and learner.uses_features)


def restarted(model: PlannedModel, relearned: bool = False) -> PlannedModel:
    """Return a model that begins anew with other features, empty or relearned."""
    return replace(model, anew=True, relearned=relearned, origin="")


def write_after(settings: WorkerSettings, newest: ModelPlan, plan: ModelPlan, tell: Callable[[str], None]) -> None:
    """Write a plan behind the newest one, and that too if the group has no topic of plans yet.

    Raises
    ------
    UsageFailure
        Somebody has written another plan meanwhile.
    Failure
        Another writer is at work, or the topic cannot be created.
    KafkaException, TimedOut
        The broker refuses, or did not answer in time.
    """
    writer = PlanWriter(settings)
    present = writer.read(tell)
    if present and present[-1].number != newest.number:
        raise UsageFailure(f"plan {present[-1].number} was written in the meantime: see `driftway models show`")
    writer.write([*([] if present else [newest]), plan])

"""What the models of a plan with other features begin with, for `driftway models`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from driftway.worker.errors import UsageFailure
from driftway.worker.settings import ModelSettings
from driftway.worker.state.plans.configuration import Configuration, why_not_features
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.state.plans.next_plan import can_continue, restarted
from driftway.worker.wire.events import Schema

EMPTY, RELEARNED = "empty", "relearned"
"""How a model starts that cannot continue with other features."""


def features_of(schemas: Sequence[Schema | None]) -> tuple[str, ...]:
    """Return the names of the features of events with an object ``x``, given the schema of each partition.

    Raises
    ------
    UsageFailure
        They are not known yet, have no names, or differ between partitions.
    """
    names = {schema.names for schema in schemas if schema is not None}
    if not names:
        raise UsageFailure("there was no usable event yet: the features are not known")
    if None in names:
        raise UsageFailure("the events have their features in lists, without names, so they cannot be changed by name")
    first, *others = names
    if others or first is None:
        raise UsageFailure("the partitions have different features, so they cannot be changed for all of them")
    return first


def models_with_features(
    newest: ModelPlan, models: Sequence[PlannedModel], says: Configuration, settings: ModelSettings, begin: str
) -> tuple[PlannedModel, ...]:
    """Return the models of the next plan, of which some must perhaps begin anew as its features are others.

    Parameters
    ----------
    newest : ModelPlan
        The newest plan.
    models : sequence of PlannedModel
        Those of the next one.
    says : Configuration
        What that says of the features.
    settings : ModelSettings
        The group's.
    begin : str
        EMPTY or RELEARNED, how models begin that cannot go on; empty: not given.

    Raises
    ------
    UsageFailure
        The features cannot be changed, or `begin` is needed, or of no use.
    """
    models = [replace(model, anew=False) for model in models]
    if says.features == newest.configuration.features:
        if begin:
            raise UsageFailure("--begin is for changes of the features, but the features stay as they are")
        return tuple(models)
    if says.features is None:
        raise UsageFailure(
            "that plan does not say which features it had: change them with `driftway models configure`, "
            "--add-feature and --drop-feature"
        )
    if (why := why_not_features(settings, says.features)) is not None:
        raise UsageFailure(why)
    anew = [one for one in models if {one.name, one.origin} & set(newest.names) and not can_continue(one, settings)]
    if anew and not begin:
        raise UsageFailure(
            f"{', '.join(one.name for one in anew)} cannot go on with other features: say with --begin how they "
            f"start, {EMPTY} or {RELEARNED}"
        )
    return tuple(restarted(one, begin == RELEARNED) if one in anew else one for one in models)

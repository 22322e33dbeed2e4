"""Relearn the new models of a plan from the partition's log: what they would be if they had run from its beginning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from driftway.worker.errors import CannotRestore
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan, PlanPlace
from driftway.worker.state.plans.transition import join
from driftway.worker.wire.events import Schema

PIECE_ROWS = 1000
"""Rows between two signs of life, of the slowest learner, too."""


def why_not_relearned(plan: ModelPlan, settings: ModelSettings, label_topic: str) -> str | None:
    """Return why models of a plan cannot be relearned in a group with these settings; None if they can, or none is."""
    given = {"--label-topic": label_topic, "--share": settings.share, "--warm-start": settings.warm}
    option = next((option for option, value in given.items() if value), None)
    if option is None or not any(model.relearned for model in plan.models):
        return None
    return f"the models of a group with {option} cannot be relearned: leave --relearned out"


def unlearned(live: Model, plan: ModelPlan, names: Sequence[str], schema: Schema) -> Model:
    """Return a model of the named models of a plan, which has learned nothing and reads events as `live` does.

    Raises
    ------
    Failure, UsageFailure
        A learner does not fit the rows, or needs more memory than there is.
    """
    planned = plan.applied_to(live.settings)
    specs = tuple(model.spec for model in plan.models if model.name in names)
    settings = replace(planned, specs=specs, detectors=(), max_rejected=None)
    if settings.events is None:
        settings = replace(settings, n_features=schema.n_features, feature_names=schema.names)
    model = Model(settings, live.partition, live.group)
    model.go_on_as(False, live.calibrated.form)  # the models have no champion here
    model.decoder.set_aside_from = live.decoder.set_aside_from
    return model


def followed_by(live: Model, place: PlanPlace, learned: Model | None) -> Model:
    """Return the model of the plan at a place, as `Model.followed_by`, with what was relearned, which `learned` has.

    Raises
    ------
    Failure, UsageFailure
        It cannot be.
    """
    following = live.followed_by(place.plan)
    if learned is not None and place.relearned is not None:
        join(learned.planned, following.planned, place.relearned.models)
    return following


def relearn(
    settings: WorkerSettings, live: Model, place: PlanPlace, progress: Callable[[int], None] = lambda _: None
) -> Model | None:
    """Relearn the models of a place from the log once more; None: there it began with none that was relearned.

    Parameters
    ----------
    settings : WorkerSettings
        Topics and client properties.
    live : Model
        A model of the partition before the place.
    place : PlanPlace
        A place that is recorded.
    progress : callable
        Called with the number of records of each batch.

    Raises
    ------
    CannotRestore
        The log no longer holds the rows.
    Failure, Unreachable
        They cannot be read.
    """
    source = place.relearned
    if source is None:
        return None
    model, found = unlearned(live, place.plan, source.models, source.schema), 0
    topic, headers = (settings.input, live.partition), live.settings.reads_headers
    with RecordStream(settings, settings.client, *topic, place.offset, headers, source.offset) as stream:
        if why := place.why_gone(stream.low):
            raise CannotRestore(f"the models of {stream} cannot be relearned: {why}")
        while (batch := stream.take(PIECE_ROWS)) is not None:
            model.advance(batch, emit=False)
            found += len(batch)
            progress(len(batch))
    if found != source.records:
        raise CannotRestore(
            f"the models of {stream} cannot be relearned: {', '.join(source.models)} of plan {place.plan.number} "
            f"learned {source.records:,} records from offset {source.offset} to {place.offset}, the log holds {found:,}"
        )
    return model

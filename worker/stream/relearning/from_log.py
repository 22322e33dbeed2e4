"""Relearn the new models of a plan from the partition's log: what they would be if they had run from its beginning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from driftway.worker.errors import CannotRestore, Failure, plural
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.state.factory import shares
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.monitors import StateForm
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan, PlanAdoption, PlannedModel
from driftway.worker.state.plans.transition import join
from driftway.worker.stream.relearning.log_rows import log_begins, recorded_order, rows_after
from driftway.worker.wire.events import Schema

PIECE_ROWS = 1000
"""Rows between two signs of life, of the slowest learner, too."""


def why_not_relearned(plan: ModelPlan, settings: ModelSettings) -> str | None:
    """Return why models of a plan cannot be relearned in a group with these settings; None if they can, or none is."""
    if settings.share is None:
        return None
    sharing = [one.name for one in plan.models if one.relearned and shares(one.spec, settings.target)]
    if not sharing:
        return None
    return (
        f"{', '.join(sharing)} cannot be relearned in a group with --share-models: there it would have exchanged "
        "models with other partitions that did not have it, so it has no defined state: leave --relearned out"
    )


def unlearned(live: Model, plan: ModelPlan, names: Sequence[str], schema: Schema) -> Model:
    """Return a model of the named models of a plan, which has learned nothing and reads events as `live` does.

    Beside a model that began with a file they are challengers from the first row on: they begin empty, but what fills
    in missing values begins as the file says. They share nothing with other partitions.

    Raises
    ------
    Failure, UsageFailure
        A learner does not fit the rows, or needs more memory than there is, or what fills in missing values is in a
        model file that nobody has named.
    """
    planned = replace(plan.applied_to(live.settings), detectors=(), max_rejected=None, share=None)
    if planned.events is None:
        planned = replace(planned, n_features=schema.n_features, feature_names=schema.names)
    warm = planned.warm
    if warm is not None and not warm.state and planned.filling(schema) is not None:
        raise Failure(f"{', '.join(names)} began with what model file {warm.digest} fills in, which --warm-start names")
    only = ModelPlan(FIRST, tuple(PlannedModel(model.spec) for model in plan.models if model.name in names))
    model = Model(planned, live.partition, live.group, only)
    model.continue_as(StateForm(False, live.form.calibration))  # the models have no champion here
    model.decoder.set_aside_from = live.decoder.set_aside_from
    return model


def followed_by(live: Model, adoption: PlanAdoption, learned: Model | None) -> Model:
    """Return the model of an adopted plan, as `Model.followed_by`, with what was relearned, which `learned` has.

    Raises
    ------
    Failure, UsageFailure
        It cannot be.
    """
    following = live.followed_by(adoption.plan)
    if learned is not None and adoption.relearned is not None:
        join(learned.planned, following.planned, adoption.relearned.models)
    return following


def relearn(
    settings: WorkerSettings,
    live: Model,
    adoption: PlanAdoption,
    progress: Callable[[int], None] = lambda _: None,
    orders: Sequence[MergeOrder] | None = None,
) -> Model | None:
    """Relearn the models of an adopted plan from the log once more; None: it began with none that was relearned.

    Parameters
    ----------
    settings : WorkerSettings
        Topics and client properties.
    live : Model
        A model of the partition before the adoption.
    adoption : PlanAdoption
        As recorded.
    progress : callable
        Called with the number of records of each batch.
    orders : sequence of MergeOrder or None
        As in `recorded_order`.

    Raises
    ------
    CannotRestore
        The log no longer holds the rows, or the order of their labels is no longer known.
    Failure, Unreachable
        They cannot be read.
    """
    source = adoption.relearned
    if source is None:
        return None
    reading, partition = replace(settings, model=live.settings), live.partition
    where = f"the models of {settings.input}/{partition} cannot be relearned"
    if why := adoption.why_gone(log_begins(reading, partition)):
        raise CannotRestore(f"{where}: {why}")
    order = recorded_order(reading, partition, source.begin, orders)
    model, found = unlearned(live, adoption.plan, source.models, source.schema), 0
    with rows_after(reading, partition, source.begin, adoption.offset, order) as rows:
        while (batch := rows.take(PIECE_ROWS)) is not None:
            model.advance(batch, emit=False)
            found += len(batch)
            progress(len(batch))
    if found != source.records:
        raise CannotRestore(
            f"{where}: {', '.join(source.models)} of plan {adoption.plan.number} learned "
            f"{plural(source.records, 'record')} from offset {source.offset} to {adoption.offset}, the log holds "
            f"{found:,}"
        )
    return model

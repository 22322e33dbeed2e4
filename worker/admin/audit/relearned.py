"""The audit of models that were relearned for a plan."""

from __future__ import annotations

from driftway.worker.admin.audit.snapshots import CompleteSnapshot
from driftway.worker.errors import CannotRestore
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import PlanPlace
from driftway.worker.stream.relearning.from_log import followed_by, relearn
from driftway.worker.stream.relearning.log_rows import log_begins


def model_at(
    settings: WorkerSettings, model: Model, place: PlanPlace, ahead: CompleteSnapshot | None
) -> tuple[Model, list[str]]:
    """Return the model of the plan at a place, and what cannot be checked.

    Relearned models are relearned once more from the log. If that no longer holds their rows, their states are taken
    from the snapshot that was committed with the place.

    Parameters
    ----------
    settings : WorkerSettings
        The workers'.
    model : Model
        The model before the place.
    place : PlanPlace
        Where the plan was taken.
    ahead : CompleteSnapshot or None
        The next snapshot to compare.

    Raises
    ------
    CannotRestore
        Neither the rows nor the snapshot are there.
    Failure, Unreachable
        The log cannot be read.
    """
    source = place.relearned
    if source is None:
        return followed_by(model, place, None), []
    gone = place.why_gone(log_begins(settings, model.partition))
    if not gone:
        return followed_by(model, place, relearn(settings, model, place)), []
    where = f"{settings.input}/{model.partition}"
    if ahead is None or ahead.offset != place.offset or ahead.plan != place.plan:
        raise CannotRestore(f"{where} cannot be audited from offset {place.offset} on: {gone}")
    stored = Model(model.settings, model.partition, model.group, place.plan)
    stored.continue_as(model.form)
    stored.load(ahead.saved)
    return followed_by(model, place, stored), [f"{where}: {gone}; the snapshot at {ahead.where} was trusted"]

"""The audit of models that were relearned for a plan."""

from __future__ import annotations

from driftway.worker.admin.audit.snapshots import CompleteSnapshot
from driftway.worker.errors import CannotRestore
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import PlanAdoption
from driftway.worker.stream.relearning.from_log import followed_by, relearn
from driftway.worker.stream.relearning.log_rows import log_begins


def model_at(
    settings: WorkerSettings, model: Model, adoption: PlanAdoption, ahead: CompleteSnapshot | None
) -> tuple[Model, list[str]]:
    """Return the model of an adopted plan, and what cannot be checked.

    Relearned models are relearned once more from the log. If that no longer holds their rows, their states are taken
    from the snapshot that was committed with the adoption.

    Parameters
    ----------
    settings : WorkerSettings
        The workers'.
    model : Model
        The model before the adoption.
    adoption : PlanAdoption
        Where the plan was adopted.
    ahead : CompleteSnapshot or None
        The next snapshot to compare.

    Raises
    ------
    CannotRestore
        Neither the rows nor the snapshot are there.
    Failure, Unreachable
        The log cannot be read.
    """
    source = adoption.relearned
    if source is None:
        return followed_by(model, adoption, None), []
    gone = adoption.why_gone(log_begins(settings, model.partition))
    if not gone:
        return followed_by(model, adoption, relearn(settings, model, adoption)), []
    where = f"{settings.input}/{model.partition}"
    if ahead is None or ahead.offset != adoption.offset or ahead.plan != adoption.plan:
        raise CannotRestore(f"{where} cannot be audited from offset {adoption.offset} on: {gone}")
    stored = Model(model.settings, model.partition, model.group, adoption.plan)
    stored.continue_as(model.form)
    stored.load(ahead.saved)
    return followed_by(model, adoption, stored), [f"{where}: {gone}; the snapshot at {ahead.where} was trusted"]

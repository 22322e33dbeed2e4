"""Relearn the models of plans that a restore from an older snapshot has to pass."""

from __future__ import annotations

from dataclasses import replace

from driftway.worker.errors import CannotRestore, Unreachable
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.kafka.log_reader.reader import watermarks
from driftway.worker.state.changelog.snapshot_scan import merge_orders
from driftway.worker.state.model import Model
from driftway.worker.stream.relearning.from_log import relearn
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.restoring.restore_sources import RestoreSources
from driftway.worker.stream.task.restoring.side_inputs import lost_labels

PROGRESS_SECONDS = 10.0
"""After each batch the restore has at least this long until its deadline."""


def with_relearned(found: RestoreResult, sources: RestoreSources) -> RestoreResult:
    """Add the relearned models of the plans adopted since; if the log lacks some of their rows, a policy decides.

    Raises
    ------
    CannotRestore
        It does, and --on-restore-failure refuses.
    TimedOut
        The deadline has passed, or the broker has stopped delivering.
    """
    if found.model is None or not any(adoption.relearned for adoption in found.adoptions):
        return found
    try:
        models = _relearned(found, found.model, sources)
    except CannotRestore as error:
        sources.unlearnable = True  # or the policy would try it again
        return with_relearned(sources.by_policy(f"{found.note or 'relearning'}; {error}"), sources)
    except Unreachable as error:
        raise TimedOut(str(error)) from None
    return replace(found, relearned=models)


def _relearned(found: RestoreResult, live: Model, sources: RestoreSources) -> dict[int, Model]:
    """Relearn the models of each adopted plan.

    Raises
    ------
    CannotRestore
        Rows, labels or their order are gone.
    Unreachable
        The broker has stopped delivering.
    """
    context, orders = sources.context, None
    labels, topics = context.settings.label_topic, context.settings.topics
    if labels:
        if lost := lost_labels(sources, watermarks(context.reader, labels, context.partition, context.deadline)[1]):
            raise CannotRestore(f"the models of {context.where} cannot be relearned: {lost}")
        orders = merge_orders(context.reader, topics.snapshots, context.partition, context.deadline)

    def progress(_records: int) -> None:
        keep_on(context.deadline)

    models = {
        adoption.plan.number: relearn(context.settings, live, adoption, progress, orders)
        for adoption in found.adoptions
    }
    return {number: model for number, model in models.items() if model is not None}


def keep_on(deadline: Deadline) -> None:
    """Extend a restore's deadline after a batch that it relearned.

    Raises
    ------
    TimedOut
        It was given up, or has taken too long.
    """
    deadline.extend(PROGRESS_SECONDS)
    if deadline.passed:
        raise TimedOut("a restore was given up while it relearned the models of a plan")
    deadline.remaining()  # as before a call of the client: the restore is not stuck

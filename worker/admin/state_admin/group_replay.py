"""From where a group's history can be replayed, and how its own models replay it: for `driftway evaluate --topic`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace

from driftway.worker.admin.state_admin.listing import History, Progress, list_snapshots
from driftway.worker.admin.state_admin.source import GroupPartition, read_snapshot
from driftway.worker.admin.state_admin.state_at_offset import (
    ProgressFactory,
    RebuiltState,
    no_progress,
    replayed,
    state_at,
)
from driftway.worker.errors import CannotRestore, Failure, UsageFailure
from driftway.worker.state.factory import shares
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.state.plans.plan_run import PlanRun
from driftway.worker.state.snapshot import first_difference
from driftway.worker.wire.events import Records


@dataclass(frozen=True)
class ReplayStart:
    """Where a replay begins.

    Parameters
    ----------
    source : GroupPartition
        The partition.
    history : History
        Its present history.
    state : RebuiltState
        The worker's models there.
    end : int
        The committed offset, where it ends.
    note : str
        Why it does not begin where the history does; empty if it does, or if an offset was asked for.
    """

    source: GroupPartition
    history: History
    state: RebuiltState
    end: int
    note: str = ""

    @property
    def first(self) -> int:
        """The first offset that is replayed."""
        return self.state.offset


def beginning(
    source: GroupPartition, first: int | None, bars: ProgressFactory = no_progress, any_models: bool = False
) -> ReplayStart | None:
    """Return where the replay of a partition begins; None if its group has committed nothing there.

    Parameters
    ----------
    source : GroupPartition
        The partition.
    first : int or None
        The offset to begin at; None: where its history began, or, if that is gone, at the earliest snapshot.
    bars : ProgressFactory
        Shows progress.
    any_models : bool
        Whether the models that the history began with do not matter: they may be unknown where plans were adopted
        before its first snapshot.

    Raises
    ------
    UsageFailure
        The group has not come that far.
    CannotRestore
        The worker's state there cannot be rebuilt any more.
    Failure, Unreachable
        The topics cannot be read.
    """
    end = source.committed
    if end is None:
        return None
    if first is not None and first > end:
        raise UsageFailure(f"--from {first}: the group has committed {source} up to {end} only")
    history = list_snapshots(source.settings, source.partition, source.end, bars("snapshots", source.end)).present(
        source.pointer
    )
    if first is not None:
        return ReplayStart(source, history, state_at(source, first, bars), end)
    began = history.began
    if began is None:
        why = f"the history of {source} began with a state that was imported or kept"
    else:
        try:
            return ReplayStart(source, history, state_at(source, began, bars), end)
        except CannotRestore as error:
            why = str(error)
        if any_models and source.low <= began and (state := _unlearned(source, began)) is not None:
            return ReplayStart(source, history, state, end)
    usable = [one.state_offset for one in history.snapshots if one.problem is None]
    earliest = min((offset for offset in usable if source.low <= offset <= end), default=None)
    if earliest is None:
        raise CannotRestore(why)
    note = f"the rows of {source} before offset {earliest} are left out: {why}"
    return ReplayStart(source, history, state_at(source, earliest, bars), end, note)


def _unlearned(source: GroupPartition, began: int) -> RebuiltState | None:
    """An empty state with the options of the newest snapshot; None if it began with a model file."""
    if source.pointer is None:
        return None
    settings = read_snapshot(source, source.pointer).settings(source.form)
    if settings.warm is not None:
        return None
    return RebuiltState(Model(settings, source.partition), began, None, began, 0)


def worker_pieces(begin: ReplayStart, run: PlanRun[Model], progress: Progress) -> Generator[Records, None, None]:
    """Yield the rows that the worker saw, as `replayed`; on the way check that the replay has the worker's own state.

    The check is at the snapshot that the committed offset points to.

    Raises
    ------
    CannotRestore
        The replay has come to another state than the worker.
    Failure, Unreachable
        The rows cannot be read.
    """
    source, first, base = begin.source, begin.first, begin.state.begin
    pointer = source.pointer
    if pointer is not None and first <= pointer.state_offset <= begin.end:
        with closing(replayed(source, run, first, pointer.state_offset, base, progress)) as pieces:
            yield from pieces
        found = first_difference(read_snapshot(source, pointer).saved, run.model.save())
        if found is not None:
            raise CannotRestore(
                f"what the workers predicted cannot be repeated: at offset {pointer.state_offset} of {source} the "
                f"replay has another state than their snapshot: {found}"
            )
        first = base = pointer.state_offset
    yield from replayed(source, run, first, begin.end, base, progress)


def with_one_learner(worker: Model, model: PlannedModel, set_aside_from: int) -> Model:
    """Return a model that goes on with the same rows as a worker's, under a plan with one learner.

    A learner of the same name goes on with its state, as `driftway models` has it; any other begins empty. `worker` is
    not changed.

    Raises
    ------
    Failure, UsageFailure
        The learner does not fit the rows.
    """
    if worker.settings.share is not None and shares(model.spec, worker.settings.target):
        raise Failure(
            f"what {model.name} would have got from other partitions is not known: the group has --share-models, so "
            "only learners that have nothing to share can be compared"
        )
    twin = Model(worker.settings, worker.partition, worker.group, worker.plan)
    twin.continue_as(worker.form)
    twin.load(worker.save())
    twin.decoder.set_aside_from = set_aside_from
    twin.settings = replace(twin.settings, detectors=())
    return twin.followed_by(ModelPlan(worker.plan.number + 1, (model,)))

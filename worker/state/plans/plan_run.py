"""A model that adopts plans at known offsets during a replay: for a state of the past, or for an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, Self, TypeVar

from driftway.worker.state.plans.changes import PlanChanges
from driftway.worker.state.plans.model_plan import ModelPlan, PlanPlace
from driftway.worker.wire.events import Records


class PlanFollower(Protocol):
    """What takes plans: `driftway.worker.state.model.Model`."""

    @property
    def plan(self) -> ModelPlan:
        """The plan whose models it has."""

    def followed_by(self, plan: ModelPlan) -> Self:
        """Return what goes on under the next plan."""


M = TypeVar("M", bound=PlanFollower)


def followed(model: M, place: PlanPlace) -> M:
    """Return what follows a model at a place.

    Raises
    ------
    Failure, UsageFailure
        The plan does not fit the rows.
    """
    return model.followed_by(place.plan)


class PlanRun(Generic[M]):
    """A partition's model, and the places where it still has to take plans.

    Parameters
    ----------
    model : Model
        The model at the first record.
    partition : int
        The partition.
    places : sequence of PlanPlace
        Where plans are taken; those that `model` has taken already do not count.
    follow : callable
        Returns what follows a model at a place.
    """

    def __init__(
        self,
        model: M,
        partition: int,
        places: Sequence[PlanPlace],
        follow: Callable[[M, PlanPlace], M] = followed,
    ) -> None:
        self.model = model
        self.taken: Callable[[M], None] | None = None
        """Called with each model that follows, before its first row."""
        self._changes, self._follow = PlanChanges(partition), follow
        self._changes.restart(places, max((place.offset for place in places), default=0))

    def pieces(self, records: Records) -> Iterator[Records]:
        """Cut records at the places; `model` is that of the piece yielded last, which the caller makes it learn."""
        while len(records):
            self.take(int(records.offsets[0]))
            n = self._changes.rows_before(self.model.plan.number, records.offsets)
            yield records.before(n)
            records = records.after(n)

    def take(self, following: int) -> M:
        """Take the plans whose places are before the row at offset `following`; return the model.

        Raises
        ------
        Failure, UsageFailure
            A plan does not fit the rows.
        """
        changes = self._changes
        while (place := changes.due(self.model.plan.number, following, following, committing=False)) is not None:
            self.model = self._follow(self.model, place)
            if self.taken is not None:
                self.taken(self.model)
        return self.model

"""A model that adopts plans at known offsets during a replay: for a state of the past, or for an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, Self, TypeVar

from driftway.worker.state.plans.changes import PlanChanges
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption
from driftway.worker.wire.events import Records


class PlanFollower(Protocol):
    """What adopts plans: `driftway.worker.state.model.Model`."""

    @property
    def plan(self) -> ModelPlan:
        """The plan whose models it has."""

    def followed_by(self, plan: ModelPlan) -> Self:
        """Return what goes on under the next plan."""


M = TypeVar("M", bound=PlanFollower)


def followed(model: M, adoption: PlanAdoption) -> M:
    """Return what follows a model when a plan is adopted.

    Raises
    ------
    Failure, UsageFailure
        The plan does not fit the rows.
    """
    return model.followed_by(adoption.plan)


class PlanRun(Generic[M]):
    """A partition's model, and the plans that it still has to adopt.

    Parameters
    ----------
    model : Model
        The model at the first record.
    partition : int
        The partition.
    adoptions : sequence of PlanAdoption
        The plans and their offsets; those that `model` has adopted already do not count.
    follow : callable
        As `followed`.
    """

    def __init__(
        self,
        model: M,
        partition: int,
        adoptions: Sequence[PlanAdoption],
        follow: Callable[[M, PlanAdoption], M] = followed,
    ) -> None:
        self.model = model
        self.on_adoption: Callable[[M], None] | None = None
        """Called with each model that follows, before its first row."""
        self._changes, self._follow = PlanChanges(partition), follow
        self._changes.restart(adoptions, max((adoption.offset for adoption in adoptions), default=0))

    def pieces(self, records: Records) -> Iterator[Records]:
        """Cut records where plans are adopted; the caller makes `model` learn a piece before it asks for the next."""
        while len(records):
            self.adopt(int(records.offsets[0]))
            n = self._changes.rows_before(self.model.plan.number, records.offsets)
            yield records.before(n)
            records = records.after(n)

    def adopt(self, following: int) -> M:
        """Adopt the plans that are due before the row at offset `following`; return the model.

        Raises
        ------
        Failure, UsageFailure
            A plan does not fit the rows.
        """
        changes = self._changes
        while (adoption := changes.due(self.model.plan.number, following, following, committing=False)) is not None:
            self.model = self._follow(self.model, adoption)
            if self.on_adoption is not None:
                self.on_adoption(self.model)
        return self.model

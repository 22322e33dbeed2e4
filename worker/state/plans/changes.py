"""Which plan a partition adopts next, and at which offset: as recorded, as the plan says, or at the next commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.settings import ModelSettings
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan, PlanAdoption


class PlanOutcome(NamedTuple):
    """What became of a plan in a partition."""

    adoption: PlanAdoption
    before: tuple[str, ...]
    """Names of the models that it replaced."""
    passed_over: str | None = None
    """Why it was not adopted; None: it was."""


class PlanChanges:
    """The plans that a partition has still to adopt.

    Parameters
    ----------
    partition : int
        The partition.
    known : sequence of ModelPlan
        The group's plans as far as they are known and prepared, in the order of their numbers; it may grow.
    """

    def __init__(self, partition: int, known: Sequence[ModelPlan] = ()) -> None:
        self._partition, self._known = partition, known
        self._recorded: list[PlanAdoption] = []
        """Adoptions that are committed, behind the state that a restore has found."""
        self.adopted: list[PlanAdoption] = []
        """Adoptions since the last commit."""
        self.outcomes: list[PlanOutcome] = []
        """Plans adopted, and those passed over, that nobody has logged yet."""
        self.held: Callable[[ModelPlan], bool] = lambda _: False
        """Whether a plan must still wait, for its models to be relearned, as must those after it."""
        self._passed_over: set[int] = set()
        self._committed = 0
        """The rows before this offset were predicted under the plans that are recorded."""

    def initial(self, settings: ModelSettings) -> ModelSettings:
        """Return the settings in which a history begins: with the models of the first plan."""
        first = next((plan for plan in self._known if plan.number == FIRST), None)
        return settings if first is None else first.applied_to(settings)

    def restart(self, recorded: Iterable[PlanAdoption], committed: int) -> None:
        """Begin again after a restore, with the recorded adoptions that are ahead of its rows, up to `committed`."""
        self._committed = committed
        self._recorded = sorted(recorded, key=lambda adoption: adoption.plan.number)
        self.adopted.clear()

    def rows_before(self, number: int, offsets: NDArray[np.int64]) -> int:
        """Return how many of the next rows, at `offsets` i8[n], come before the plan after plan `number`: at least one.

        Plans that are due before the first of them must have been adopted.
        """
        cut = self.cut(number, int(offsets[0]) + 1)
        return len(offsets) if cut is None else int(offsets.searchsorted(cut))

    def cut(self, number: int, position: int) -> int | None:
        """Return where the rows from `position` on must be cut for the plan after plan `number`; None: nowhere."""
        adoption = self._recorded_after(number)
        if adoption is not None:
            return adoption.offset
        return self._next(number, position)[1]

    def due(self, number: int, position: int, following: int, committing: bool) -> PlanAdoption | None:
        """Return the adoption of the plan after plan `number` if it is due before the next row.

        Parameters
        ----------
        number : int
            Number of the present plan.
        position : int
            The input offset after the last row.
        following : int
            Offset of the next row, or `position` if that is not known.
        committing : bool
            Whether a commit is about to begin.
        """
        recorded = self._recorded_after(number)
        if recorded is not None:
            return recorded if recorded.offset <= following else None
        plan, at = self._next(number, position)
        if plan is None or (at is None and not committing) or (at is not None and at > following) or self.held(plan):
            return None
        return PlanAdoption(position if at is None else at, plan)

    def following(self, number: int) -> ModelPlan | None:
        """Return the plan after plan `number`; None if there is none, or its adoption is recorded."""
        return None if self._recorded_after(number) is not None else self._next(number, 0)[0]

    def to_relearn(self, plan: ModelPlan, before: ModelPlan) -> tuple[str, ...]:
        """Names of the models to relearn when `plan` is adopted after `before`: none that the newest plan lacks."""
        newest = self._known[-1] if self._known else plan
        return tuple(model.name for model in plan.relearned_after(before) if model.name in newest.names)

    def adopt(self, adoption: PlanAdoption, before: ModelPlan) -> None:
        """Record that a plan was adopted after the plan `before`; one that a restore has found is committed already."""
        if adoption not in self._recorded:
            self.adopted.append(adoption)
        self.outcomes.append(PlanOutcome(adoption, before.names))

    def pass_over(self, adoption: PlanAdoption, why: str) -> None:
        """Never adopt a plan."""
        self._passed_over.add(adoption.plan.number)
        self.outcomes.append(PlanOutcome(adoption, (), why))

    def waiting(self, number: int, position: int) -> bool:
        """Whether a plan is adopted with the next commit."""
        return self.due(number, position, position, committing=True) is not None

    def committed(self, adoptions: Sequence[PlanAdoption], offset: int) -> None:
        """Forget adoptions that are committed, with the rows up to an offset."""
        self._committed = offset
        self.adopted = [adoption for adoption in self.adopted if adoption not in adoptions]

    def take_outcomes(self) -> list[PlanOutcome]:
        """Return and forget the outcomes."""
        outcomes, self.outcomes = self.outcomes, []
        return outcomes

    def _recorded_after(self, number: int) -> PlanAdoption | None:
        return next((adoption for adoption in self._recorded if adoption.plan.number > number), None)

    def _next(self, number: int, position: int) -> tuple[ModelPlan | None, int | None]:
        """The next plan after plan `number` that is not passed over, and its offset; None: at the next commit.

        A plan without an offset ahead is adopted no later than one behind it that has one: they are adopted in order.
        """
        later = [plan for plan in self._known if plan.number > number and plan.number not in self._passed_over]
        if not later:
            return None, None
        first, *others = (self._ahead(plan, position) for plan in later)
        return later[0], first if first is not None else min((at for at in others if at is not None), default=None)

    def _ahead(self, plan: ModelPlan, position: int) -> int | None:
        """The offset that a plan names, unless its row is committed or learned already."""
        at = plan.offsets.get(self._partition)
        return None if at is None or at < max(position, self._committed) else at

"""A history of plans in a file, as `driftway models history --json` prints it: the plans, and their offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driftway.worker.errors import UsageFailure, read_file
from driftway.worker.settings import ModelSettings
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan, PlanAdoption, offsets_of
from driftway.worker.state.plans.relearned_from import RelearnedFrom
from driftway.worker.state.plans.transition import why_not
from driftway.worker.state.stored_fields import Malformed, StoredFields, parse_stored, partition_number

ADOPTED_AT, AT, RELEARNED = "adopted_at", "at", "relearned"


@dataclass(frozen=True)
class PlanHistory:
    """Plans in the order of their numbers, and at which offset each partition adopted them.

    Parameters
    ----------
    name : str
        The file, for messages.
    plans : tuple of ModelPlan
        The first plan, then the next ones.
    adopted_at : tuple of mapping
        For each plan partition -> offset of the first row that its models predict; of the first plan empty.
    relearned : tuple of mapping
        For each plan partition -> from which rows its new models were relearned, where they were.
    """

    name: str
    plans: tuple[ModelPlan, ...]
    adopted_at: tuple[Mapping[int, int], ...]
    relearned: tuple[Mapping[int, RelearnedFrom], ...]

    @property
    def first(self) -> ModelPlan:
        """The plan that every partition begins with."""
        return self.plans[0]

    @property
    def partitions(self) -> list[int]:
        """The partitions that adopt a plan."""
        return sorted({partition for offsets in self.adopted_at for partition in offsets})

    def adoptions(self, partition: int) -> list[PlanAdoption]:
        """A partition's adoptions of plans. Plans that it never adopted, or that were not usable, are left out."""
        plans = zip(self.plans, self.adopted_at, self.relearned, strict=True)
        return [
            PlanAdoption(offsets[partition], plan, relearned.get(partition))
            for plan, offsets, relearned in plans
            if partition in offsets
        ]

    def require_relearned_from(self, partition: int) -> None:
        """Check that each adoption says from which rows of the log the plan's models were relearned.

        A model that the last plan lacks may have been given up before it was.

        Raises
        ------
        UsageFailure
            One does not.
        """
        adoptions = self.adoptions(partition)
        for adoption, before in zip(adoptions, [self.first, *(one.plan for one in adoptions)], strict=False):
            joined = [one.name for one in adoption.plan.relearned_after(before) if one.name in self.plans[-1].names]
            if joined and adoption.relearned is None:
                raise UsageFailure(
                    f"{self.name}: plan {adoption.plan.number} relearns {joined[0]}, but does not say from which "
                    f"rows of partition {partition}, as `driftway models history --json` does under {RELEARNED!r}"
                )

    def require_possible(self, settings: ModelSettings) -> None:
        """Check the plans as workers with these settings do.

        Raises
        ------
        UsageFailure
            A plan cannot be; the message says which one and why.
        """
        for plan in self.plans:
            if (why := why_not(plan, settings)) is not None:
                raise UsageFailure(f"{self.name}: plan {plan.number}: {why}")


def read_history(path: str) -> PlanHistory:
    """Read a history of plans from a file: a list of plans, or one plan a line.

    Each has `plan`, `models` and, from the second on, `adopted_at` or `at`: partition -> offset.

    Raises
    ------
    UsageFailure
        The file cannot be read, or is no such history.
    """
    content = read_file(path, max_bytes=None)
    try:
        return history_of(path, _objects(content))
    except Malformed as error:
        shape = "a history of plans, as `driftway models history --json` prints it"
        raise UsageFailure(f"{path} is not {shape}: {error}") from None


def _objects(content: bytes) -> list[Any]:
    """The objects of a JSON list, of one object, or of lines of objects."""
    try:
        found = parse_stored(content, "it")
    except Malformed:
        return [parse_stored(line, f"line {i}") for i, line in enumerate(content.splitlines(), 1) if line.strip()]
    return found if isinstance(found, list) else [found]


def history_of(name: str, objects: Sequence[Any]) -> PlanHistory:
    """Return the history that parsed objects hold.

    Raises
    ------
    Malformed
        One is no plan, a number is given twice, the first plan is missing, or is adopted before an earlier one.
    """
    found = dict[int, tuple[ModelPlan, dict[int, int], dict[int, RelearnedFrom]]]()
    for i, one in enumerate(objects, 1):
        fields = StoredFields(one, f"entry {i}")
        try:
            plan, offsets, relearned = ModelPlan.of_fields(fields), _offsets(fields), _relearned(fields)
        except Malformed as error:
            raise Malformed(f"entry {i}: {error}") from None
        if plan.number in found:
            raise Malformed(f"plan {plan.number} is there twice")
        found[plan.number] = plan, offsets if plan.number > FIRST else {}, relearned
    if FIRST not in found:
        first = f", the first one is plan {min(found)}" if found else ""
        raise Malformed(f"plan {FIRST}, with which every partition begins, is missing{first}")
    ordered = [found[number] for number in sorted(found)]
    last = dict[int, tuple[int, int]]()
    for plan, offsets, _ in ordered:
        for partition, offset in offsets.items():
            number, before = last.get(partition, (FIRST, 0))
            if offset < before:
                raise Malformed(
                    f"partition {partition} adopts plan {plan.number} at {offset}, which is before plan {number} at "
                    f"{before}: plans are adopted in order"
                )
            last[partition] = plan.number, offset
    plans, adopted_at, relearned_from = zip(*ordered, strict=True)
    return PlanHistory(name, plans, adopted_at, relearned_from)


def _offsets(fields: StoredFields) -> dict[int, int]:
    """Where a plan was adopted or, if not yet, is to be adopted."""
    return offsets_of(fields, ADOPTED_AT if fields.has(ADOPTED_AT) else AT)


def _relearned(fields: StoredFields) -> dict[int, RelearnedFrom]:
    """From which rows the plan's new models were relearned in each partition."""
    found = dict[int, RelearnedFrom]()
    for partition, plain in fields.object(RELEARNED).plain.items() if fields.has(RELEARNED) else ():
        source = RelearnedFrom.of_fields(StoredFields(plain, RELEARNED))
        if source is not None:
            found[partition_number(partition, RELEARNED)] = source
    return found

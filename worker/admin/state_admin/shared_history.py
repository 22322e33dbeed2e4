"""Whether a history of plans can be repeated with shared models: only unchanged, from the recorded exchanges.

Each exchange of a partition is recorded with what its learners received from other partitions (decision 36). So the
learners of the group can be repeated from one partition's own log. Other learners would have received other models,
which nobody knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from driftway.worker.admin.state_admin.source import GroupPartition
from driftway.worker.errors import Failure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.state.plans.model_plan import FIRST, ModelPlan, PlanAdoption
from driftway.worker.state.plans.plan_file import PlanHistory
from driftway.worker.state.plans.plan_topic import known_plans


def require_as_shared(
    source: GroupPartition, history: PlanHistory, adopted: Sequence[PlanAdoption], newest: ModelPlan
) -> None:
    """Require that a history is the one that a partition of a group with ``--share-models`` had.

    Parameters
    ----------
    source : GroupPartition
        The partition.
    history : PlanHistory
        The history.
    adopted : sequence of PlanAdoption
        Where the partition adopted plans.
    newest : ModelPlan
        The models that it has; those of the first plan if the group has no topic of plans.

    Raises
    ------
    Failure
        It is another one; the message says from where on.
    Unreachable
        The group's plans cannot be read.
    """
    with translated_errors(source.settings), closing(reader_of(source.settings)) as reader:
        plans = known_plans(reader, source.settings, Deadline(ASK_SECONDS), lambda _: None)
    first = next((plan for plan in plans if plan.number == FIRST), newest)
    where = difference(history.first, history.adoptions(source.partition), first, adopted)
    if where is not None:
        raise Failure(
            f"{history.name}: from offset {where} on, {source} had other models than this history. The group has "
            "--share-models, and what other models would have got from other partitions is not known"
        )


def difference(
    first: ModelPlan, adoptions: Sequence[PlanAdoption], other_first: ModelPlan, others: Sequence[PlanAdoption]
) -> int | None:
    """Return the offset from which on two histories have other models; None: they are the same."""
    ours, theirs = ([(0, _models(begun)), *((one.offset, _models(one.plan)) for one in rest)]
                    for begun, rest in ((first, adoptions), (other_first, others)))  # fmt: skip
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            return min(one[0], other[0])
    longer = max(ours, theirs, key=len)[min(len(ours), len(theirs)) :]
    return longer[0][0] if longer else None


def _models(plan: ModelPlan) -> list[dict[str, object]]:
    return [model.as_dict() for model in plan.models]

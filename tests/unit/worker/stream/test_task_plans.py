"""A task applies plans at offsets or with a commit, drops those of a failed commit, and relearns across them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption, PlannedModel
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.task import Task
from tests.unit.worker.rows import events, records, wire
from tests.unit.worker.stream.recording_checkpoint import MODEL, RecordingCheckpoint, worker_settings

WHOLE = records(events(120))
FIRST = "dfop:mu=0.01", "no_change"


def plan(number: int, *models: str, at: int | None = None) -> ModelPlan:
    offsets = {} if at is None else {3: at}
    return ModelPlan(number, tuple(PlannedModel(Spec.parse(name)) for name in models), offsets)


def started(plans: Sequence[ModelPlan]) -> tuple[Task, RecordingCheckpoint]:
    """A task at the beginning of its log, and its checkpoint."""
    checkpoint = RecordingCheckpoint()
    task = Task(worker_settings(snapshot_rows=10**6, snapshot_interval=1e6), 3, checkpoint, plans)
    task.restore_from(RestoreResult(task.new_model(), 0, 0, None))
    return task, checkpoint


def commit(task: Task) -> None:
    begun = task.begin_commit()
    task.end_commit(begun, begun.run(None, Deadline(1)))


def undisturbed(*adoptions: PlanAdoption, first: int = 0) -> tuple[list[Any], ...]:
    """What one run emits for the rows from `first` on."""
    model, outputs, done = Model(MODEL, 3, "g"), [], 0
    for end, following in [*((adoption.offset, adoption.plan) for adoption in adoptions), (120, None)]:
        if done < first < end:
            model.advance(WHOLE.before(first).after(done), emit=False)
            done = first
        outputs.append(model.advance(WHOLE.before(end).after(done), emit=end > first))
        model, done = model if following is None else model.followed_by(following), end
    return wire(outputs)


@pytest.mark.parametrize("size", [7, 50, 120])
def test_a_batch_is_cut_at_the_offset_of_a_plan(size: int) -> None:
    second, third = plan(2, "no_change", FIRST[0], at=40), plan(3, "arow", "no_change", at=41)
    task, checkpoint = started([second, third])
    for start in range(0, 120, size):
        task.advance(WHOLE.before(min(start + size, 120)).after(start))
    assert task.plan_changes.adopted == [PlanAdoption(40, second), PlanAdoption(41, third)]
    commit(task)
    assert wire(checkpoint.committed) == undisturbed(PlanAdoption(40, second), PlanAdoption(41, third))
    assert task.plan_changes.adopted == []


def test_a_commit_applies_a_plan_with_a_snapshot_also_on_an_idle_partition() -> None:
    plans = list[ModelPlan]()
    task, checkpoint = started(plans)
    task.advance(WHOLE.before(50))
    commit(task)
    assert not task.needs_commit()
    plans.append(second := plan(2, "no_change", FIRST[0]))
    assert task.needs_commit()
    assert task.due_at < float("inf")
    commit(task)
    offset, blob = checkpoint.commits[-1]
    header = snapshot.read_snapshot_header(blob or b"")
    assert header is not None
    assert (offset, header.plan, task.model.plan) == (50, second, second)
    assert not task.needs_commit()
    task.advance(WHOLE.after(50))
    commit(task)
    assert wire(checkpoint.committed) == undisturbed(PlanAdoption(50, second))


def test_a_partition_without_any_event_does_not_commit_for_a_plan() -> None:
    task, _ = started([plan(2, "no_change")])
    assert not task.needs_commit()


def test_a_plan_of_a_failed_commit_is_dropped() -> None:
    """The state in memory is that of the plan before, so the restore must come from the log."""
    plans = list[ModelPlan]()
    task, _ = started(plans)
    task.advance(WHOLE.before(50))
    commit(task)
    assert task.in_memory_offset == 50
    plans.append(plan(2, "no_change"))
    task.advance(WHOLE.before(60).after(50))
    task.begin_commit()
    task.reset()
    assert task.in_memory_offset is None


def test_an_invalid_plan_is_skipped_and_reported() -> None:
    task, checkpoint = started([plan(2, "dfop:mu=0.01", "no_such_learner", at=40), plan(3, "no_change", at=60)])
    task.advance(WHOLE)
    (wrong, right) = task.plan_changes.take_outcomes()
    assert (wrong.adoption.plan.number, "no_such_learner" in str(wrong.passed_over)) == (2, True)
    assert (right.adoption, right.passed_over, right.before) == (PlanAdoption(60, right.adoption.plan), None, FIRST)
    commit(task)
    assert wire(checkpoint.committed) == undisturbed(PlanAdoption(60, right.adoption.plan))


@pytest.mark.parametrize("committed", [30, 50, 90])
def test_a_restore_from_an_older_snapshot_applies_the_plans_since(committed: int) -> None:
    """Rows up to the committed offset are relearned, the others emitted; no later plan is applied to the former."""
    second, third, late = plan(2, "no_change", FIRST[0]), plan(3, "arow", "no_change"), plan(4, "pa1", at=70)
    adoptions = PlanAdoption(40, second), PlanAdoption(80, third)
    recorded = [adoption for adoption in adoptions if adoption.offset <= committed]
    task, checkpoint = started([second, third, late] if committed == 90 else [])
    model = Model(MODEL, 3, "g")
    model.advance(WHOLE.before(20), emit=False)
    task.reset()
    task.restore_from(RestoreResult(model, 20, committed, Pointer(0, 1, 20), adoptions=tuple(recorded)))
    task.advance(WHOLE.after(20))
    assert task.plan_changes.adopted == []
    commit(task)
    assert wire(checkpoint.committed) == undisturbed(*recorded, first=committed)
    assert task.model.plan.number == (4 if committed == 90 else len(recorded) + 1)

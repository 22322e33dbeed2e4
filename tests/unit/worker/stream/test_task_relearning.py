"""A task applies a plan once its challenger is relearned: at a commit or an offset, completely or not at all."""

from __future__ import annotations

import pytest

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.state import snapshot
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption, PlannedModel
from driftway.worker.state.plans.relearned_from import RelearnedFrom
from driftway.worker.stream.relearning.from_log import unlearned
from driftway.worker.stream.relearning.relearner import Relearner
from driftway.worker.stream.task.restoring.relearned_models import keep_on
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import Schema
from tests.unit.worker.rows import model_settings
from tests.unit.worker.stream.recording_checkpoint import MODEL
from tests.unit.worker.stream.test_task_plans import FIRST, WHOLE, commit, plan, started

NEW = "arow"


def added(at: int | None = None) -> ModelPlan:
    """A plan with a challenger that is relearned."""
    following = plan(2, *FIRST, at=at)
    return ModelPlan(
        2, (*following.models, PlannedModel(model_settings(NEW).specs[0], relearned=True)), following.offsets
    )


def caught_up(task: Task) -> Relearner:
    """Do what the background thread does, up to the task's position."""
    task.prepare_relearning()
    one = task.relearning.relearner
    assert one is not None
    one.near = True
    task.prepare_relearning()
    one.begin(0)
    one.learn(WHOLE.before(task.position))
    one.reached(task.position)
    assert one.ready
    return one


def challenger(task: Task) -> bytes:
    return task.model.learners[-1].state.memory.tobytes()


def undisturbed(rows: int) -> bytes:
    """The challenger's state in one run over the first rows."""
    model = Model(model_settings(NEW), 3)
    model.advance(WHOLE.before(rows))
    return model.learners[0].state.memory.tobytes()


def test_commits_do_not_wait_for_a_challenger_and_one_adds_it_once_it_has_caught_up() -> None:
    task, checkpoint = started([])
    task.advance(WHOLE.before(50))
    commit(task)
    plans = task.plan_changes._known
    assert isinstance(plans, list)
    plans.append(added())
    assert not task.needs_commit(), "it has not even begun"
    caught_up(task)
    assert task.needs_commit(), "an idle partition takes it, too"
    task.advance(WHOLE.before(60).after(50))
    assert task.relearning.left == 10
    commit(task)
    (offset, blob), names = checkpoint.commits[-1], task.model.plan.names
    assert (offset, names) == (60, (*FIRST, NEW))
    assert blob is not None
    assert challenger(task) == undisturbed(60)
    header = snapshot.read_snapshot_header(blob)
    assert header is not None
    assert header.plan == added()
    task.advance(WHOLE.after(60))
    assert challenger(task) == undisturbed(120)
    assert task.relearning.relearner is None


def test_the_recorded_adoption_has_the_relearned_models() -> None:
    task, _ = started([added()])
    task.advance(WHOLE.before(40))
    caught_up(task)
    begun = task.begin_commit()
    (adoption,) = begun.request.adoptions
    assert adoption.relearned == RelearnedFrom((NEW,), 0, 40, task.model.schema or Schema(0))


@pytest.mark.parametrize("ready", [True, False])
def test_a_plan_with_an_offset_is_applied_there_if_its_challenger_is_ready(ready: bool) -> None:
    task, _ = started([added(at=70)])
    task.advance(WHOLE.before(50))
    if ready:
        caught_up(task)
    task.advance(WHOLE.before(100).after(50))
    assert [adoption.offset for adoption in task.plan_changes.adopted] == ([70] if ready else [])
    assert task.model.plan.number == (2 if ready else 1)
    if not ready:
        caught_up(task)
        commit(task)
        assert task.model.plan.number == 2
    assert challenger(task) == undisturbed(100)


def test_a_challenger_is_relearned_again_after_a_failed_commit() -> None:
    task, _ = started([added()])
    task.advance(WHOLE.before(50))
    one = caught_up(task)
    task.begin_commit()
    task.reset()
    assert task.in_memory_offset is None
    task.restore_from(RestoreResult(task.new_model(), 0, 0, None))
    task.advance(WHOLE.before(50))
    assert not task.plan_changes.waiting(1, task.position)
    assert caught_up(task) is not one


def test_a_reset_and_a_drop_end_the_relearning() -> None:
    task, _ = started(plans := [added()])
    task.advance(WHOLE.before(50))
    one = caught_up(task)
    plans.append(plan(3, *FIRST))
    task.prepare_relearning()
    assert one.over
    assert task.relearning.relearner is None
    commit(task)
    assert task.model.plan.number == 3
    task, _ = started([added()])
    task.advance(WHOLE.before(50))
    one = caught_up(task)
    task.reset()
    assert one.over


def test_a_challenger_that_cannot_be_created_is_skipped() -> None:
    impossible = PlannedModel(model_settings("g_dfop:lambda_source=field,column=70").specs[0], relearned=True)
    task, _ = started([ModelPlan(2, (*plan(2, *FIRST).models, impossible)), plan(3, "no_change")])
    task.advance(WHOLE.before(50))
    task.prepare_relearning()
    commit(task)
    assert task.model.plan.number == 3
    wrong, right = task.plan_changes.take_outcomes()
    assert (wrong.adoption.plan.number, wrong.passed_over is None, right.passed_over) == (2, False, None)


def test_a_challenger_that_fails_at_a_row_is_skipped() -> None:
    task, _ = started([added()])
    task.advance(WHOLE.before(50))
    caught_up(task).failed = "it cannot"
    task.prepare_relearning()
    (outcome,) = task.plan_changes.take_outcomes()
    assert outcome.passed_over == "it cannot"


def test_a_restore_across_the_adoption_uses_the_models_that_it_has_relearned() -> None:
    task, _ = started([added()])
    model = Model(MODEL, 3, "g")
    model.advance(WHOLE.before(20), emit=False)
    adoption = PlanAdoption(40, added(), RelearnedFrom((NEW,), 0, 40, model.schema or Schema(0)))
    relearned = unlearned(model, adoption.plan, (NEW,), model.schema or Schema(0))
    relearned.advance(WHOLE.before(40), emit=False)
    task.reset()
    found = RestoreResult(model, 20, 60, Pointer(0, 1, 20), adoptions=(adoption,), relearned={2: relearned})
    task.restore_from(found)
    task.advance(WHOLE.after(20))
    assert task.plan_changes.adopted == []
    assert challenger(task) == undisturbed(120)


def test_a_restore_that_relearns_does_not_count_as_stuck() -> None:
    deadline = Deadline(0.1, per_call=5.0, at_most=600.0)
    deadline._back_by = 0.0
    assert deadline.overdue_by(3.0)
    keep_on(deadline)
    assert not deadline.overdue_by(3.0)
    assert deadline.left > 5
    deadline.expire()
    with pytest.raises(TimedOut):
        keep_on(deadline)

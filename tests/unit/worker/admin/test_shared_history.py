"""Where partitions share, a history of plans is repeated only if it is the one that was."""

from __future__ import annotations

from dataclasses import replace

from driftway.learners.spec import Spec
from driftway.worker.admin.state_admin.shared_history import difference
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption, PlannedModel


def plan(number: int, *learners: str) -> ModelPlan:
    return ModelPlan(number, tuple(PlannedModel(Spec.parse(one)) for one in learners))


FIRST = plan(1, "pa1")
ADOPTIONS = PlanAdoption(40, plan(2, "pa1", "arow")), PlanAdoption(90, plan(3, "arow", "pa1"))


def test_histories_with_the_same_models_and_offsets_are_equal() -> None:
    changed = replace(ADOPTIONS[0], plan=replace(ADOPTIONS[0].plan, made_at=7, change="add arow"))
    assert difference(FIRST, ADOPTIONS, FIRST, (changed, ADOPTIONS[1])) is None


def test_a_difference_is_reported_at_its_first_offset() -> None:
    for first, adoptions, where in (
        (plan(1, "pa1:C=2"), ADOPTIONS, 0),
        (FIRST, (replace(ADOPTIONS[0], offset=30), ADOPTIONS[1]), 30),
        (FIRST, (replace(ADOPTIONS[0], offset=50), ADOPTIONS[1]), 40),
        (FIRST, (ADOPTIONS[0], replace(ADOPTIONS[1], plan=plan(3, "pa1"))), 90),
        (FIRST, ADOPTIONS[:1], 90),
        (FIRST, (*ADOPTIONS, PlanAdoption(120, plan(4, "arow"))), 120),
    ):
        assert difference(first, adoptions, FIRST, ADOPTIONS) == where

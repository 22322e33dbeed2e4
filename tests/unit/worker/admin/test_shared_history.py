"""Where partitions share, a history of plans is repeated only if it is the one that was."""

from __future__ import annotations

from dataclasses import replace

from driftway.learners.spec import Spec
from driftway.worker.admin.state_admin.shared_history import difference
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel, PlanPlace


def plan(number: int, *learners: str) -> ModelPlan:
    return ModelPlan(number, tuple(PlannedModel(Spec.parse(one)) for one in learners))


FIRST = plan(1, "pa1")
PLACES = PlanPlace(40, plan(2, "pa1", "arow")), PlanPlace(90, plan(3, "arow", "pa1"))


def test_histories_with_the_same_models_and_offsets_are_equal() -> None:
    changed = replace(PLACES[0], plan=replace(PLACES[0].plan, made_at=7, change="add arow"))
    assert difference(FIRST, PLACES, FIRST, (changed, PLACES[1])) is None


def test_a_difference_is_reported_at_its_first_offset() -> None:
    for first, places, where in (
        (plan(1, "pa1:C=2"), PLACES, 0),
        (FIRST, (replace(PLACES[0], offset=30), PLACES[1]), 30),
        (FIRST, (replace(PLACES[0], offset=50), PLACES[1]), 40),
        (FIRST, (PLACES[0], replace(PLACES[1], plan=plan(3, "pa1"))), 90),
        (FIRST, PLACES[:1], 90),
        (FIRST, (*PLACES, PlanPlace(120, plan(4, "arow"))), 120),
    ):
        assert difference(first, places, FIRST, PLACES) == where

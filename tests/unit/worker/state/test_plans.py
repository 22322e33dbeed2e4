"""Plans: how they are stored, what models keep, and where a partition adopts the next one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from driftway.learners.spec import Spec
from driftway.worker.errors import Failure
from driftway.worker.settings import ModelSettings
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.plans.changes import PlanChanges
from driftway.worker.state.plans.model_plan import ModelPlan, PlanAdoption, PlannedModel, first_plan
from driftway.worker.state.plans.transition import why_not
from driftway.worker.state.stored_fields import Malformed
from driftway.worker.wire.codec import PACKED, read_json
from driftway.worker.wire.packed import decode_predictions
from tests.unit.worker.rows import events, records

SETTINGS = ModelSettings(tuple(map(Spec.parse, ("pa1", "arow"))), accuracy_every=10)
ROWS = records(events(120))


def plan(number: int, *models: str, **at: int) -> ModelPlan:
    """A plan of models, each ``learner`` or ``learner<origin``."""
    named = (model.partition("<") for model in models)
    offsets = {int(name.removeprefix("p")): offset for name, offset in at.items()}
    return ModelPlan(number, tuple(PlannedModel(Spec.parse(name), origin) for name, _, origin in named), offsets)


def learned(settings: ModelSettings = SETTINGS, rows: int = 60) -> Model:
    model = Model(settings, 3, "group")
    model.advance(ROWS.before(rows))
    return model


def new_one(learner: str) -> Model:
    """A model with one learner that has seen no row."""
    d = learned(rows=1).learners[0].n_features
    return Model(replace(SETTINGS, specs=(Spec.parse(learner),), n_features=d), 3)


def states(model: Model) -> dict[str, bytes]:
    return {name: one.state.memory.tobytes() for name, one in zip(model.plan.names, model.learners, strict=True)}


def test_a_plan_is_read_as_it_was_stored() -> None:
    made = replace(plan(3, "pa1:C=1<pa1", "arow", p0=7, p12=9), made_at=1_700_000_000_000, change="set pa1 C=1")
    assert ModelPlan.parse(made.write()) == made
    assert PlanAdoption.parse(PlanAdoption(41, made).write()) == PlanAdoption(41, made)


@pytest.mark.parametrize(
    "value",
    [
        None, b"", b"[]", b"{}", b'{"plan":0,"models":[{"learner":"pa1"}]}', b'{"plan":2,"models":[]}',
        b'{"plan":2,"models":[{"learner":"pa1"},{"learner":"pa1"}]}', b'{"plan":2,"models":["pa1"]}',
        b'{"plan":2,"models":[{"learner":"pa1:C"}]}', b'{"plan":2,"models":[{"learner":"pa1"}],"at":{"x":1}}',
        b'{"plan":2,"models":[{"learner":"pa1"}],"at":{"1":-1}}', b'{"plan":2,"models":[{"learner":"pa1"}],"at":[1]}',
    ],
)  # fmt: skip
def test_an_invalid_plan_is_refused(value: bytes | None) -> None:
    with pytest.raises(Malformed):
        ModelPlan.parse(value)


def test_kept_models_keep_their_states_at_any_position() -> None:
    before = learned()
    kept = states(before)
    after = before.followed_by(plan(2, "arow", "pa1", "dfop"))
    assert {name: state for name, state in states(after).items() if name != "dfop"} == kept
    was, now = before.latest_points()["arow"], after.latest_points()["arow"]
    assert now == {figure: value for figure, value in was.items() if figure in now}
    assert new_one("dfop").latest_points()["dfop"].items() <= after.latest_points()["dfop"].items()
    assert after.rows == before.rows


def test_the_test_of_a_challenger_continues_while_its_champion_stays() -> None:
    before = learned()
    same, promoted = before.followed_by(plan(2, "pa1", "dfop", "arow")), before.followed_by(plan(2, "arow", "pa1"))
    assert same.latest_points()["arow"] == before.latest_points()["arow"]
    assert same.latest_points()["arow"]["better_p"] < 1.0
    assert same.latest_points()["dfop"]["better_p"] == promoted.latest_points()["pa1"]["better_p"] == 1.0
    earlier = learned()
    earlier.continue_as(earlier.form._replace(tests_challengers=False))
    assert "better_p" not in earlier.followed_by(plan(2, "pa1", "arow")).latest_points()["arow"]


def test_a_promotion_changes_nothing_but_whose_predictions_are_written() -> None:
    other = learned(replace(SETTINGS, specs=SETTINGS.specs[::-1]))
    promoted = learned().followed_by(plan(2, "arow", "pa1"))
    got, want = (read_json(model.advance(ROWS.after(60)).predictions[0]) for model in (promoted, other))
    assert got.pop("plan") == 2
    assert got == want


def test_changed_parameters_keep_the_state_and_another_learner_starts_empty() -> None:
    before = learned()
    after = before.followed_by(plan(2, "pa1:C=1<pa1", "pa2<pa1", "dfop<arow"))
    assert states(after)["pa1:C=1"] == states(before)["pa1"]
    assert (
        states(after)["dfop"]
        == states(Model(replace(SETTINGS, specs=(Spec.parse("dfop"),), n_features=after.learners[0].n_features), 3))[
            "dfop"
        ]
    )
    after.advance(ROWS.after(60))
    assert states(after)["pa1:C=1"] != states(before)["pa1"]


def test_a_plan_applied_anywhere_gives_the_bits_of_one_run() -> None:
    """However the rows are cut into batches, and whether the state was saved in between."""
    whole = learned().followed_by(plan(2, "arow", "dfop"))
    want = whole.advance(ROWS.after(60)).predictions.to_list()
    split = Model(SETTINGS, 3, "group")
    for start in range(0, 60, 7):
        split.advance(ROWS.before(min(start + 7, 60)).after(start))
    split = split.followed_by(plan(2, "arow", "dfop"))
    again = Model(SETTINGS, 3, "group", split.plan)
    again.load(split.save())
    got = [
        value
        for start in range(60, 120, 13)
        for value in again.advance(ROWS.before(min(start + 13, 120)).after(start)).predictions.to_list()
    ]
    assert got == want


def test_a_snapshot_names_its_plan_and_is_read_only_by_models_of_that_plan() -> None:
    model = learned().followed_by(plan(2, "arow", "pa1"))
    blob = snapshot.write(model, model.save(), 60)
    header = snapshot.read_snapshot_header(blob)
    assert header is not None
    assert header.plan == model.plan
    assert snapshot.read(blob, Model(SETTINGS, 3, plan=header.plan))[1] == 60
    with pytest.raises(snapshot.ForeignSnapshot, match="learners"):
        snapshot.read(blob, Model(SETTINGS, 3))
    first = learned()
    unplanned = snapshot.read_snapshot_header(snapshot.write(first, first.save(), 60))
    assert unplanned is not None
    assert unplanned.plan is None


def test_packed_predictions_have_the_number_of_their_plan() -> None:
    packed = replace(SETTINGS, output_form=PACKED)
    first = learned(packed)
    assert decode_predictions(first.advance(ROWS.after(60)).predictions.to_list()).plan.tolist() == [1] * 60
    second = learned(packed).followed_by(plan(2, "pa1", "dfop"))
    found = decode_predictions(second.advance(ROWS.after(60)).predictions.to_list())
    assert found.plan.tolist() == [2] * 60
    assert found.offset.tolist() == list(range(60, 120))


@pytest.mark.parametrize(
    ("models", "words"),
    [(("nothing",), "nothing"), (("pa1:D=1",), "D"), (("pa1:C=-1",), "C"), (("mc_arow",), None)],
)
def test_impossible_plans_are_refused(models: tuple[str, ...], words: str | None) -> None:
    why = why_not(plan(2, *models), SETTINGS)
    assert (why is None) == (words is None), why
    assert words is None or words in str(why)


def test_too_few_features_for_a_learner_are_reported() -> None:
    with pytest.raises(Failure):
        learned().followed_by(plan(2, "pa1", "unknown_learner"))


# Where a partition adopts them.


def test_a_plan_without_an_offset_is_applied_by_the_next_commit() -> None:
    changes = PlanChanges(3, [plan(2, "pa1", p0=5)])
    assert changes.due(1, 40, 41, committing=False) is None
    assert changes.due(1, 40, 40, committing=True) == PlanAdoption(40, changes._known[0])
    assert changes.cut(1, 40) is None


def test_a_plan_with_an_offset_is_applied_there_or_if_passed_by_the_next_commit() -> None:
    changes = PlanChanges(3, [plan(2, "pa1", p3=50)])
    assert changes.cut(1, 40) == 50
    assert changes.due(1, 40, 49, committing=False) is None
    assert changes.due(1, 40, 40, committing=True) is None
    for following in (50, 60):  # the row at 50 may not exist
        found = changes.due(1, 45, following, committing=False)
        assert found is not None
        assert found.offset == 50
    assert changes.due(1, 51, 52, committing=False) is None
    late = changes.due(1, 51, 51, committing=True)
    assert late is not None
    assert late.offset == 51


def test_plans_are_applied_in_order_and_one_without_an_offset_blocks_no_other() -> None:
    second, third, fourth = plan(2, "pa1"), plan(3, "arow", p3=90), plan(4, "dfop", p3=60)
    changes = PlanChanges(3, [second, third, fourth])
    assert changes.cut(1, 40) == 60
    assert changes.due(1, 40, 59, committing=False) is None
    assert changes.due(1, 40, 60, committing=False) == PlanAdoption(60, second)
    assert changes.due(2, 60, 60, committing=False) is None
    assert changes.due(2, 60, 90, committing=False) == PlanAdoption(90, third)
    assert changes.due(3, 91, 91, committing=True) == PlanAdoption(91, fourth)


def test_no_plan_is_applied_among_committed_rows() -> None:
    changes = PlanChanges(3, [plan(2, "pa1", p3=50)])
    changes.restart((), committed=80)
    assert changes.cut(1, 40) is None
    assert changes.due(1, 45, 50, committing=False) is None
    late = changes.due(1, 80, 80, committing=True)
    assert late is not None
    assert late.offset == 80


def test_recorded_adoptions_take_precedence() -> None:
    second, third = plan(2, "pa1"), plan(3, "arow", p3=90)
    changes = PlanChanges(3, [second, third])
    changes.restart([PlanAdoption(50, second)], committed=80)
    assert changes.cut(1, 40) == 50
    found = changes.due(1, 45, 50, committing=False)
    assert found == PlanAdoption(50, second)
    changes.adopt(found, first_plan(SETTINGS.specs))
    assert changes.adopted == []
    assert changes.cut(2, 60) == 90


def test_a_skipped_plan_is_never_applied_and_the_next_one_is() -> None:
    second, third = plan(2, "pa1"), plan(3, "arow")
    changes = PlanChanges(3, [second, third])
    changes.pass_over(PlanAdoption(40, second), "it is wrong")
    assert changes.due(1, 40, 40, committing=True) == PlanAdoption(40, third)
    assert [(one.adoption.plan.number, one.passed_over) for one in changes.take_outcomes()] == [(2, "it is wrong")]
    assert changes.take_outcomes() == []

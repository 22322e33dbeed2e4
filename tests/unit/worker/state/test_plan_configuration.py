"""Plans that change detectors, window and accuracy points: how they are stored, and what goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.settings.option_values import NO_COVERAGE
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.state.plans.configuration import AS_OPTIONS, Configuration, changed, described_change
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel, first_plan
from driftway.worker.state.plans.transition import why_not
from driftway.worker.state.stored_fields import Malformed
from tests.unit.worker.rows import events, model_settings, records

QUICK, OTHER = (Spec.parse(text) for text in ("ddm:min_n=5,warn=0.2,drift=0.5", "hddm_w:drift_conf=0.5,warn_conf=0.6"))
SETTINGS = model_settings("perceptron", "no_change", accuracy_every=10, window=40, detectors=(QUICK,))
WHOLE, ADOPTED_AT = records(events()), 157


def plan(number: int, configuration: Configuration, *models: str) -> ModelPlan:
    names = models or ("perceptron", "no_change")
    return ModelPlan(number, tuple(PlannedModel(Spec.parse(name)) for name in names), configuration=configuration)


def followed(*plans: ModelPlan, settings: Any = SETTINGS) -> tuple[Model, list[Outputs]]:
    """The model that adopts plans at ADOPTED_AT, and what it emits before and behind."""
    model = Model(settings, 3, "g")
    outputs = [model.advance(WHOLE.before(ADOPTED_AT))]
    for one in plans:
        model = model.followed_by(one)
    return model, [*outputs, model.advance(WHOLE.after(ADOPTED_AT))]


def points(outputs: list[Outputs], *without: str) -> list[dict[str, Any]]:
    found = [json.loads(value) for one in outputs for _, value in one.points]
    return [{name: value for name, value in point.items() if name not in ("plan", *without)} for point in found]


def alarms(outputs: list[Outputs], least: int = ADOPTED_AT) -> list[tuple[int, str]]:
    return [(one.offset, one.detector) for part in outputs for one in part.alarms if one.offset >= least]


def test_settings_of_a_plan_are_stored_and_the_others_come_from_the_options() -> None:
    full, bare = (plan(2, Configuration((QUICK, OTHER), 20, 5, coverage)) for coverage in (0.9, NO_COVERAGE))
    assert ModelPlan.parse(full.write()) == full
    assert ModelPlan.parse(bare.write()) == bare, "a plan that says its window, and no coverage, has none"
    assert b"coverage" not in bare.write()
    assert Configuration.of(full.applied_to(SETTINGS)) == full.configuration
    none = plan(2, Configuration(()))
    assert ModelPlan.parse(none.write()) == none
    assert Configuration.of(none.applied_to(SETTINGS)) == Configuration((), 40, 10, NO_COVERAGE)
    earlier = plan(2, AS_OPTIONS)
    assert b"window" not in earlier.write()
    assert ModelPlan.parse(earlier.write()) == earlier
    assert earlier.applied_to(SETTINGS) == SETTINGS


@pytest.mark.parametrize(
    "more", ['"window":0', '"window":"9"', '"accuracy_every":0', '"detectors":"ddm"', '"detectors":["ddm:x"]',
             '"detectors":["ddm","ddm"]', '"detectors":[1]'],
)  # fmt: skip
def test_an_invalid_plan_is_refused(more: str) -> None:
    with pytest.raises(Malformed):
        ModelPlan.parse(b'{"plan":2,"models":[{"learner":"pa1"}],%s}' % more.encode())


@pytest.mark.parametrize(
    ("detectors", "settings", "words"),
    [
        ("no_such", SETTINGS, "no_such"),
        ("ddm:min_n=-1", SETTINGS, "min_n"),
        ("ddm", model_settings("rls", task="regression"), "counts mistakes"),
    ],
)
def test_invalid_detectors_of_a_plan_are_refused(detectors: str, settings: Any, words: str) -> None:
    named = ModelPlan(
        2, tuple(map(PlannedModel, settings.specs)), configuration=Configuration((Spec.parse(detectors),))
    )
    assert words in str(why_not(named, settings))


def test_points_with_a_shorter_window_equal_those_of_a_model_that_always_had_it() -> None:
    _, outputs = followed(plan(2, Configuration(window=25, accuracy_every=7)))
    always = Model(replace(SETTINGS, window=25, accuracy_every=7), 3, "g")
    always.advance(WHOLE.before(ADOPTED_AT))
    got, want = points(outputs[1:], "drift"), points([always.advance(WHOLE.after(ADOPTED_AT))], "drift")
    assert got == want != []


def test_a_longer_window_starts_empty_and_learners_continue() -> None:
    model, outputs = followed(plan(2, Configuration(window=1000)))
    labels = json.loads(outputs[1].points[-1][1])["labels"]
    assert 0 < labels <= len(WHOLE) - ADOPTED_AT
    undisturbed = Model(SETTINGS, 3, "g")
    undisturbed.advance(WHOLE)
    assert [one.state.memory.tobytes() for one in model.learners] == [
        one.state.memory.tobytes() for one in undisturbed.learners
    ]


def test_an_existing_detector_continues_and_a_new_one_starts() -> None:
    _, before = followed()
    _, outputs = followed(plan(2, Configuration((OTHER, QUICK))))
    kept = [one for one in alarms(outputs) if one[1] == QUICK.text]
    assert kept == alarms(before) != []
    alone = Model(replace(SETTINGS, detectors=(OTHER,)), 3, "g")
    alone.advance(WHOLE.before(ADOPTED_AT))
    begun = alone.followed_by(plan(2, Configuration(()))).followed_by(plan(3, Configuration((OTHER,))))
    assert (
        [one for one in alarms(outputs) if one[1] == OTHER.text]
        == alarms([begun.advance(WHOLE.after(ADOPTED_AT))])
        != []
    )
    _, off = followed(plan(2, Configuration(())))
    assert alarms(off) == []
    assert {point["drift"] for point in points(off[1:])} == {None}


def test_an_alarm_before_a_plan_is_reported_by_the_next_accuracy_point() -> None:
    last = next(offset for offset, _ in alarms(followed()[1], 0) if (offset + 1) % 10)
    model = Model(SETTINGS, 3, "g")
    model.advance(WHOLE.before(last + 1))
    following = model.followed_by(plan(2, Configuration((OTHER, QUICK), accuracy_every=1)))
    assert points([following.advance(WHOLE.after(last + 1))])[0]["drift"][QUICK.text] == last


def test_detectors_restart_with_another_champion() -> None:
    _, outputs = followed(plan(2, AS_OPTIONS, "no_change", "perceptron"))
    begun = Model(replace(SETTINGS, detectors=()), 3, "g")
    begun.advance(WHOLE.before(ADOPTED_AT))
    swapped = begun.followed_by(plan(2, Configuration((QUICK,)), "no_change", "perceptron"))
    assert alarms(outputs) == alarms([swapped.advance(WHOLE.after(ADOPTED_AT))])


def test_a_plan_without_settings_returns_to_those_of_the_options() -> None:
    """As a restore from a snapshot of it does, which knows the options and this plan only."""
    silent = plan(3, AS_OPTIONS)
    model, _ = followed(plan(2, Configuration((), 5, 3)), silent)
    assert Configuration.of(model.settings) == Configuration.of(SETTINGS)
    blob = snapshot.write(model, model.save(), len(WHOLE))
    assert snapshot.read(blob, Model(SETTINGS, 3, plan=silent))[1] == len(WHOLE)


def test_a_snapshot_of_a_plan_is_read_by_its_model_whatever_the_options_say() -> None:
    made = plan(2, Configuration((QUICK, OTHER), 20, 5))
    model, _ = followed(made)
    found = snapshot.read_planned(
        snapshot.write(model, model.save(), len(WHOLE)),
        lambda planned: Model(replace(SETTINGS, window=9, detectors=()), 3, plan=planned),
    )
    assert [part.tobytes() for part in found.model.save().parts] == [part.tobytes() for part in model.save().parts]


def test_changes_of_a_plan_are_described() -> None:
    present = Configuration((QUICK,), 40, 10)
    following = changed(present, Configuration((OTHER, QUICK), 100))
    assert following == Configuration((OTHER, QUICK), 100, 10)
    description = "; ".join(described_change(present, following))
    assert f"{QUICK.text} keeps its state" in description
    assert "begin anew where more than 40 rows" in description
    assert described_change(present, present) == []
    assert described_change(present, Configuration((), 20, 5)) == [
        "detectors none", "window 20, of metrics that go on", "an accuracy point every 5 rows",
    ]  # fmt: skip
    with pytest.raises(UsageFailure):
        changed(present, Configuration(window=40))


def test_the_first_plan_may_have_settings_too() -> None:
    first = first_plan(SETTINGS.specs, configuration=Configuration.of(SETTINGS))
    assert ModelPlan.parse(first.write()) == first

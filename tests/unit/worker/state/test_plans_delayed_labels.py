"""Plans of models whose labels come late: rows wait for their labels across the adoption of a plan."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import pairwise

import pytest

from driftway.learners import Spec
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.wire.events import Target
from tests.support.delayed_labels import late_stream
from tests.unit.worker.rows import model_settings, records
from tests.unit.worker.state.test_delayed_labels import all_of

ADOPTED_AT = 300
"""Record at which the plan is adopted: events and labels are in one topic."""


def plan(*models: str) -> ModelPlan:
    """A plan of models, each ``learner`` or ``learner<origin``."""
    named = (model.partition("<") for model in models)
    return ModelPlan(2, tuple(PlannedModel(Spec.parse(name), origin) for name, _, origin in named))


def settings_for(task: str, *learners: str) -> ModelSettings:
    target = Target(task, 0) if task == "regression" else Target()
    return model_settings(*learners, target=target, wait=LabelWait(1000), accuracy_every=50)


def waiting_at(values: list[bytes], at: int) -> list[bytes]:
    """The events before record `at` whose labels come with it or later, or never."""
    unlabelled = dict[int, bytes]()
    for value in values[:at]:
        record = json.loads(value)
        if "x" not in record:
            unlabelled.pop(record["id"], None)
        elif record.get("y") is None and record.get("id") is not None:
            unlabelled[record["id"]] = value
    return list(unlabelled.values())


@pytest.mark.parametrize(
    ("task", "learner"),
    [("classification", "arow"), ("classification", "auto"), ("regression", "dfop"), ("regression", "auto")],
)
def test_a_new_model_predicts_waiting_rows_as_if_they_arrived_now(task: str, learner: str) -> None:
    values = late_stream(500, 5, task=task)
    first = "majority_class" if task == "classification" else "pa1_regressor"
    model = Model(settings_for(task, first), 3)
    model.advance(records(values[:ADOPTED_AT]))
    model = model.followed_by(plan(learner, first))
    got = model.advance(records(values[ADOPTED_AT:], ADOPTED_AT)).predictions.to_list()
    waiting = waiting_at(values, ADOPTED_AT)
    assert len(waiting) > 5
    alone = Model(settings_for(task, learner), 3)
    alone.advance(records(waiting))
    want = alone.advance(records(values[ADOPTED_AT:], ADOPTED_AT)).predictions.to_list()
    assert [json.loads(one)["score"] for one in got] == [json.loads(one)["score"] for one in want]
    assert model.learners[0].state.memory.tobytes() == alone.learners[0].state.memory.tobytes()


def test_kept_models_keep_their_predictions_of_waiting_rows() -> None:
    values = late_stream(500, 7)
    both = Model(settings_for("classification", "dfop", "auto"), 3)
    outs = both.advance(records(values))
    model = Model(settings_for("classification", "dfop", "auto"), 3)
    model.advance(records(values[:ADOPTED_AT]))
    model = model.followed_by(plan("auto", "pa1", "dfop"))
    model.advance(records(values[ADOPTED_AT:], ADOPTED_AT))
    states = {name: one.state.memory.tobytes() for name, one in zip(model.plan.names, model.learners, strict=True)}
    assert [states["dfop"], states["auto"]] == [one.state.memory.tobytes() for one in both.learners]
    points, whole = model.latest_points(), both.latest_points()
    own = "accuracy", "labels", "rolling_accuracy", "kappa"
    for name in ("dfop", "auto"):
        assert {key: points[name].get(key) for key in own} == {key: whole[name].get(key) for key in own}
    assert len(outs.predictions) == 500


@pytest.mark.parametrize("models", [("arow", "dfop"), ("dfop:mu=0.05<dfop", "dfop"), ("auto",)])
def test_a_plan_applied_anywhere_gives_the_bits_of_one_run(models: tuple[str, ...]) -> None:
    """However the rows are cut into batches, and whether the state was saved on either side of the adoption."""
    values, settings = late_stream(500, 3), settings_for("classification", "dfop", "majority_class")
    whole = Model(settings, 3)
    outs = [whole.advance(records(values[:ADOPTED_AT]))]
    whole = whole.followed_by(plan(*models))
    outs.append(whole.advance(records(values[ADOPTED_AT:], ADOPTED_AT)))
    for seed in range(3):
        cuts = sorted({0, ADOPTED_AT, len(values), *random.Random(seed).sample(range(len(values)), 25)})
        model, others = Model(settings, 3), []
        for start, end in pairwise(cuts):
            if start == ADOPTED_AT:
                model = model.followed_by(plan(*models))
            if start in cuts[8::6] or start == ADOPTED_AT:
                blob = snapshot.write(model, model.save(), start)
                model = Model(settings, 3, plan=model.plan if start >= ADOPTED_AT else None)
                assert snapshot.read(blob, model)[1] == start
            others.append(model.advance(records(values[start:end], start)))
        assert all_of(others) == all_of(outs)
        assert [part.tobytes() for part in model.save().parts] == [part.tobytes() for part in whole.save().parts]


def test_a_plan_before_the_first_event_needs_no_waiting_rows() -> None:
    values, settings = late_stream(200, 3), settings_for("classification", "dfop")
    known = replace(settings, n_features=3)
    model = Model(known, 3).followed_by(plan("arow"))
    got = model.advance(records(values)).predictions.to_list()
    want = Model(replace(known, specs=(Spec.parse("arow"),)), 3, plan=plan("arow")).advance(records(values))
    assert got == want.predictions.to_list()

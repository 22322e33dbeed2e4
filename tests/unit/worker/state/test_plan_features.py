"""Plans with other features: what models keep of those that stay, how others begin, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from driftway.learners.spec import Spec
from driftway.worker.admin.state_admin.changed_features import features_of, models_with_features
from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.settings import FROM_OPTIONS, ModelSettings, WorkerSettings
from driftway.worker.settings.option_values import LabelWait, SharingOption
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.plans.configuration import Configuration, edited_features
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel, first_plan
from driftway.worker.state.plans.transition import why_not
from driftway.worker.state.stored_fields import Malformed
from driftway.worker.stream.background.options_plan import following_plan
from driftway.worker.warm_start import WarmStart
from driftway.worker.wire.events import Schema
from driftway.worker.wire.schema.schema import EventSchema
from tests.unit.worker.rows import records

N, ADOPTED_AT = 200, 120
RNG = np.random.default_rng(4)
NUMBERS = RNG.normal(size=(N, 4))
LABELS = (NUMBERS[:, 0] - NUMBERS[:, 1] + 0.3 * RNG.normal(size=N) > 0).astype(int)


def fields(*names: str, first: int = 0) -> list[bytes]:
    """Events with fields a to d, of which d is there from `first` on."""
    return [
        json.dumps({**dict(zip("abcd"[: 4 if i >= first else 3], x, strict=False)), "id": i, "y": y}).encode()
        for i, (x, y) in enumerate(zip(NUMBERS.tolist(), LABELS.tolist(), strict=True))
    ]


def named(*names: str) -> list[bytes]:
    """Events with an object x of these fields."""
    columns = ["abcd".index(name) for name in names]
    return [
        json.dumps({"x": dict(zip(names, x, strict=True)), "id": i, "y": y}).encode()
        for i, (x, y) in enumerate(zip(NUMBERS[:, columns].tolist(), LABELS.tolist(), strict=True))
    ]


def of_fields(*features: str, learners: tuple[str, ...] = ("arow", "pa1"), **more: Any) -> ModelSettings:
    specs = tuple(map(Spec.parse, learners))
    return ModelSettings(specs, events=EventSchema.parse(features), accuracy_every=20, **more)


def plan(*features: str, models: tuple[str, ...] = ("arow", "pa1"), anew: bool = False, number: int = 2) -> ModelPlan:
    made = tuple(PlannedModel(Spec.parse(name), anew=anew) for name in models)
    return ModelPlan(number, made, configuration=Configuration(features=features))


def run(model: Model, values: list[bytes], start: int = 0, end: int = N) -> list[dict[str, Any]]:
    outputs = model.advance(records(values[start:end], start))
    assert not outputs.rejected
    return [json.loads(value or b"") for value in outputs.predictions.to_list()]


def without(outputs: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.items() if key not in names} for one in outputs]


def test_weights_of_kept_features_are_kept_and_those_of_new_ones_start_empty() -> None:
    model = Model(of_fields("a", "b", "c", standardize=False), 3)
    run(model, fields(), end=ADOPTED_AT)
    weights = [one.state["weight"].copy() for one in model.learners]
    points = model.latest_points()
    after = model.followed_by(plan("d", "c", "a"))
    assert after.columns == ("d", "c", "a")
    for one, before in zip(after.learners, weights, strict=True):
        np.testing.assert_array_equal(one.state["weight"], [0.0, before[2], before[0], before[3]])
    assert after.latest_points() == points
    run(after, fields(), ADOPTED_AT)
    assert all(one.state["weight"][0] for one in after.learners)


def test_events_with_an_object_x_change_their_features_by_name() -> None:
    model = Model(ModelSettings(tuple(map(Spec.parse, ("arow", "pa1"))), standardize=False), 3)
    run(model, named("b", "a", "c"), end=ADOPTED_AT)
    weight = model.learners[0].state["weight"].copy()
    after = model.followed_by(plan("a", "c", "d"))
    np.testing.assert_array_equal(after.learners[0].state["weight"], [weight[0], weight[2], 0.0, weight[3]])
    assert len(after.advance(records(named("a", "b", "c")[ADOPTED_AT : ADOPTED_AT + 5], ADOPTED_AT)).rejected) == 5
    run(after, named("d", "a", "c"), ADOPTED_AT + 5)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("before", ["abc", "x"])
def test_a_snapshot_of_a_plan_with_other_features_continues_bit_for_bit(before: str, standardize: bool) -> None:
    """However its rows are cut, with the options of the first plan."""
    if before == "x":
        settings, values, later = ModelSettings((Spec.parse("arow"),)), named("a", "b", "c"), named("a", "c", "d")
    else:
        settings, values, later = of_fields("a", "b", "c", learners=("arow",)), fields(), fields()
    settings, following = replace(settings, standardize=standardize), plan("a", "c", "d", models=("arow",))
    model = Model(settings, 3)
    run(model, values, end=ADOPTED_AT)
    model = model.followed_by(following)
    whole = run(model, later, ADOPTED_AT)
    split = Model(settings, 3)
    for start in range(0, ADOPTED_AT, 7):
        run(split, values, start, min(start + 7, ADOPTED_AT))
    split = split.followed_by(following)
    blob = snapshot.write(split, split.save(), ADOPTED_AT)
    found = snapshot.read_planned(blob, lambda its: Model(settings, 3, plan=its)).model
    assert found.columns == ("a", "c", "d")
    parts = [one for start in range(ADOPTED_AT, N, 9) for one in run(found, later, start, min(start + 9, N))]
    assert parts == whole
    assert snapshot.first_difference(found.save(), model.save()) is None


@pytest.mark.parametrize("wait", [None, LabelWait(100)])
def test_a_feature_added_later_equals_one_that_was_always_0(wait: LabelWait | None) -> None:
    """With labels up to 30 rows late too: rows that wait have the value that stands for a missing one."""
    values = fields(first=ADOPTED_AT)
    if wait is not None:
        values = late(values, 30)
    at = next(i for i, value in enumerate(values) if b'"d":' in value)
    always = Model(of_fields("a", "b", "c", "d:missing=0", standardize=False, wait=wait), 3)
    want = always.advance(records(values)).predictions.to_list()
    model = Model(of_fields("a", "b", "c", standardize=False, wait=wait), 3)
    got = model.advance(records(values[:at])).predictions.to_list()
    model = model.followed_by(plan("a", "b", "c", "d:missing=0"))
    got += model.advance(records(values[at:], at)).predictions.to_list()
    pairs = ([json.loads(one or b"") for one in side] for side in (got, want))
    assert without(next(pairs), "plan") == next(pairs)
    for one, other in zip(model.learners, always.learners, strict=True):
        assert one.state.memory.tobytes() == other.state.memory.tobytes()
    assert model.latest_points() == always.latest_points()


def late(values: list[bytes], rows: int) -> list[bytes]:
    """The events, with their labels `rows` rows later."""
    found, labels = list[bytes](), list[bytes]()
    for i, value in enumerate(values):
        event = json.loads(value)
        labels.append(json.dumps({"id": event["id"], "y": event.pop("y")}).encode())
        found.append(json.dumps(event).encode())
        if i >= rows:
            found.append(labels[i - rows])
    return found


def test_rows_that_wait_have_the_indicator_of_a_new_feature() -> None:
    values = late(fields(first=ADOPTED_AT), 30)
    at = next(i for i, value in enumerate(values) if b'"d":' in value)
    always = Model(of_fields("a", "d:missing=2,indicator", learners=("pa1",), standardize=False, wait=LabelWait(90)), 3)
    always.advance(records(values[:at]))
    model = Model(of_fields("a", learners=("pa1",), standardize=False, wait=LabelWait(90)), 3)
    model.advance(records(values[:at]))
    model = model.followed_by(plan("a", "d:missing=2,indicator", models=("pa1",)))
    (ours, theirs) = (one._pending._store.x for one in (model, always))  # type: ignore[union-attr]
    waiting = slice(ADOPTED_AT - 30 + 1, ADOPTED_AT)
    np.testing.assert_array_equal(ours[waiting], theirs[waiting])
    assert (ours[waiting, 1:] == [2.0, 1.0]).all()


def test_replacements_of_missing_values_continue() -> None:
    model = Model(of_fields("a:missing=mean", "b", "c:missing=last"), 3)
    run(model, fields(), end=ADOPTED_AT)
    assert model.imputer is not None
    mean, last = model.imputer.state["mean"][0], model.imputer.state["last"][2]
    after = model.followed_by(plan("c:missing=last", "d:missing=mean", "a:missing=mean"))
    assert after.imputer is not None
    assert after.imputer.state["mean"].tolist()[1:] == [0.0, mean]
    assert after.imputer.state["last"][0] == last
    assert after.imputer.state["seen"].tolist() == [ADOPTED_AT, 0, ADOPTED_AT]


def test_columns_of_a_hash_of_another_width_are_new() -> None:
    model = Model(of_fields("a:hash=4", "b", learners=("pa1",), standardize=False), 3)
    run(model, fields(), end=ADOPTED_AT)
    kept = model.learners[0].state["weight"][4:].copy()
    weight = model.followed_by(plan("a:hash=8", "b", models=("pa1",))).learners[0].state["weight"]
    np.testing.assert_array_equal(weight[:8], 0.0)
    np.testing.assert_array_equal(weight[8:], kept)


def test_a_model_that_cannot_continue_restarts_or_the_plan_is_refused() -> None:
    settings = of_fields("a", "b", "c", learners=("pa1", "kernel_perceptron"))
    model = Model(settings, 3)
    run(model, fields(), end=ADOPTED_AT)
    with pytest.raises(Failure, match="kernel_perceptron cannot go on with other features"):
        model.followed_by(plan("a", models=("pa1", "kernel_perceptron")))
    pa1, other = PlannedModel(Spec.parse("pa1")), PlannedModel(Spec.parse("kernel_perceptron"), anew=True)
    after = model.followed_by(replace(plan("a"), models=(pa1, other)))
    fresh = Model(replace(settings, events=EventSchema.parse(["a"])), 3)
    assert after.learners[1].state.memory.tobytes() == fresh.learners[1].state.memory.tobytes()
    assert after.latest_points()["kernel_perceptron"]["labels"] == 0
    assert after.latest_points()["pa1"]["labels"] == ADOPTED_AT


def test_features_in_lists_cannot_be_changed() -> None:
    model = Model(ModelSettings((Spec.parse("pa1"),)), 3)
    model.advance(records([b'{"x": [1, 2], "y": 0}']))
    with pytest.raises(Failure, match="have no names"):
        model.followed_by(plan("a", models=("pa1",)))
    with pytest.raises(UsageFailure, match="without names"):
        features_of([Schema(2)])


def test_partitions_must_have_the_same_features() -> None:
    assert features_of([None, Schema(2, ("a", "b")), Schema(2, ("a", "b"))]) == ("a", "b")
    with pytest.raises(UsageFailure, match="different features"):
        features_of([Schema(1, ("a",)), Schema(1, ("b",))])
    with pytest.raises(UsageFailure, match="no usable event"):
        features_of([None])


def test_features_are_added_and_dropped_by_name() -> None:
    events = EventSchema.parse(["a", "m.b:hash=4,as=b", "c:missing=0"])
    present = tuple(map(str, events.features))
    assert edited_features(present, events, ["d:one-of=x|y"], ["b", "c"]) == ("a", "d:one-of=x|y")
    assert edited_features(("b", "d"), None, ["a"], ["d"]) == ("a", "b")
    for added, dropped, why in (
        (["a"], [], "already"),
        ([], ["z"], "no feature z"),
        ([], ["a", "b", "c"], "must be left"),
    ):
        with pytest.raises(UsageFailure, match=why):
            edited_features(present, events, added, dropped)


def test_a_plan_stores_its_features() -> None:
    made = plan("a", "b:hash=4", anew=True)
    assert ModelPlan.parse(made.write()) == made
    for value in (b"[]", b'["a","a"]', b"[1]", b'"a"'):
        with pytest.raises(Malformed):
            ModelPlan.parse(b'{"plan":2,"models":[{"learner":"pa1"}],"features":%b}' % value)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"share": SharingOption.parse("average:rows=100")}, "--share-models cannot be changed"),
        ({"warm": WarmStart("file", "00", False)}, "--warm-start cannot be changed"),
        ({}, "features from headers, @header.h, need workers"),
    ],
)
def test_changes_that_workers_cannot_make_are_refused_with_the_reason(more: dict[str, Any], why: str) -> None:
    settings = of_fields("a", learners=("pa1",), **more)
    assert why in (why_not(plan("a", "@header.h", models=("pa1",)), settings) or "")
    assert why_not(plan("a", models=("pa1",)), settings) is None


def test_an_invalid_feature_is_refused_with_the_reason() -> None:
    assert "is given twice" in (why_not(plan("a:missing=0,missing=1"), of_fields("a")) or "")
    assert "two features make a column a" in (why_not(plan("a", "b:as=a"), of_fields("a")) or "")


def test_the_next_plan_lists_the_models_that_restart() -> None:
    settings = of_fields("a", learners=("pa1", "auto"))
    newest = first_plan(settings.specs, configuration=Configuration.of(settings))
    other = replace(newest.configuration, features=("a", "b"))
    with pytest.raises(UsageFailure, match="auto cannot go on with other features: say with --begin"):
        models_with_features(newest, newest.models, other, settings, "")
    pa1, auto = models_with_features(newest, newest.models, other, settings, "relearned")
    assert (pa1.anew, auto.anew, auto.relearned) == (False, True, True)
    following = ModelPlan(2, (pa1, auto), configuration=other)
    assert [one.name for one in following.relearned_after(newest)] == ["auto"]
    again = models_with_features(following, following.models, other, settings, "")
    assert not any(one.anew for one in again)
    with pytest.raises(UsageFailure, match="stay as they are"):
        models_with_features(newest, newest.models, newest.configuration, settings, "empty")
    with pytest.raises(UsageFailure, match="does not say which features"):
        models_with_features(following, newest.models, Configuration(), settings, "")


def test_options_with_other_features_are_the_next_plan() -> None:
    """`--plan from-options`: what cannot go on begins anew; options that name no features change none."""
    settings = of_fields("a", "b", learners=("pa1", "auto"))
    worker = WorkerSettings("localhost:1", "events", "group", settings, plan=FROM_OPTIONS)
    present = first_plan(settings.specs, configuration=Configuration.of(settings))
    assert following_plan(present, worker) is None
    before = replace(present, configuration=replace(present.configuration, features=("a",)))
    following = following_plan(before, worker)
    assert following is not None
    assert following.configuration.features == ("a", "b")
    assert [(one.name, one.anew) for one in following.models] == [("pa1", False), ("auto", True)]
    unnamed = replace(worker, model=replace(settings, events=None))
    assert following_plan(before, unnamed) is None

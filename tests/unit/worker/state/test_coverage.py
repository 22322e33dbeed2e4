"""Intervals and sets in a partition's model: the same as offline, with late labels, in states, and over plans."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from driftway.worker.admin.audit.diff import confidence_of, fields
from driftway.worker.admin.explain import confidence_for
from driftway.worker.evaluation.prequential import Evaluation
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state import model_file, snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.state.plans.configuration import Configuration
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.state.plans.transition import join
from driftway.worker.wire.codec import JSON, PACKED, encode_events
from driftway.worker.wire.events import Target
from tests.unit.worker.rows import drifting, events, model_settings, pieces, records, wire
from tests.unit.worker.state.test_calibration import CUTS, with_late_labels

LEVEL, WAIT = 0.8, "50"
KINDS = {"two": ("pa1", 2, 1), "three": ("mc_softmax", 3, 3), "target": ("rls", 0, 1)}
"""Kind -> learner, number of classes, number of scores."""
COVERAGE = ("coverage", "window_coverage", "worst_window_coverage")
SIZES = {
    "set": ("set_size", "window_set_size", "empty_sets", "sets_of_one"),
    "low": ("width", "window_width", "endless"),
}


def rows_of(kind: str) -> tuple[np.ndarray, np.ndarray, ModelSettings]:
    """Rows, labels, and settings with a level."""
    X, y = drifting()
    learner, n_classes, _ = KINDS[kind]
    if n_classes == 3:
        y = np.where(np.isnan(y), y, y + (X[:, 2] > 1.0))
    if n_classes == 0:
        y = X[:, 0] - X[:, 1] + y
    target = Target(n_classes=n_classes) if n_classes else Target("regression", 0)
    return X, y, model_settings(learner, target=target, coverage=LEVEL, accuracy_every=50)


def run(model: Model, values: Sequence[bytes], cuts: list[int], first: int = 0) -> tuple[list[dict], list[dict]]:
    """Predictions and accuracy points."""
    written, points = list[dict[str, Any]](), list[dict[str, Any]]()
    for part in pieces(records(list(values), first), cuts):
        out = model.advance(part)
        written += [fields(value) for value in out.predictions]
        points += [json.loads(value) for _, value in out.points]
    return written, points


def late_settings(*learners: str, **more: Any) -> ModelSettings:
    given = {"wait": LabelWait.parse(WAIT), "accuracy_every": 25, "window": 40, "coverage": LEVEL, **more}
    return model_settings(*(learners or ("pa1", "arow")), **given)


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_and_points_equal_those_of_evaluate(kind: str, cuts: list[int]) -> None:
    X, y, settings = rows_of(kind)
    offline = Evaluation(settings.specs[0], settings.target, X.shape[1], window=settings.window, coverage=LEVEL)
    score, _ = offline.step(X, y)
    written, points = run(Model(settings, 3), encode_events(X, y, 0), cuts)
    for i, (record, q) in enumerate(zip(written, offline.thresholds.tolist(), strict=True)):
        if kind == "target":
            ends = (score[i, 0] - q, score[i, 0] + q) if math.isfinite(q) else (None, None)
            assert (record["low"], record["high"]) == ends
        else:
            s = [-score[i, 0] / 2, score[i, 0] / 2] if kind == "two" else score[i].tolist()
            behind = [max(other for j, other in enumerate(s) if j != k) - s[k] for k in range(len(s))]
            assert record["set"] == [k for k in range(len(s)) if behind[k] <= q]
    of_run, of_model = offline.parts[0].point(), points[-1]
    assert of_model["offset"] == len(y) - 1
    names = (*COVERAGE, *SIZES["low" if kind == "target" else "set"])
    assert {name: of_model[name] for name in names} == {name: of_run[name] for name in names}


@pytest.mark.parametrize("kind", KINDS)
def test_both_formats_have_the_same_intervals_and_sets(kind: str) -> None:
    X, y, settings = rows_of(kind)
    values = list(encode_events(X, y, 0))
    plain = Model(settings, 3).advance(records(values)).predictions.to_list()
    learner, _, _ = KINDS[kind]
    other = model_settings(learner, target=settings.target, coverage=LEVEL, output_form=PACKED)
    compact = Model(other, 3).advance(records(values)).predictions.to_list()
    wanted = [confidence_for(value or b"", settings.target) for value in plain]
    assert [confidence_for(value or b"", settings.target) for value in compact] == wanted
    asked = {"low", "high"} if kind == "target" else {"probability", "set"}
    assert all(set(one) == asked for one in wanted)


def test_sets_are_written_with_the_labels_of_the_wire_and_one_may_be_empty() -> None:
    names = ("sehr gut", "ok", "-1")
    X = np.repeat(np.eye(3), 200, axis=0)[np.random.default_rng(5).permutation(600)]
    y = X.argmax(axis=1).astype(float)
    values = encode_events(X, y, 0, labels=names)
    settings = model_settings("mc_softmax", target=Target(n_classes=3, labels=names), coverage=0.5)
    sets = [json.loads(value)["set"] for value in Model(settings, 3).advance(records(list(values))).predictions]
    assert sets[0] == ["sehr gut", "ok", -1]
    assert all(set(one) <= {"sehr gut", "ok", -1} for one in sets)
    assert [] in sets, "with no mistakes, half of the rows are clearer than the others"


@pytest.mark.parametrize("form", [JSON, PACKED])
def test_without_the_option_there_are_no_sets_and_states_are_unchanged(form: str) -> None:
    settings = model_settings("pa1", output_form=form)
    model = Model(settings, 3)
    out = model.advance(records(events(100)))
    assert not {"low", "set"} & set(confidence_of(fields(out.predictions[0] or b"")))
    assert b"coverage" not in out.points[0][1]
    assert b"coverage" not in snapshot.write(model, model.save(), 100)
    assert "coverage" not in Configuration.of(settings).as_dict()


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
def test_a_late_label_is_compared_with_the_set_emitted_for_its_row(cuts: list[int]) -> None:
    written, points = run(Model(late_settings(), 3), with_late_labels(), cuts)
    y = drifting()[1]
    labelled = [i for i in range(80) if not np.isnan(y[i])]
    sets = {record["id"]: record["set"] for record in written}
    point = next(one for one in points if one["offset"] == points[-1]["offset"] and one["learner"] == "pa1")
    counted = labelled[: point["labels"]]
    assert point["coverage"] == sum(int(y[i]) in sets[i] for i in counted) / len(counted)
    assert point["set_size"] == sum(len(sets[i]) for i in counted) / len(counted)


@pytest.mark.parametrize("offset", [1, 20, 100])
def test_a_snapshot_keeps_thresholds_and_those_of_rows_that_wait(offset: int) -> None:
    whole = records(with_late_labels())
    model, restored = Model(late_settings(), 3), Model(late_settings(), 3)
    model.advance(whole.before(offset))
    blob = snapshot.write(model, model.save(), offset)
    assert snapshot.parse(blob).identity["coverage"] == LEVEL
    snapshot.read(blob, restored)
    assert wire([restored.advance(whole.after(offset))]) == wire([model.advance(whole.after(offset))])
    assert [part.tobytes() for part in restored.save().parts] == [part.tobytes() for part in model.save().parts]
    assert model_file.unpack(blob, "it").settings().coverage == LEVEL


def test_a_waiting_row_with_a_threshold_that_is_not_a_number_is_refused() -> None:
    model = Model(late_settings(), 3)
    model.advance(records(with_late_labels()[:60]))
    waiting = model.monitors.confidence.models[0].thresholds
    waiting[:, 3] = np.nan
    with pytest.raises(snapshot.ForeignSnapshot, match="never emitted"):
        snapshot.read(snapshot.write(model, model.save(), 60), Model(late_settings(), 3))


def test_a_level_other_than_the_snapshots_is_refused_with_the_remedy() -> None:
    model = Model(late_settings(), 3)
    model.advance(records(with_late_labels()[:60]))
    blob = snapshot.write(model, model.save(), 60)
    for level, has in ((0.0, "none"), (0.9, "0.9")):
        with pytest.raises(snapshot.ForeignSnapshot, match=f"coverage 0.8, this worker has {has}; --plan from-options"):
            snapshot.read(blob, Model(late_settings(coverage=level), 3))


def planned(settings: ModelSettings, *numbers: int, number: int = 2, coverage: float | None = None) -> ModelPlan:
    models = tuple(PlannedModel(settings.specs[i]) for i in numbers)
    return ModelPlan(number, models, configuration=Configuration(coverage=coverage))


def test_an_adopted_plan_begins_coverage_and_ends_it() -> None:
    settings, values = late_settings(coverage=0.0), with_late_labels()
    model = Model(settings, 3)
    run(model, values[:100], [])
    begun = model.followed_by(planned(settings, 0, 1, coverage=LEVEL))
    written, _ = run(begun, values[100:150], [], 100)
    assert written[0]["set"] == [0, 1], "no labels yet"
    waited = begun.monitors.confidence.models[0]
    assert waited.coverage is not None
    assert 0 < waited.coverage.conformal.state["labels"][0] < len(values)
    assert any(len(record["set"]) == 1 for record in written)
    blob = snapshot.write(begun, begun.save(), 150)
    again = Model(settings, 3, plan=planned(settings, 0, 1, coverage=LEVEL))
    snapshot.read(blob, again)
    ended = again.followed_by(planned(settings, 0, 1, number=3))
    assert "set" in run(begun, values[150:160], [], 150)[0][0]
    assert "set" not in run(ended, values[150:160], [], 150)[0][0], "what is not said is as the options say"
    said = Configuration(window=40, accuracy_every=25, coverage=LEVEL)
    assert Configuration.of_fields(snapshot.StoredFields(said.as_dict(), "it")) == said
    without = Configuration(window=40, accuracy_every=25, coverage=0.0)
    assert Configuration.of_fields(snapshot.StoredFields(without.as_dict(), "it")) == without


def test_a_promoted_model_keeps_its_thresholds_and_a_new_one_begins_its_own() -> None:
    settings, values = late_settings("pa1", "arow"), with_late_labels()
    model = Model(settings, 3)
    run(model, values[:100], [])
    following = model.followed_by(planned(late_settings("arow", "dfop"), 0, 1))
    new = following.monitors.confidence.models[1].thresholds[following.planned.pending.waiting]
    assert len(new) >= 20
    assert np.isinf(new[:, 0]).all(), "all classes are in its sets of rows that wait"
    alone, _ = run(Model(late_settings("arow"), 3), values, [])
    written, _ = run(following, values[100:], [], 100)
    assert [one["set"] for one in written] == [one["set"] for one in alone if one["offset"] >= 100]


def test_a_relearned_model_has_the_thresholds_of_one_that_learned_all_the_rows() -> None:
    values = with_late_labels()
    model, beside = Model(late_settings("pa1"), 3), Model(late_settings("arow"), 3)
    for one in (model, beside):
        run(one, values[:100], [])
    both = late_settings("pa1", "arow")
    following = model.followed_by(planned(both, 0, 1))
    join(beside.planned, following.planned, ("arow",))
    own, theirs = (one.monitors.confidence.models[i] for one, i in ((following, 1), (beside, 0)))
    slots = following.planned.pending.waiting
    assert own.thresholds[slots].tobytes() == theirs.thresholds[slots].tobytes()
    run(following, values[100:], [], 100)
    run(beside, values[100:], [], 100)
    assert [a.state.memory.tobytes() for a in own.stateful] == [b.state.memory.tobytes() for b in theirs.stateful]


def test_thresholds_change_no_prediction_and_no_digest() -> None:
    plain, covered = (Model(model_settings("pa1", coverage=level), 3) for level in (0.0, LEVEL))
    outs: list[Outputs] = [one.advance(records(events())) for one in (plain, covered)]
    first, second = ([json.loads(value) for value in out.predictions] for out in outs)
    assert [{k: v for k, v in one.items() if k != "set"} for one in second] == first
    assert plain.digests == covered.digests

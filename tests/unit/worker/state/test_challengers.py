"""Tests of challengers in a partition's model: their fields in accuracy points, and states of before there were any."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from driftway.learners.metrics.e_process import EProcess
from driftway.worker.admin.audit.outputs import PointComparison
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model, SavedState
from driftway.worker.wire.codec import encode_events, encode_point
from driftway.worker.wire.events import Target
from tests.unit.worker.rows import Array, drifting, events, model_settings, pieces, records, wire

FIELDS = [f"{side}_{key}" for side in ("better", "worse") for key in ("log_e", "p", "since")]
LEARNERS = "no_change", "arow", "dfop:mu=0.01"
CUTS = {"whole": [], "cut": list(range(0, 300, 7))}


def points(model: Model, cuts: list[int], values: list[bytes]) -> dict[str, list[dict[str, Any]]]:
    """Learner -> its accuracy points."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in model.settings.names}
    for part in pieces(records(values), cuts):
        for _, value in model.advance(part).points:
            point = json.loads(value)
            found[point["learner"]].append(point)
    return found


def mistakes(settings: ModelSettings, values: list[bytes], y: Array) -> Array:
    """Errors of a model's champion, from the predictions that it emits."""
    predicted = [json.loads(value)["prediction"] for value in Model(settings, 3).advance(records(values)).predictions]
    off = np.abs(np.array(predicted, np.float64) - y)
    return off if settings.target.task == "regression" else np.where(np.isnan(y), np.nan, off != 0)


def without_tests(model: Model, saved: SavedState) -> SavedState:
    """A state as earlier versions saved it."""
    first, last = 2 * len(model.settings.specs), 3 * len(model.settings.specs) - 1
    return replace(saved, parts=(*saved.parts[:first], *saved.parts[last:]))


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_accuracy_points_have_the_test_of_each_challenger(kind: str, cuts: list[int]) -> None:
    X, y = drifting(regression=kind == "regression")
    if kind == "multiclass":
        y += 1.0 * (X[:, 2] > 1.0)
    target = {"binary": Target(), "multiclass": Target(n_classes=3), "regression": Target("regression", 0)}[kind]
    learners = {"binary": LEARNERS, "multiclass": ("no_change", "mc_arow", "mc_softmax")}
    names = learners.get(kind, ("running_mean", "rls", "no_change"))
    values = list(encode_events(X, y, first_id=0))
    found = points(Model(model_settings(*names, target=target), 3), cuts, values)
    assert all(field not in point for point in found[names[0]] for field in FIELDS)
    champion, *others = (mistakes(model_settings(name, target=target), values, y) for name in names)
    assert any(point["better_since"] is not None for name in names for point in found[name][-1:] if name != names[0])
    for name, errors in zip(names[1:], others, strict=True):
        test = EProcess()
        count = test.counter(champion, errors, np.arange(300))
        for i, point in enumerate(found[name]):
            count(40 * i, 40 * (i + 1))
            assert {key: point[key] for key in FIELDS} == test.point()


def test_a_late_label_counts_with_the_prediction_emitted_for_its_row() -> None:
    """Labels 20 rows late, as messages of the input: the same wins, in the order of the labels."""
    X, y = drifting()
    known = np.flatnonzero(~np.isnan(y))
    rows = [b'{"id":%d,"x":%s}' % (i, json.dumps(x).encode()) for i, x in enumerate(X.tolist())]
    values = []
    for i, row in enumerate(rows):
        values += [row, *([b'{"id":%d,"y":%d}' % (i - 20, y[i - 20])] if i - 20 in known else [])]
    settings = model_settings("no_change", "arow", wait=LabelWait.parse("50"), accuracy_every=300)
    whole, cut = (points(Model(settings, 3), cuts, values) for cuts in ([], list(range(0, len(values), 11))))
    assert whole == cut
    counted = known[known < 279]  # the point stands behind row 299, before the label of row 279
    champion, challenger = (mistakes(replace(settings, specs=(one,)), values, y)[counted] for one in settings.specs)
    test = EProcess()
    test.counter(champion, challenger, counted)(0, len(counted))
    (point,) = whole["arow"]
    since = {"better_since", "worse_since"}
    assert {key: point[key] for key in {*FIELDS} - since} == {k: v for k, v in test.point().items() if k not in since}
    row = test.point()["better_since"]
    assert values[point["better_since"]] == b'{"id":%d,"y":%d}' % (row, y[row]), "the offset is that of the label"


def test_silent_replay_keeps_the_tests() -> None:
    loud, silent = (Model(model_settings(*LEARNERS), 3) for _ in range(2))
    loud.advance(records(events()))
    silent.advance(records(events()), emit=False)
    assert silent.latest_points() == loud.latest_points()
    assert "better_log_e" in loud.latest_points()["arow"]


def test_a_snapshot_keeps_the_tests() -> None:
    model, restored = (Model(model_settings(*LEARNERS), 3) for _ in range(2))
    whole = records(events())
    model.advance(whole.before(137))
    snapshot.read(snapshot.write(model, model.save(), 137), restored)
    assert wire([restored.advance(whole.after(137))]) == wire([model.advance(whole.after(137))])
    assert [part.tobytes() for part in restored.save().parts] == [part.tobytes() for part in model.save().parts]


def test_rewinding_before_the_first_good_event_resets_the_tests() -> None:
    model = Model(model_settings(*LEARNERS), 3)
    empty, first = model.save(), wire([model.advance(records(events()))])
    model.load(empty)
    assert model.latest_points() == {}
    assert wire([model.advance(records(events()))]) == first


def test_a_history_of_an_earlier_version_continues_without_tests() -> None:
    """Whichever of its snapshots is restored, the bits are the same: no test may begin where a worker restarted."""
    whole, model = records(events()), Model(model_settings(*LEARNERS), 3)
    model.advance(whole.before(137))
    blob = snapshot.write(model, without_tests(model, model.save()), 137)
    restored, again = (Model(model_settings(*LEARNERS), 3) for _ in range(2))
    snapshot.read(blob, restored)
    until, after = whole.before(200).after(137), whole.after(200)
    found = restored.advance(until).points
    snapshot.read(snapshot.write(restored, restored.save(), 200), again)
    assert again.save().parts[-1].tobytes() == restored.save().parts[-1].tobytes()
    last = restored.advance(after).points
    assert again.advance(after).points == last
    expected = [json.loads(value) for _, value in model.advance(whole.after(137)).points]
    assert any(field in point for point in expected for field in FIELDS)
    bare = [{key: value for key, value in point.items() if key not in FIELDS} for point in expected]
    assert [json.loads(value) for _, value in [*found, *last]] == bare, "all else is as with tests"


def test_a_state_of_other_sizes_does_not_count_as_one_of_an_earlier_version() -> None:
    model = Model(model_settings(*LEARNERS), 3)
    model.advance(records(events(50)))
    other = Model(model_settings("arow", "no_change"), 3)
    other.advance(records(events(50)))
    with pytest.raises(ValueError, match="other sizes than these learners"):
        model.load(other.save())


def test_an_audit_accepts_points_without_tests_of_an_earlier_version() -> None:
    def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
        written, wanted = (
            encode_point(point, 3, 41, "arow", 99, {"group": "g", "model_digest": "m"}) for point in (found, expected)
        )
        comparison = PointComparison(SimpleNamespace(low=0), "IN/3", (0, 50))  # type: ignore[arg-type]
        return comparison._same(SimpleNamespace(key=lambda: b"k", value=lambda: written), (b"k", wanted))

    test = EProcess()
    test.counter(np.ones(20), np.zeros(20), np.arange(20))(0, 20)
    for tested in (EProcess().point(), test.point()):
        assert same({"accuracy": 0.5}, {"accuracy": 0.5, **tested})
        assert same({"accuracy": 0.5, **tested}, {"accuracy": 0.5, **tested})
        assert not same({"accuracy": 0.6}, {"accuracy": 0.5, **tested})
        assert not same({"accuracy": 0.5, **tested, "worse_p": 0.9}, {"accuracy": 0.5, **tested})
        assert not same({"accuracy": 0.5, **tested}, {"accuracy": 0.5})
    assert math.isfinite(test.point()["better_log_e"])

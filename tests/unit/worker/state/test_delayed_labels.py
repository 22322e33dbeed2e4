"""Delayed labels: which row each belongs to, what counts, and that cuts, saves and restores change nothing."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.worker.cli.model_options import make_detector_specs
from driftway.worker.errors import UsageFailure
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.wire.events import Target
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.delayed_labels import late_stream
from tests.unit.worker.rows import STAMP, model_settings, pieces, records

D = 3


def run(settings: Any, values: list[bytes], cuts: list[int]) -> tuple[Model, list[Outputs]]:
    model = Model(settings, 3)
    return model, [model.advance(part) for part in pieces(records(values), cuts)]


def all_of(outs: list[Outputs]) -> tuple[Any, ...]:
    return (
        [value for out in outs for value in out.predictions],
        [point for out in outs for point in out.points],
        [(one.offset, one.reason, one.value, one.key) for out in outs for one in out.rejected],
        [alarm for out in outs for alarm in out.alarms],
        [offset for out in outs for offset in out.offsets.tolist()],
    )


class Naive:
    """The same, event by event, with dictionaries."""

    def __init__(self, learner: str, rows: int, task: str) -> None:
        self.learner = Spec.parse(learner).create(D, 2, task, True)
        self.rows, self.most, self.task = 0, rows, task
        self.waiting: dict[Any, tuple[int, Any, float, float, float]] = {}
        self.done: dict[Any, tuple[int, float]] = {}
        self.labels = self.hits = self.no_change = 0
        self.squared, self.last, self.expired = 0.0, 1.0, 0
        self.scores: list[float] = []
        self.reasons: list[str] = []

    def _score(self, x: list[float], y: float) -> float:
        score = np.empty((1, 1))
        self.learner.predict_then_update(np.array([x]), np.array([float(y)]), score)
        return float(score[0, 0])

    def _count(self, score: float, y: float, guess: float) -> None:
        self.labels += 1
        self.hits += (score >= 0.0) == (y == 1.0)
        self.no_change += guess == y
        self.squared += (score - y) * (score - y)
        self.last = y

    def _let_go(self, most: int) -> None:
        self.expired += sum(self.rows - row > most for row, *_ in self.waiting.values())
        self.waiting = {key: entry for key, entry in self.waiting.items() if self.rows - entry[0] <= most}
        self.done = {key: entry for key, entry in self.done.items() if self.rows - entry[0] <= most}

    def take(self, event: dict[str, Any]) -> None:
        key = event.get("id")
        if "x" in event:
            self._let_go(self.most - 1)
            y = event.get("y")
            score = self._score(event["x"], np.nan if y is None else y)
            self.scores.append(score)
            if y is not None:
                self._count(score, y, self.last)
            else:
                self.waiting[key] = self.rows, event["x"], score, self.last, 0.0
            self.rows += 1
            return
        self._let_go(self.most)
        if event["y"] is None:
            self.reasons.append("late label: null takes none back")
        elif key in self.waiting:
            row, x, score, guess, _ = self.waiting.pop(key)
            self.done[key] = row, event["y"]
            self._score(x, event["y"])
            self._count(score, event["y"], guess)
        elif key in self.done:
            same = self.done[key][1] == event["y"]
            self.reasons.append("late label: a repetition" if same else "late label: another than the first")
        else:
            self.reasons.append("late label: no event of this id waits")


@pytest.mark.parametrize("rows", [8, 1000])
@pytest.mark.parametrize(("task", "learner"), [("classification", "arow"), ("regression", "dfop")])
def test_matching_equals_a_dictionary_event_by_event(task: str, learner: str, rows: int) -> None:
    values = late_stream(600, 5, task=task)
    naive = Naive(learner, rows, task)
    for value in values:
        naive.take(json.loads(value))
    target = Target(task, 0) if task == "regression" else Target()
    settings = model_settings(learner, target=target, wait=LabelWait(rows), accuracy_every=50)
    model, outs = run(settings, values, list(range(0, len(values), 37)))
    predictions, points, rejected, *_ = all_of(outs)
    assert [json.loads(value)["score"] for value in predictions] == naive.scores
    assert [reason for _, reason, *_ in rejected] == naive.reasons
    assert len(predictions) == naive.rows == 600
    found = model.latest_points()[learner]
    assert found["labels"] == naive.labels
    if task == "regression":
        assert found["mse"] == pytest.approx(naive.squared / naive.labels, rel=1e-12)
    else:
        assert found["accuracy"] == naive.hits / naive.labels
        assert found["no_change_accuracy"] == naive.no_change / naive.labels
    last = json.loads(points[-1][1])
    assert last["rows"] == 600
    assert last["never_labelled"] <= naive.expired


@pytest.mark.parametrize("learner", ["auto", "dfop", "one", "majority_class"])
def test_cuts_saves_and_restores_change_no_bit(learner: str) -> None:
    specs = ("auto", "dfop", "pa") if learner == "one" else (learner,)
    detectors = make_detector_specs(("ddm:min_n=5,warn=0.2,drift=0.5",), "classification")
    settings = model_settings(*specs, wait=LabelWait(100), accuracy_every=40, detectors=detectors)
    values = late_stream(400, 7)
    whole, outs = run(settings, values, [])
    cut, others = run(settings, values, sorted(random.Random(1).sample(range(1, len(values)), 90)))
    assert all_of(outs) == all_of(others)
    assert [part.tobytes() for part in whole.save().parts] == [part.tobytes() for part in cut.save().parts]
    for offset in (1, 17, 200, len(values) - 1):
        first = Model(settings, 3)
        before = first.advance(records(values[:offset]))
        blob, again = snapshot.write(first, first.save(), offset), Model(settings, 3)
        assert snapshot.read(blob, again)[1] == offset
        assert all_of([before, again.advance(records(values[offset:], offset))]) == all_of(outs)
        assert [part.tobytes() for part in again.save().parts] == [part.tobytes() for part in whole.save().parts]
        first.advance(records(values[offset:], offset))
        first.load(snapshot.parse(blob).saved)  # go back, as after an aborted transaction
        assert all_of([before, first.advance(records(values[offset:], offset))]) == all_of(outs)


@pytest.mark.parametrize("learner", ["auto", "dfop"])
def test_labels_that_come_with_their_events_give_unchanged_bits(learner: str) -> None:
    draw = random.Random(2)
    values = [
        json.dumps({"id": i, "x": [draw.gauss(0.0, 1.0) for _ in range(D)], "y": draw.randrange(2)}).encode()
        for i in range(300)
    ]
    today, outs = run(model_settings(learner), values, [])
    late, others = run(model_settings(learner, wait=LabelWait(50)), values, [])
    assert all_of(outs)[0] == all_of(others)[0]
    assert today.save().parts[0].tobytes() == late.save().parts[0].tobytes()


def test_a_row_waits_for_the_given_number_of_rows_or_time() -> None:
    row = [b'{"id":%d,"x":[1,2,3]}' % i for i in range(6)]
    labels = [b'{"id":0,"y":1}', b'{"id":1,"y":1}']
    values = [*row[:3], *labels, b'{"id":1,"y":0}', row[3], b'{"id":2,"y":0}', b'{"id":1,"y":0}']
    _, outs = run(model_settings("dfop", wait=LabelWait(2)), values, [])
    assert [(one.offset, one.reason) for one in outs[0].rejected] == [
        (3, "late label: no event of this id waits"),
        (5, "late label: another than the first"),
        (8, "late label: no event of this id waits"),
    ]
    whole = records([*row[:5], b'{"id":0,"y":1}', b'{"id":1,"y":1}'])
    whole.timestamps = [STAMP, STAMP + 9_000, *[STAMP + 10_001] * 5]  # three rows confirm that ten seconds are over
    out = Model(model_settings("dfop", wait=LabelWait.parse("10s")), 3).advance(whole)
    assert [one.offset for one in out.rejected] == [5]


def test_without_the_option_late_labels_are_rejected_with_the_reason() -> None:
    out = Model(model_settings("dfop"), 3).advance(records([b'{"x":[1,2,3]}', b'{"id":0,"y":1}']))
    assert [one.reason for one in out.rejected] == ["late label: no event waits for one, see --label-wait"]


def test_events_without_an_id_do_not_wait_and_a_later_event_replaces_an_id() -> None:
    values = [b'{"x":[1,0,0]}', b'{"id":null,"x":[1,0,0]}', b'{"id":7,"x":[1,0,0]}', b'{"id":7,"x":[0,1,0]}']
    values += [b'{"id":null,"y":1}', b'{"id":7,"y":1}', b'{"id":7,"y":1}']
    model, outs = run(model_settings("dfop", wait=LabelWait(9)), values, [])
    assert [(one.offset, one.reason) for one in outs[0].rejected] == [
        (4, "late label: no event of this id waits"),
        (6, "late label: a repetition"),
    ]
    assert model.latest_points()["dfop"]["labels"] == 1


def test_labels_that_rows_wait_for_are_counted_without_being_used() -> None:
    settings = model_settings("dfop", wait=LabelWait(9))
    labels = records([b'{"id":7,"y":1}', b'{"id":"8","y":0}', b"no label", b'{"id":"8","y":0}'])
    assert Model(settings, 3).count_awaited(labels) == 0
    model, _ = run(settings, [b'{"id":7,"x":[1,0,0]}', b'{"id":"8","x":[0,1,0]}', b'{"id":null,"x":[1,0,0]}'], [])
    before = model.save().parts
    assert model.count_awaited(labels) == 2
    assert model.count_awaited(labels.after(2)) == 0
    assert model.count_awaited(records([b'{"id":null,"y":1}'])) == 0
    assert all(map(np.array_equal, before, model.save().parts))
    model.advance(labels.before(1))
    assert model.count_awaited(labels) == 0


def test_events_with_a_feature_map_wait_too() -> None:
    events = EventSchema.parse(["amount", "kind:one-of=a|b"], label="fraud", id="order", missing="mean")
    values = [
        b'{"order":"o1","amount":2,"kind":"a"}',
        b'{"order":"o2","kind":"b"}',
        b'{"order":"o2","fraud":true}',
        b'{"order":"o1","fraud":"maybe"}',
    ]
    model, outs = run(model_settings("dfop", wait=LabelWait(9), events=events), values, [])
    assert len(outs[0].predictions) == 2
    assert [one.reason for one in outs[0].rejected] == ['label "maybe" is not one of 0, 1']
    assert model.latest_points()["dfop"]["labels"] == 1


def test_accuracy_points_report_the_delay_of_labels() -> None:
    values = [b'{"id":%d,"x":[1,2,3]}' % i for i in range(10)]
    values += [b'{"id":%d,"y":1}' % i for i in range(5)] + [b'{"id":99,"x":[1,2,3],"y":0}']
    _, outs = run(model_settings("dfop", wait=LabelWait(50), accuracy_every=11), values, [])
    point = json.loads(outs[0].points[0][1])
    assert (point["rows"], point["labels"], point["waiting"], point["never_labelled"]) == (11, 6, 5, 0)
    assert point["delay_rows"] == {"median": 6, "p95": 9}
    assert point["delay_ms"] == {"median": 10, "p95": 10}


@pytest.mark.parametrize(
    "text",
    ["", "0", "x", "7", "7d", "90s/10", "12h/0", "d", "-3", "1.5h", "10000001", "99999999999d",
     pytest.param("9" * 5000, id="long"), pytest.param("9" * 5000 + "d", id="long time")],
)  # fmt: skip
def test_label_wait_is_parsed_or_refused_in_one_sentence(text: str) -> None:
    if text in ("7", "7d", "90s/10"):
        assert str(LabelWait.parse(str(LabelWait.parse(text)))) == str(LabelWait.parse(text))
    else:
        with pytest.raises(UsageFailure, match="label-wait"):
            LabelWait.parse(text)


def test_a_state_with_another_number_of_waiting_rows_is_refused() -> None:
    settings = model_settings("dfop", wait=LabelWait(50))
    model, _ = run(settings, late_stream(60, 3), [])
    saved = model.save()
    broken = type(saved)(saved.schema, saved.rows, (*saved.parts[:-1], saved.parts[-1][:-8]))
    with pytest.raises(ValueError, match="other sizes"):
        model.load(broken)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_challengers_are_compared_with_the_same_baselines_however_rows_are_cut(task: str) -> None:
    """A slot is reused as soon as its row's label has arrived; metrics must not read it afterwards."""
    settings = model_settings("dfop", "pa1_regressor" if task == "regression" else "pa1", wait=LabelWait(30), task=task)
    values = late_stream(400, 3, delay=25, task=task)
    _, whole = run(settings, values, [0])
    rng = random.Random(task)
    for _ in range(3):
        _, cut = run(settings, values, rng.sample(range(len(values)), 20))
        assert all_of(cut) == all_of(whole)
    points = [json.loads(value) for out in whole for _, value in out.points]
    own = "mse", "mae", "accuracy", "kappa"
    for champion, challenger in zip(points[::2], points[1::2], strict=True):
        same = [key for key in ("no_change_accuracy", "majority_accuracy", "labels") if key in champion]
        assert [champion[key] for key in same] == [challenger[key] for key in same]
        assert any(champion.get(key) != challenger.get(key) for key in own)

"""A committed model answers what the worker would emit, bit for bit, and learns nothing."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model, SavedState
from driftway.worker.stream.endpoint.committed_model import CommittedModel
from driftway.worker.stream.endpoint.predictions import PredictionHandler
from driftway.worker.stream.endpoint.routes import Request
from driftway.worker.wire.codec import PACKED
from driftway.worker.wire.events import LATE_LABEL, Target
from driftway.worker.wire.packed import encode_events as encode_packed
from driftway.worker.wire.schema.feature import MissingPolicy
from tests.support.examples import repetitions
from tests.unit.worker.rows import drifting, events, model_settings, records

TOKEN = "0123456789abcdef-token"
THREE = Target("classification", 3, ("low", "mid", "high"))
SETTINGS = {
    "linear": model_settings("dfop:mu=0.01", "arow"),
    "coverage": model_settings("arow", coverage=0.9),
    "regression": model_settings("rls", task="regression", coverage=0.8),
    "classes": model_settings("mc_arow", target=THREE, coverage=0.7),
    "random": model_settings("adaptive_random_forest"),
    "delayed": model_settings("pa1", wait=LabelWait(50), coverage=0.9),
    "missing": model_settings("arow", missing=MissingPolicy("mean")),
    "kernels": model_settings("fogd"),
    "unlabelled": model_settings("omr", wait=LabelWait(20)),
}


def stream(settings: ModelSettings, n: int = 200) -> list[bytes]:
    found = events(n, regression=settings.target.task == "regression")
    if settings.target is THREE:
        found = [
            json.dumps({**(one := json.loads(text)), "y": None if one["y"] is None else THREE.labels[i % 3]}).encode()
            for i, text in enumerate(found)
        ]
    if settings.missing.word == "mean":
        found = [text.replace(b'"x":[', b'"x":[null,', 1) if i % 7 == 0 else text.replace(b'"x":[', b'"x":[1.5,', 1)
                 for i, text in enumerate(found)]  # fmt: skip
    return found


def learned(settings: ModelSettings, values: list[bytes]) -> tuple[Model, SavedState]:
    model = Model(settings, 3, "g")
    model.advance(records(values))
    return model, model.save(len(values))


def emitted(model: Model, saved: SavedState, event: bytes) -> bytes:
    """What the worker emits for an event at the state's offset; the model is as before."""
    model.load(saved)
    assert saved.context is not None
    outputs = model.advance(records([event], first=saved.context.offset or 0))
    model.load(saved)
    (only,) = outputs.predictions.to_list()
    return only or b""


@pytest.mark.random_cases
@pytest.mark.parametrize("name", SETTINGS)
def test_answers_equal_what_the_worker_would_emit(name: str) -> None:
    settings = SETTINGS[name]
    values = stream(settings)
    committed, asked_for = CommittedModel(3, "g"), values[150 : 150 + repetitions(30)]
    for n in (1, 120, 150):
        model, saved = learned(settings, values[:n])
        expected = [emitted(model, saved, event) for event in asked_for]
        assert len(set(expected)) > len(asked_for) * 2 // 3
        one_by_one = [committed.predict(saved, [event]).answers[0] for event in asked_for]
        assert one_by_one == expected
        asked = committed.predict(saved, asked_for)
        assert (asked.offset, asked.plan, asked.answers) == (n, 1, expected)
        assert committed.predict(saved, asked_for).answers == expected  # nothing has changed


def test_rejections_are_at_the_positions_of_their_events() -> None:
    _, saved = learned(SETTINGS["linear"], stream(SETTINGS["linear"], 50))
    good = b'{"x":[1,2,3,4],"y":7,"id":12345678901234567890123}'  # the label is set aside, the id is kept
    asked = CommittedModel(3, "g").predict(saved, [b"?", good, b'{"x":[1]}', b"null", good])
    assert [one if isinstance(one, str) else json.loads(one)["offset"] for one in asked.answers] == [
        "not JSON", 50, "x has 1 features, expected 4", "not a JSON object", 50,
    ]  # fmt: skip
    assert b'"id":12345678901234567890123,' in asked.answers[1]  # type: ignore[operator]
    _, waiting = learned(SETTINGS["delayed"], stream(SETTINGS["delayed"], 50))
    assert CommittedModel(3, "g").predict(waiting, [b'{"id":3,"y":1}']).answers == [LATE_LABEL]


def test_packed_events_are_answered_in_json() -> None:
    settings = model_settings("arow", form=PACKED, output_form=PACKED)
    X, y = drifting(60)
    values: list[Any] = list(encode_packed(X, y))
    _, saved = learned(settings, values[:40])
    answer = json.loads(CommittedModel(3, "g").predict(saved, [values[40]]).answers[0])
    as_json = Model(model_settings("arow", form=PACKED), 3, "g")
    as_json.advance(records(values[:40]))
    assert answer == json.loads(as_json.advance(records([values[40]], first=40)).predictions.to_list()[0] or b"")


def test_a_state_without_an_offset_is_refused() -> None:
    model = Model(SETTINGS["linear"], 3, "g")
    model.advance(records(stream(SETTINGS["linear"], 5)))
    with pytest.raises(ValueError, match="not told where it stands"):
        CommittedModel(3, "g").predict(model.save(), [b"{}"])
    assert np.isfinite(model.rows)


@pytest.mark.parametrize("name", ["linear", "coverage", "missing"])
def test_requests_answered_together_get_the_same_answers_as_alone(name: str) -> None:
    """Single events and lists, of several partitions, good and bad: each as if it were the only one."""
    settings = SETTINGS[name]
    values = stream(settings)
    states = (learned(settings, values[:n])[1] for n in (60, 100))
    tasks = {p: SimpleNamespace(partition=p, running=True, saved=saved) for p, saved in enumerate(states)}
    tasks[2] = SimpleNamespace(partition=2, running=False, saved=None)
    fake_reporter = SimpleNamespace(health=SimpleNamespace(input_partitions=4))
    worker: Any = SimpleNamespace(settings=WorkerSettings("b", "E", "g", settings), tasks=tasks, reporter=fake_reporter)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    asked = [
        Request(
            {"partition": [str(i % 2)]}, headers, b"[%s, 5, %s]" % (values[i], values[i + 1]) if i % 5 == 0 else one
        )
        for i, one in enumerate(values[120:150], 120)
    ]
    asked[3:3] = [
        Request({"partition": ["0"]}, headers, b"?"),
        Request({"partition": ["0"]}, {**headers, "Authorization": "Bearer another"}, values[0]),
        Request({"partition": ["2"]}, headers, values[0]),
        Request({"partition": ["3"]}, headers, values[0]),
        Request({"partition": ["4"]}, headers, values[0]),
        Request({"key": ["k"]}, headers, values[0]),
    ]
    together = PredictionHandler(worker, TOKEN.encode()).predict(asked)
    assert together == [answer for one in asked for answer in PredictionHandler(worker, TOKEN.encode()).predict([one])]
    assert [answer.status for answer in together[3:8]] == [422, 401, 503, 421, 404]
    for request, answer in zip(asked, together, strict=True):
        if answer.status == 200 and "key" not in request.query:
            found, p = json.loads(answer.body), int(request.query["partition"][0])
            assert (found["partition"], found["offset"]) == (p, (60, 100)[p])
            if request.body[:1] != b"[":
                (expected,) = CommittedModel(p, "g").predict(tasks[p].saved, [request.body]).answers
                assert answer.body.endswith(b'"predictions":[%s]}' % expected)

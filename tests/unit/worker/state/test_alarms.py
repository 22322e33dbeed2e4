"""Drift detectors of a partition's champion: their input, what points report of them, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.learners.drift.detector import DRIFT
from driftway.learners.drift.registry import create
from driftway.worker.cli.model_options import make_detector_specs
from driftway.worker.errors import UsageFailure
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from tests.unit.worker.rows import drifting, events, model_settings, pieces, records

QUICK = "ddm:min_n=5,warn=0.2,drift=0.5"


def drifts(outs: list[Outputs], learner: str) -> list[tuple[int, object]]:
    """Return offset and `drift` of the learner's points."""
    points = [json.loads(value) for out in outs for key, value in out.points if key == f"{learner}/3".encode()]
    return [(point["offset"], point["drift"]) for point in points]


def called(text: str, errors: np.ndarray) -> list[int]:
    """Return the rows at which a detector alone signals a drift."""
    spec = Spec.parse(text)
    return np.flatnonzero(create(spec.name, **dict(spec.parameters)).observe(errors) == DRIFT).tolist()


@pytest.mark.parametrize("cuts", [[], list(range(0, 300, 7))], ids=["whole", "cut"])
def test_accuracy_points_report_where_the_champion_drifted(cuts: list[int]) -> None:
    _, y = drifting()
    texts = QUICK, "hddm_w:drift_conf=0.5,warn_conf=0.6"
    settings = model_settings("perceptron", "no_change", accuracy_every=40, detectors=make_detector_specs(texts, ""))
    model = Model(settings, 3)
    outs = [model.advance(part) for part in pieces(records(events()), cuts)]
    predicted = [json.loads(value)["prediction"] for out in outs for value in out.predictions]
    errors = np.where(np.isnan(y), np.nan, np.array(predicted) != y)
    alarms = {text: called(text, errors) for text in texts}
    assert all(len(offsets) > 1 for offsets in alarms.values()), "the test would see nothing"
    assert sorted((a.offset, a.detector) for out in outs for a in out.alarms) == sorted(
        (offset, text) for text, offsets in alarms.items() for offset in offsets
    )
    for offset, drift in drifts(outs, "perceptron"):
        since = {text: [o for o in offsets if offset - 40 < o <= offset] for text, offsets in alarms.items()}
        assert drift == ({text: max(offsets) for text, offsets in since.items() if offsets} or None)
    assert {drift for _, drift in drifts(outs, "no_change")} == {None}, "detectors watch the champion"


def test_detectors_watch_the_absolute_errors_of_targets() -> None:
    _, y = drifting(regression=True)
    text = "page_hinkley:lam=2,min_n=5"
    model = Model(model_settings("rls", task="regression", detectors=make_detector_specs((text,), "regression")), 3)
    out = model.advance(records(events(regression=True)))
    scores = np.array([json.loads(value)["score"] for value in out.predictions])
    expected = called(text, np.abs(scores - y))
    assert [alarm.offset for alarm in out.alarms] == expected != []


@pytest.mark.parametrize("cuts", [[], list(range(0, 300, 7))], ids=["whole", "cut"])
def test_an_alarm_has_a_record_that_names_the_event(cuts: list[int]) -> None:
    """Two detectors that signal at the same event come in the order of their options; no clock is involved."""
    texts = QUICK, "ddm:min_n=5,warn=0.2,drift=0.50"
    settings = model_settings("perceptron", "no_change", detectors=make_detector_specs(texts, ""))
    named = [b'{"id":{"n":%d},"t":%d,' % (i, 10 * i) + value[value.index(b'"x"') :] for i, value in enumerate(events())]
    model = Model(settings, 3, "g")
    outs = [model.advance(part) for part in pieces(records(named), cuts)]
    found = [alarm for out in outs for alarm in out.alarms]
    assert len(found) > 2
    assert [alarm.detector for alarm in found] == [*texts] * (len(found) // 2)
    for alarm in found:
        n, digest = alarm.offset, model.digests[0]
        expected = (
            f'{{"detector":"{alarm.detector}","partition":3,"offset":{n},"learner":"perceptron","group":"g",'
            f'"model_digest":"{digest}","id":{{"n":{n}}},"t":{10 * n}}}'
        )
        assert (alarm.key, alarm.value) == (f"{alarm.detector}/3".encode(), expected.encode())


def test_missing_fields_of_an_event_are_null_in_its_alarm() -> None:
    settings = model_settings("perceptron", detectors=make_detector_specs((QUICK,), ""))
    bare = [b"{" + value[value.index(b'"x"') :] for value in events()]
    alarm = Model(settings, 3).advance(records(bare)).alarms[0]
    assert json.loads(alarm.value) | {"id": None, "t": None} == json.loads(alarm.value)


def test_relearned_rows_raise_no_alarm() -> None:
    model = Model(model_settings("perceptron", detectors=make_detector_specs((QUICK,), "")), 3)
    assert model.advance(records(events()), emit=False).alarms == []


def test_a_state_with_other_detectors_is_refused() -> None:
    one = Model(model_settings("perceptron", detectors=make_detector_specs((QUICK,), "")), 3)
    one.advance(records(events(50)))
    blob = snapshot.write(one, one.save(), 50)
    for texts in ((), ("ddm",), (QUICK, "adwin")):
        other = Model(model_settings("perceptron", detectors=make_detector_specs(texts, "")), 3)
        with pytest.raises(snapshot.ForeignSnapshot, match="the snapshot was made with detectors"):
            snapshot.read(blob, other)


@pytest.mark.parametrize(
    ("texts", "task", "words"),
    [
        (("dmd",), "classification", "no detector 'dmd'; did you mean 'ddm'"),
        (("ddm:warn=-1",), "classification", "detector ddm:warn=-1: warn must be > 0"),
        (("ddm:speed=1",), "classification", "no parameter 'speed'"),
        (("ddm:warn",), "classification", "is not parameter=value"),
        (("ddm",), "regression", "counts mistakes, and a regression has none: use page_hinkley"),
    ],
)
def test_invalid_detectors_are_refused_in_one_sentence(texts: tuple[str, ...], task: str, words: str) -> None:
    with pytest.raises(UsageFailure, match=words):
        make_detector_specs(texts, task)


def test_a_duplicate_detector_is_refused() -> None:
    with pytest.raises(UsageFailure, match="the same --detector is given twice"):
        model_settings("perceptron", detectors=make_detector_specs(("adwin", "adwin"), ""))

"""Probabilities in a partition's model: in predictions and points, with late labels, in states, and of before."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from driftway.learners.metrics.calibrator import Calibrator
from driftway.learners.metrics.reliability import BINS, MILLION
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state import model_file, snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.calibration import LearnerCalibration
from driftway.worker.state.monitoring.confidence import NO_FORM
from driftway.worker.state.monitoring.monitors import StateForm
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.wire import packed
from driftway.worker.wire.codec import PACKED, encode_events
from driftway.worker.wire.events import Target
from tests.support.oracle import calibration as oracle
from tests.unit.worker.rows import drifting, events, model_settings, pieces, records, wire

EARLIER = Path(__file__).parent / "earlier"
"""Made by the last version without probabilities: a snapshot, and what it wrote behind it."""
CUTS = {"whole": [], "cut": list(range(0, 300, 7))}


def with_late_labels(rows: int = 120, by: int = 20) -> list[bytes]:
    """Rows, and each one's label `by` rows later."""
    X, y = drifting()
    values = []
    for i in range(rows):
        values.append(b'{"id":%d,"x":%s}' % (i, json.dumps(X[i].tolist()).encode()))
        if i >= by and not np.isnan(y[i - by]):
            values.append(b'{"id":%d,"y":%d}' % (i - by, y[i - by]))
    return values


def calibrated(model: Model) -> list[LearnerCalibration]:
    """What is behind each learner."""
    return [one.calibrated for one in model.monitors.confidence.models if one.calibrated is not None]


def late_settings(**more: object) -> ModelSettings:
    return model_settings("pa1", "arow", wait=LabelWait.parse("50"), accuracy_every=25, window=40, **more)


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("learner", ["pa1", "ogd_logistic", "mc_softmax", "ova:pa1"])
def test_predictions_have_probabilities_and_points_their_losses(learner: str, cuts: list[int]) -> None:
    X, y = drifting()
    n_classes = 2 if learner in ("pa1", "ogd_logistic") else 3
    y += 1.0 * (X[:, 2] > 1.0) if n_classes == 3 else 0.0
    settings = model_settings(learner, target=Target(n_classes=n_classes))
    model, written, points = Model(settings, 3), [], []
    for part in pieces(records(list(encode_events(X, y, 0))), cuts):
        out = model.advance(part)
        written += [json.loads(value) for value in out.predictions]
        points += [json.loads(value) for _, value in out.points]
    link = {"ogd_logistic": "logistic", "mc_softmax": "softmax"}.get(learner)
    plain, history = oracle.Calibration(n_classes, link), []
    for i, (record, label) in enumerate(zip(written, y.tolist(), strict=True)):
        scores = record["score"] if n_classes == 3 else [record["score"]]
        sure = round(record["probability"] * MILLION)
        assert abs(sure - plain.probability(scores)) <= 1
        assert record["probability"] == sure / MILLION, "both formats have the same number"
        if not math.isnan(label):
            plain.learn(scores, label)
            history.append((sure, record["prediction"] == label))
        if i % 40 == 39:
            point = points[i // 40]
            for prefix, expected in (
                ("", oracle.reliability(history)),
                ("window_", oracle.reliability(history, settings.window)),
            ):
                names = "calibrated_log_loss", "calibrated_brier", "calibration_error"
                assert [point[prefix + name] for name in names] == pytest.approx(expected)
            assert sum(rows for _, rows, _, _ in point["reliability"]) == len(history)
            assert all(0 <= j < BINS and right <= rows for j, rows, right, _ in point["reliability"])


def test_the_packed_format_has_the_same_probabilities() -> None:
    values = events()
    plain = [json.loads(value) for value in Model(model_settings("pa1"), 3).advance(records(values)).predictions]
    found = packed.decode_predictions(
        list(Model(model_settings("pa1", output_form=PACKED), 3).advance(records(values)).predictions)
    )
    assert found.probability.tolist() == [record["probability"] for record in plain]
    assert found.scores[:, 0].tolist() == [record["score"] for record in plain]


def test_predictions_of_targets_have_no_probability() -> None:
    out = Model(model_settings("rls", task="regression"), 3).advance(records(events(regression=True)))
    assert b"probability" not in out.predictions[0]
    assert not {"calibration_error", "reliability"} & set(json.loads(out.points[0][1]))


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
def test_a_late_label_is_scored_with_the_probability_emitted_for_its_row(cuts: list[int]) -> None:
    model, found, points = Model(late_settings(), 3), dict[int, tuple[int, bool]](), []
    for part in pieces(records(with_late_labels()), cuts):
        out = model.advance(part)
        for record in map(json.loads, out.predictions):
            found[record["id"]] = round(record["probability"] * MILLION), record["prediction"]
        points += [point for _, value in out.points if (point := json.loads(value))["learner"] == "pa1"]
    y = drifting()[1]
    history = [(found[i][0], found[i][1] == y[i]) for i in range(80) if not np.isnan(y[i])]
    point = points[3]  # behind row 99; the label of row 79 comes after it
    history = history[: point["labels"]]
    assert point["calibrated_brier"] == pytest.approx(oracle.reliability(history)[1])
    assert point["window_calibration_error"] == pytest.approx(oracle.reliability(history, 40)[2])


@pytest.mark.parametrize("offset", [1, 20, 100])
def test_a_snapshot_keeps_calibrators_and_probabilities_of_rows_that_wait(offset: int) -> None:
    whole = records(with_late_labels())
    model, restored = Model(late_settings(), 3), Model(late_settings(), 3)
    model.advance(whole.before(offset))
    snapshot.read(snapshot.write(model, model.save(), offset), restored)
    assert wire([restored.advance(whole.after(offset))]) == wire([model.advance(whole.after(offset))])
    assert [part.tobytes() for part in restored.save().parts] == [part.tobytes() for part in model.save().parts]


@pytest.mark.parametrize("form", ["json", PACKED])
def test_a_state_of_an_earlier_version_continues_with_the_same_bytes(form: str) -> None:
    earlier = json.loads((EARLIER / "late_labels.json").read_text())
    model = Model(late_settings(output_form=form), 3, "g")
    snapshot.read((EARLIER / "late_labels.snapshot").read_bytes(), model)
    values = with_late_labels()
    out = model.advance(records(values[100:], 100))
    expected = [bytes.fromhex(one) for one in earlier[PACKED]] if form == PACKED else map(str.encode, earlier["json"])
    assert list(out.predictions) == list(expected)
    assert [value.decode() for _, value in out.points] == earlier["points"]
    state = b"".join(part.tobytes() for part in model.save().parts)
    assert hashlib.blake2b(state, digest_size=8).hexdigest() == earlier["digest"]


def test_a_history_of_an_earlier_version_stays_uncalibrated_over_snapshots_and_plans() -> None:
    model = Model(late_settings(), 3, "g")
    snapshot.read((EARLIER / "late_labels.snapshot").read_bytes(), model)
    again = Model(late_settings(), 3, "g")
    blob = snapshot.write(model, model.save(), 100)
    assert b'"calibration"' not in blob
    snapshot.read(blob, again)
    following = again.followed_by(ModelPlan(2, (PlannedModel(late_settings().specs[1]),)))
    out = following.advance(records(with_late_labels()[100:], 100))
    assert b"probability" not in out.predictions[0]
    assert following.form.calibration == NO_FORM


def test_a_state_of_an_earlier_version_has_no_calibrators() -> None:
    earlier = Model(model_settings("pa1"), 3)
    earlier.continue_as(StateForm(True, NO_FORM))
    earlier.advance(records(events(50)))
    blob = snapshot.write(earlier, earlier.save(), 50)
    assert len(blob) < Model(model_settings("pa1", n_features=4), 3).save().nbytes
    for settings in (model_settings("pa1"), model_settings("pa1", n_features=4)):
        restored = Model(settings, 3)
        snapshot.load(snapshot.parse(blob), restored)
        assert wire([restored.advance(records(events(60)[50:], 50))])[0][0][0].count(b"probability") == 0


def test_calibrators_of_a_later_format_are_refused() -> None:
    model = Model(model_settings("pa1"), 3)
    model.advance(records(events(50)))
    later = replace(model.save(), calibration=99)
    with pytest.raises(snapshot.ForeignSnapshot, match="form 99"):
        snapshot.read(snapshot.write(model, later, 50), Model(model_settings("pa1"), 3))


def test_a_promoted_model_keeps_its_calibrator_and_a_new_one_begins_its_own() -> None:
    settings = model_settings("pa1", "arow")
    model, whole = Model(settings, 3), records(events())
    model.advance(whole.before(150))
    _, before = calibrated(model)
    state, sums = before.calibrator.state.memory.tobytes(), before.reliability.state.memory.tobytes()
    models = tuple(map(PlannedModel, (settings.specs[1], *model_settings("dfop").specs)))
    following = model.followed_by(ModelPlan(2, models))
    champion, challenger = calibrated(following)
    assert champion.calibrator.state.memory.tobytes() == state
    assert champion.reliability.state.memory.tobytes() == sums
    assert challenger.calibrator.state.memory.tobytes() == Calibrator(2, None).state.memory.tobytes()
    out = following.advance(whole.after(150))
    found = packed.decode_predictions(
        list(Model(model_settings("arow", output_form=PACKED), 3).advance(whole).predictions)
    )
    sure = [json.loads(value)["probability"] for value in out.predictions]
    assert sure == found.probability[150:].tolist(), "as if it had always been the champion"


def test_a_new_model_has_probabilities_for_rows_that_wait() -> None:
    settings = late_settings()
    model, whole = Model(settings, 3), records(with_late_labels())
    model.advance(whole.before(100))
    following = model.followed_by(
        ModelPlan(2, (PlannedModel(settings.specs[0]), *map(PlannedModel, model_settings("dfop").specs)))
    )
    confidences = following.monitors.confidence.models[1].probabilities
    assert (confidences > 0).sum() >= 20
    assert (confidences[confidences > 0] >= MILLION / 2).all()
    following.advance(whole.after(100))


def test_a_model_file_has_the_calibrator_and_a_warm_start_begins_with_it() -> None:
    model = Model(model_settings("pa1"), 3)
    model.advance(records(events()))
    file = model_file.unpack(model_file.pack(model, model.save(), 300, {"made": "here"}), "it.driftway")
    warm = Model(replace(model_settings("pa1"), warm=file.warm_start()), 3)
    warm.advance(records(events(1)), emit=False)
    (one,), (other,) = calibrated(warm), calibrated(model)
    assert one.calibrator.state["line"].tobytes() == other.calibrator.state["line"].tobytes()
    assert int(one.reliability.state["labels"][0]) <= 1, "metrics are of the partition's rows"

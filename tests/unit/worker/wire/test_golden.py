"""Wire and snapshot bytes as they were published. A difference here is a BREAKING change for the changelog.

`DRIFTWAY_GOLDEN=write pytest tests/unit/worker/wire/test_golden.py` rewrites the files.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from driftway.learners.metrics.calibrator import FORM
from driftway.worker.state import snapshot
from driftway.worker.state.model import Model
from driftway.worker.state.monitoring.confidence import NO_FORM
from driftway.worker.state.monitoring.monitors import StateForm
from driftway.worker.wire import packed
from driftway.worker.wire.codec import PACKED, encode_events
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Target
from driftway.worker.wire.scanner import NO_TIME
from tests.unit.worker.rows import events, model_settings, records, tabled

ENDS = "low", "high"
FOLDER = Path(__file__).parent / "golden"
X = np.array([[0.1, -2.5, 3.0], [1e-7, 12345678.9, -0.0]])
Y = np.array([1.0, math.nan])


def learned(*learners: str, form: int = NO_FORM, **more: object) -> tuple[Model, list[bytes], list[bytes]]:
    """Return a model after 40 rows, its predictions and its accuracy points; by default without probabilities."""
    model = Model(model_settings(*learners, **more), 3)
    model.continue_as(StateForm(True, form))
    out = model.advance(records(events(40)))
    return model, out.predictions, [value for _, value in out.points]


def covered(*learners: str, **more: object) -> tuple[Model, list[bytes], list[bytes]]:
    """Likewise with probabilities, and intervals or sets."""
    return learned(*learners, form=FORM, coverage=0.75, **more)


def header(form: int, **more: object) -> bytes:
    model, _, _ = learned("pa1:C=0.5", "majority_class", form=form, **more)
    blob = snapshot.write(model, model.save(), 40)
    return blob[: 8 + int.from_bytes(blob[4:8], "little")]


WIRE = {
    "event.json": lambda: encode_events(X, Y, 7)[0],
    "event_named.json": lambda: encode_events(X, Y, 7, ("a", "b", "c"))[1],
    "event.packed": lambda: packed.encode_events(X, Y)[1],
    "prediction.json": lambda: learned("perceptron")[1][-1],
    "prediction_regression.json": lambda: learned("rls", task="regression")[1][-1],
    "prediction.packed": lambda: learned("perceptron", output_form=PACKED)[1][-1],
    "prediction_regression.packed": lambda: learned("rls", task="regression", output_form=PACKED)[1][-1],
    "accuracy.json": lambda: learned("perceptron")[2][-1],
    "accuracy_challenger.json": lambda: learned("perceptron", "majority_class")[2][-1],
    "accuracy_regression.json": lambda: learned("rls", task="regression")[2][-1],
    "snapshot.header": lambda: header(NO_FORM),
    "prediction_probability.json": lambda: learned("perceptron", form=FORM)[1][-1],
    "prediction_probability.packed": lambda: learned("perceptron", form=FORM, output_form=PACKED)[1][-1],
    "accuracy_probability.json": lambda: learned("perceptron", form=FORM)[2][-1],
    "snapshot_calibration.header": lambda: header(FORM),
    "prediction_set.json": lambda: covered("perceptron")[1][-1],
    "prediction_set.packed": lambda: covered("perceptron", output_form=PACKED)[1][-1],
    "prediction_interval.json": lambda: covered("rls", task="regression")[1][-1],
    "prediction_interval.packed": lambda: covered("rls", task="regression", output_form=PACKED)[1][-1],
    "accuracy_set.json": lambda: covered("perceptron")[2][-1],
    "accuracy_interval.json": lambda: covered("rls", task="regression")[2][-1],
    "snapshot_coverage.header": lambda: header(FORM, coverage=0.75),
}


@pytest.mark.parametrize("name", WIRE)
def test_bytes_are_the_published_ones(name: str) -> None:
    written = WIRE[name]()
    if os.environ.get("DRIFTWAY_GOLDEN") == "write":
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / name).write_bytes(written)
    assert written == (FOLDER / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "form", "row"),
    [("event.json", "json", 0), ("event_named.json", "json", 1), ("event.packed", PACKED, 1)],
)
def test_published_events_are_still_read(name: str, form: str, row: int) -> None:
    found = tabled(Decoder(Target(), form=form), [records([(FOLDER / name).read_bytes()])])[0]
    assert found[0] == X[row].tobytes()
    assert found[1] == (1.0 if row == 0 else None)
    assert found[2] == (b"null" if form == PACKED else str(7 + row).encode())


NAMES = ("", "_regression", "_probability", "_set", "_interval")


@pytest.mark.parametrize("name", [f"prediction{name}" for name in NAMES])
def test_published_packed_predictions_are_still_read_and_equal_the_json_ones(name: str) -> None:
    fields = json.loads((FOLDER / f"{name}.json").read_bytes())
    found = packed.decode_predictions([(FOLDER / f"{name}.packed").read_bytes()])
    assert found.kind.tolist() == [packed.NUMBER if {"regression", "interval"} & {*name.split("_")} else packed.CLASS]
    assert np.flatnonzero(found.members[0]).tolist() == fields.get("set", [])
    assert np.nan_to_num([found.low[0], found.high[0]], nan=-1.0).tolist() == [fields.get(n, -1.0) for n in ENDS]
    for column in ("partition", "offset", "y", "prediction"):
        assert getattr(found, column).tolist() == [fields[column]]
    assert found.scores.tolist() == [[fields["score"]]]
    assert np.nan_to_num(found.probability, nan=-1.0).tolist() == [fields.get("probability", -1.0)]
    assert (found.ids, found.t.tolist(), fields["t"]) == ([b"%d" % fields["id"]], [NO_TIME], None)

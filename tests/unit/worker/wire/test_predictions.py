"""Predictions as bytes: for any batch the same as a plain join of orjson's text of each value."""

from __future__ import annotations

import math

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.learners.engine.jit import kernel
from driftway.worker.state.model import Model
from driftway.worker.stream.warm_up import compile_kernels
from driftway.worker.wire import packed, writer
from driftway.worker.wire.codec import PACKED, encode_predictions
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Batch, Target
from driftway.worker.wire.scanner import NO_TIME
from tests.support.examples import examples
from tests.unit.worker.rows import Array, model_settings, records

ODD = ("UP", 'say "no"\\', "2.5", "-1", "Ünï\n", "", "l" * 100)
TARGETS = {
    "binary": Target(),
    "labels": Target("classification", len(ODD), ODD),
    "multiclass": Target("classification", 12),
    "regression": Target("regression", 0),
}
SCORES = st.one_of(
    st.floats(),
    st.sampled_from(
        [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -2.2250738585072014e-308, 1.7976931348623157e308]
    ),
    st.integers(-(10**18), 10**18).map(float),
)
INT64 = st.integers(-(2**63), 2**63 - 1)
IDS = st.one_of(
    st.just(b""),
    st.integers(-(2**63), 2**64 - 1).map(orjson.dumps),
    st.text(max_size=40).map(orjson.dumps),
    st.sampled_from([b"null", b'{"a":[1,null]}', b"-0.0", b'"' + b"long" * 500 + b'"']),
)


def number(value: float) -> bytes:
    return orjson.dumps(value if math.isfinite(value) else None)


def joined(batch: Batch, score: Array, predicted: Array, target: Target, learner: str) -> list[bytes]:
    """Return the wire format row by row, each value written on its own."""
    text, (starts, ends) = batch.ids
    written = []
    for i, offset in enumerate(batch.offsets.tolist()):
        scores = b",".join(map(number, score[i].tolist()))
        y = batch.y[i].item()
        if target.task == "regression":
            prediction, label = scores, number(y)
        else:
            prediction = target.class_json()[int(predicted[i])].encode()
            label = b"null" if math.isnan(y) else target.class_json()[int(y)].encode()
        t = batch.t[i].item()
        values = {
            b"id": text[starts[i] : ends[i]].tobytes(),
            b"partition": b"%d" % batch.partition,
            b"offset": b"%d" % offset,
            b"prediction": prediction,
            b"score": b"[%b]" % scores if score.shape[1] > 1 else scores,
            b"y": label,
            b"learner": orjson.dumps(learner),
            b"t": b"null" if t == NO_TIME else b"%d" % t,
        }
        written.append(b"{" + b",".join(b'"%b":%b' % item for item in values.items()) + b"}")
    return written


def batch_of(ids: list[bytes], offsets: list[int], y: list[float], t: list[int], partition: int = 3) -> Batch:
    n = len(ids)
    ends = np.cumsum([len(name) for name in ids])
    bounds = np.stack([ends - [len(name) for name in ids], ends])
    column = writer.as_text(b"".join(ids)), bounds
    return Batch(
        partition, 0, np.array(offsets), np.empty((n, 1)), np.array(y), column, np.array(t), ListColumn([None] * n)
    )


@examples(150)
@given(st.data())
@pytest.mark.parametrize("name", TARGETS)
def test_predictions_equal_a_plain_join_byte_for_byte(name: str, data: st.DataObject) -> None:
    target = TARGETS[name]
    n, k = data.draw(st.integers(1, 9)), target.n_classes if target.n_classes > 2 else 1
    classes = st.integers(0, max(0, target.n_classes - 1)).map(float)
    labels = st.one_of(st.just(math.nan), SCORES if name == "regression" else classes)

    def column(values: st.SearchStrategy) -> list:
        return data.draw(st.lists(values, min_size=n, max_size=n))

    times = st.one_of(INT64, st.just(NO_TIME), st.integers(0, 2**41))
    batch = batch_of(column(IDS), column(INT64), column(labels), column(times), data.draw(st.integers(0, 10**6)))
    score = np.array(data.draw(st.lists(SCORES, min_size=n * k, max_size=n * k))).reshape(n, k)
    predicted = score[:, 0] if name == "regression" else np.array(column(classes))
    learner = data.draw(st.sampled_from(["dfop", 'a "learner":p=1', "é" * 50]))
    assert encode_predictions(batch, score, predicted, target, learner) == joined(
        batch, score, predicted, target, learner
    )


@pytest.mark.parametrize("n", [0, 1, 2, 3000])
@pytest.mark.parametrize("name", TARGETS)
def test_batches_of_any_size_equal_a_plain_join(name: str, n: int) -> None:
    target, rng = TARGETS[name], np.random.default_rng(n)
    k = target.n_classes if target.n_classes > 2 else 1
    score = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-30, 30, (n, k))
    y = rng.integers(0, max(1, target.n_classes), n).astype(float)
    predicted = y[::-1].copy()
    y[::7] = math.nan
    t = np.where(rng.random(n) < 0.3, NO_TIME, rng.integers(-(2**62), 2**62, n) >> rng.integers(0, 62, n))
    batch = batch_of([b"%d" % i for i in range(n)], list(range(n)), y.tolist(), t.tolist())
    batch.offsets = batch.offsets.astype(np.int64)
    found = encode_predictions(batch, score, predicted, target, "dfop")
    assert found == joined(batch, score, predicted, target, "dfop")


VALUES = [
    b'{"id":17,"x":[1]}',
    b'{"x":[1]}',
    b'{"id":"\\u00e9","x":[1]}',
    b"?",
    b'{"x":[1],"id":{"a":[]}}',
    b'{"x":[1],"id":8}',
]
COMPACT = [*packed.encode_events(np.ones((3, 1)), np.zeros(3)), b"?"]


def test_ids_from_every_path_of_the_decoder_are_written() -> None:
    """In place, absent, from the tail that orjson wrote, at the very end; and packed events, which have none."""
    for form, values, ids in (
        ("json", VALUES, [b"17", b"null", '"é"'.encode(), b'{"a":[]}', b"8"]),
        (PACKED, COMPACT, [b"null"] * 3),
    ):
        batch = Decoder(Target(), form=form).decode(records(values))
        written = encode_predictions(batch, np.zeros((len(ids), 1)), np.zeros(len(ids)), Target(), "dfop")
        assert [value.partition(b',"partition"')[0] for value in written] == [b'{"id":' + name for name in ids]


@pytest.mark.parametrize(("form", "values"), [("json", VALUES), (PACKED, COMPACT)], ids=["json", "packed"])
@pytest.mark.parametrize("name", ["binary", "multiclass", "regression"])
def test_after_the_warm_up_no_batch_waits_for_a_compiler(
    name: str, form: str, values: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    for function in ("_write", "_pad"):
        monkeypatch.setattr(writer, function, kernel(getattr(writer, function).py_func))
    settings = model_settings("no_change", target=TARGETS[name], form=form)
    compile_kernels(settings, "python")
    model = Model(settings, 3)
    for batch in (records(values[:1]), records(values), records(values * 50)):
        assert model.advance(batch).predictions
    assert len(writer._write.signatures) == len(writer._pad.signatures) == 1

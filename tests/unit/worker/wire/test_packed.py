"""The packed format: what decodes to what, what is rejected with which reason, what predictions look like in bytes."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.state.model import Model
from driftway.worker.stream.warm_up import compile_kernels
from driftway.worker.wire.codec import PACKED, encode_events, encode_predictions
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Batch, Reject, Schema, Target, finite
from driftway.worker.wire.json_tokens.append import write_records
from driftway.worker.wire.packed import CLASS, EVENT_HEAD, NUMBER, decode_predictions, is_packed
from driftway.worker.wire.packed import encode_events as encode_packed
from driftway.worker.wire.packed import encode_predictions as pack
from driftway.worker.wire.scanner import NO_TIME
from driftway.worker.wire.writer import as_text
from tests.support.examples import examples
from tests.unit.worker.rows import drifting, model_settings, pieces, reason, records, tabled

BINARY = Target()
THREE = Target("classification", 3)
SIGNS = Target("classification", 2, ("-1", "1"))
DIRECTIONS = Target("classification", 2, ("DOWN", "UP"))
NUMBERS = Target("regression", 0)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SIGNALLING = {4: struct.pack("<I", 0x7FA00000), 8: struct.pack("<Q", 0x7FF4000000000000)}
"""NaNs that raise the processor's floating-point flag when converted."""


def packed(y: float, *x: float, size: int = 8, version: int = 1, head: int | None = None) -> bytes:
    return EVENT_HEAD.pack(version, size if head is None else head, y) + struct.pack(f"<{len(x)}{'fd'[size == 8]}", *x)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null value"),
        (b"", "packed: 0 bytes are less than its head"),
        (b"\x01\x08" + bytes(7), "packed: 9 bytes are less than its head"),
        (packed(1, 1, 2, version=2), "packed: version 2 is not 1"),
        (b'{"x":[1,2],"y":1}', "packed: version 123 is not 1"),
        (packed(1, 1, 2, head=2), "packed: 2 bytes per feature, expected 4 or 8"),
        (packed(1, 1, 2) + b"\x00", "packed: 27 bytes are not a whole number of features"),
        (packed(1), "packed: 10 bytes are not a whole number of features"),
        (packed(1, 1, math.nan), "x[1] is not finite"),
        (packed(1, -math.inf, 2), "x[0] is not finite"),
        (packed(math.nan, math.inf, 2, size=4), "x[0] is not finite"),
        (packed(2, 1, 2), "label 2 is not one of 0, 1"),
        (packed(0.5, 1, 2), "label 0.5 is not one of 0, 1"),
        (packed(math.inf, 1, 2), "label Infinity is not one of 0, 1"),
        (packed(1e300, 1, 2), "label 1000000000000000052504760255204420248704 is not one of 0, 1"),
    ],
)
def test_malformed_packed_event_is_rejected_with_its_reason(value: bytes | None, words: str) -> None:
    assert reason(value, form=PACKED) == words


def test_packed_event_of_another_length_is_rejected() -> None:
    assert reason(packed(1, 1, 2, 3), schema=Schema(2), form=PACKED) == "x has 3 features, expected 2"
    assert reason(packed(1, 1, 2, size=4), schema=Schema(1), form=PACKED) == "x has 2 features, expected 1"
    assert reason(packed(math.inf, 1, 2), NUMBERS, Schema(2), PACKED) == "label is not finite"


@pytest.mark.parametrize("target", [BINARY, NUMBERS])
def test_first_packed_event_may_have_no_label(target: Target) -> None:
    """A stream with late or missing labels begins with unlabelled events."""
    found = tabled(Decoder(target, form=PACKED), [records([packed(math.nan, 1, 2), packed(1, 3, 4)])])
    assert [row[1] for row in found.values()] == [None, 1.0]


@pytest.mark.parametrize("target", [BINARY, SIGNS, NUMBERS])
def test_any_nan_is_a_missing_label(target: Target) -> None:
    """Of the two kinds of NaN in packed bytes, one raises the processor's flag in arithmetic."""
    signalling = EVENT_HEAD.pack(1, 8, 0.0)[:2] + SIGNALLING[8] + packed(0, 3, 4)[EVENT_HEAD.size :]
    batch = Decoder(target, form=PACKED).decode(records([packed(1, 1, 2), signalling]))
    assert batch.rejected == []
    assert batch.y[1:].tobytes() == np.array([math.nan]).tobytes()


@examples(100)
@given(st.data())
def test_cutting_batches_of_packed_events_changes_nothing(data: st.DataObject) -> None:
    number = st.floats(width=32)
    row = st.builds(packed, st.sampled_from([0.0, 1.0, 2.0, math.nan]), number, number, size=st.sampled_from([4, 8]))
    values = data.draw(st.lists(st.one_of(row, row, st.none(), st.binary(max_size=12)), min_size=1, max_size=8))
    whole = records(values)
    expected = tabled(Decoder(BINARY, form=PACKED), [whole])
    for cuts in (data.draw(st.lists(st.integers(0, 99), max_size=3)), range(len(values))):
        assert tabled(Decoder(BINARY, form=PACKED), pieces(whole, list(cuts))) == expected
    for offset, found in expected.items():
        if not isinstance(found, str):
            value = values[offset] or b""
            x = struct.unpack(f"<2{'fd'[value[1] == 8]}", value[10:])
            assert found[0] == struct.pack("<2d", *x)


# Batches against the slow path.


def slowly(value: bytes | None, schema: Schema, target: Target) -> Any:
    """Decode one event by `struct` alone: (x bytes, y bytes, why its label is set aside), or why it is rejected."""
    try:
        if value is None:
            raise Reject("null value")
        if len(value) < 10:
            raise Reject(f"packed: {len(value)} bytes are less than its head")
        if value[0] != 1:
            raise Reject(f"packed: version {value[0]} is not 1")
        if value[1] not in (4, 8):
            raise Reject(f"packed: {value[1]} bytes per feature, expected 4 or 8")
        n, rest = divmod(len(value) - 10, value[1])
        if rest or not n:
            raise Reject(f"packed: {len(value)} bytes are not a whole number of features")
        if n != schema.n_features:
            raise Reject(f"x has {n} features, expected {schema.n_features}")
        x = struct.unpack(f"<{n}{'fd'[value[1] == 8]}", value[10:])
        for j, feature in enumerate(x):
            finite(feature, f"x[{j}]")
    except Reject as reject:
        return str(reject)
    (label,) = struct.unpack_from("<d", value, 2)
    try:
        # A reason shows a whole label as an integer; the row keeps the sign of a zero target.
        y = target.index(None if math.isnan(label) else int(label) if label.is_integer() else label)
    except Reject as reject:
        return struct.pack(f"<{n}d", *x), None, str(reject)
    exact = label if target is NUMBERS else y
    return struct.pack(f"<{n}d", *x), None if math.isnan(y) else struct.pack("<d", exact)


def beside(values: list[bytes | None], schema: Schema, target: Target) -> None:
    """Fail unless the batch agrees with the slow path, value by value, including the sign of zero."""
    whole = records(values)
    batch = Decoder(target, schema, PACKED).decode(whole)
    assert batch.X.flags.c_contiguous
    assert batch.X.dtype == np.float64
    found = tabled(Decoder(target, schema, PACKED), [whole])
    for i, value in enumerate(values):
        expected = slowly(value, schema, target)
        if isinstance(expected, str):
            assert found[i] == expected
            continue
        x, y, name, t, key, *set_aside = found[i]
        assert set_aside == list(expected[2:])
        assert x == expected[0]
        assert (None if y is None else struct.pack("<d", y)) == expected[1]
        assert (name, t, key) == (b"null", NO_TIME, b"k%d" % i)


LABELS = st.sampled_from([0.0, -0.0, 1.0, 1.0, -1.0, 2.0, 0.5, math.nan, math.inf, 1e300, -3.0])
FEATURES = st.one_of(st.floats(width=32), st.sampled_from([-0.0, 0.0, math.nan, math.inf, 1e-40]))


def rows_of(d: int, size: int) -> st.SearchStrategy[bytes]:
    return st.builds(lambda y, x: packed(y, *x, size=size), LABELS, st.lists(FEATURES, min_size=d, max_size=d))


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[bytes | None], int]:
    """Draw rows mostly of one length, with deviations of every kind or with none."""
    d, size = draw(st.integers(1, 4)), draw(st.sampled_from([4, 8]))
    odd: st.SearchStrategy[bytes | None] = st.one_of(
        st.none(),
        st.binary(max_size=30),
        rows_of(d, 12 - size),
        rows_of(d + 1, size),
        rows_of(2 * d, 4),  # as long as d features of 8 bytes
        st.builds(lambda row, at, byte: row[:at] + bytes([byte]) + row[at + 1 :], rows_of(d, size),
                  st.integers(0, 1), st.integers(0, 255)),
        rows_of(d, size).map(lambda row: row[:-size] + SIGNALLING[size]),
        st.builds(lambda row, cut: row[:-cut], rows_of(d, size), st.integers(1, 9)),
    )  # fmt: skip
    same = rows_of(d, size)
    return draw(st.lists(draw(st.sampled_from([same, st.one_of(same, same, odd)])), min_size=1, max_size=9)), d


@examples(400)
@given(batches(), st.sampled_from([BINARY, THREE, SIGNS, DIRECTIONS, NUMBERS]))
def test_a_batch_is_decoded_like_its_events_one_by_one(batch: tuple[list[bytes | None], int], target: Target) -> None:
    values, d = batch
    beside(values, Schema(d), target)


@pytest.mark.parametrize("size", [4, 8])
def test_a_batch_of_several_pieces_is_decoded_like_its_events_one_by_one(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("driftway.worker.wire.columns.PIECE_BYTES", 10_000)
    rng = np.random.default_rng(3)
    values: list[bytes | None] = [packed(i % 3 - 1.0, *rng.normal(size=5), size=size) for i in range(3000)]
    beside(values, Schema(5), BINARY)
    for at, value in [(0, None), (17, b"{}"), (1500, packed(1, 2, size=size)), (2999, packed(1, *[math.inf] * 5))]:
        values[at] = value
        beside(values, Schema(5), BINARY)


# Predictions.


def batch_of(ids: list[bytes], y: list[float], t: list[int] | None = None) -> Batch:
    """Return rows at offsets 40, 41, ... whose ids are parts of a text with other bytes between them."""
    n, text = len(ids), b'{"id":'
    bounds = np.empty((2, n), np.int64)
    for i, name in enumerate(ids):
        bounds[:, i] = len(text), len(text) + len(name)
        text += name + b"n}"
    times = np.array([NO_TIME] * n if t is None else t, np.int64)
    columns = np.zeros((n, 1)), np.array(y), (as_text(text), bounds), times
    return Batch(3, 40 + n, np.arange(40, 40 + n), *columns, ListColumn([None] * n))


def test_the_layout_is_the_documented_one() -> None:
    batch = batch_of([b'"a"', b"null"], [1.0, math.nan], [5, NO_TIME])
    score = np.array([[0.25, -1.5], [1e-300, -0.0]])
    found = pack(batch, score, np.array([0, 1]), BINARY)
    head = struct.pack("<BBHiqqdd", 1, 0, 2, 3, 40, 5, 1.0, 0.0)
    assert len(head) == 40
    assert found[0] == head + struct.pack("<2d", 0.25, -1.5) + b'"a"'
    assert found[1] == (
        struct.pack("<BBHiqq", 1, 0, 2, 3, 41, -(2**63)) + batch.y[1:].tobytes() + struct.pack("<3d", 1.0, 1e-300, -0.0)
    )


IDS = st.sampled_from([b"null", b"17", b'"order 17"', b"1.5", b'{"a":[1,null]}', b'"n"', b'"\xc3\xa9\\n"', b"true"])


@examples(150)
@given(st.data(), st.sampled_from([(BINARY, 1), (THREE, 3), (NUMBERS, 1)]))
def test_predictions_come_back_bit_for_bit(data: st.DataObject, kind: tuple[Target, int]) -> None:
    target, k = kind
    ids = data.draw(st.one_of(st.lists(IDS, min_size=1, max_size=8), st.integers(1, 9).map(lambda n: [b"null"] * n)))
    n = len(ids)
    whole = st.integers(-(2**63) + 1, 2**63 - 1)
    t = data.draw(st.lists(st.one_of(st.just(NO_TIME), whole), min_size=n, max_size=n))
    y = data.draw(st.lists(st.one_of(FLOATS, st.just(math.nan)), min_size=n, max_size=n))
    score = np.array(data.draw(st.lists(FLOATS, min_size=n * k, max_size=n * k))).reshape(n, k)
    predicted = score[:, 0] if target is NUMBERS else np.arange(n) % k
    values = pack(batch_of(ids, y, t), score, predicted, target)
    assert all(is_packed(value) for value in values)
    found = decode_predictions(values)
    assert found.kind.tolist() == [NUMBER if target is NUMBERS else CLASS] * n
    assert found.partition.tolist() == [3] * n
    assert found.offset.tolist() == list(range(40, 40 + n))
    assert found.t.tolist() == t
    assert found.y.tobytes() == np.array(y).tobytes()
    assert found.prediction.tobytes() == predicted.astype(np.float64).tobytes()
    assert found.scores.tobytes() == score.tobytes()
    assert found.scores.shape == (n, k)
    assert found.ids == [b"" if name == b"null" else name for name in ids]


@pytest.mark.parametrize("runs", [1, 3, 4000])
def test_ids_of_changing_length_are_cut_where_they_end(runs: int) -> None:
    """With few changes they are cut run by run, with many one by one."""
    n = 4000
    ids = [b"null" if i * runs // n % 3 == 2 else b"%d" % (7 * 10 ** (i * runs // n % 3)) for i in range(n)]
    score = np.arange(n, dtype=np.float64)[:, None]
    found = decode_predictions(pack(batch_of(ids, [math.nan] * n), score, np.ones(n), BINARY))
    assert found.ids == [b"" if name == b"null" else name for name in ids]
    assert found.scores.tobytes() == score.tobytes()


@pytest.mark.parametrize(
    ("target", "d"), [(BINARY, 1), (DIRECTIONS, 1), (SIGNS, 1), (THREE, 3), (NUMBERS, 1)], ids=lambda v: str(v)[:30]
)
def test_json_and_packed_predictions_are_equal_except_for_the_learner(target: Target, d: int) -> None:
    words = [*map(json.loads, target.class_json()), None]
    labels = [1.5, -2, None, -0.0] if target is NUMBERS else words
    events = [{"id": i, "x": [1], "y": labels[i % len(labels)], "t": 10**12 + i} for i in range(9)]
    events += [{"id": "a\u00e9", "x": [1]}, {"x": [1], "t": None}, {"id": None, "x": [1], "y": labels[0]}]
    batch = Decoder(target, Schema(1)).decode(records([json.dumps(event).encode() for event in events], first=70))
    n = len(batch)
    assert n == len(events)
    score = np.random.default_rng(1).normal(size=(n, d))
    predicted = score[:, 0] if target is NUMBERS else np.arange(n) % target.n_classes
    found = decode_predictions(pack(batch, score, predicted, target).to_list())
    for i, value in enumerate(encode_predictions(batch, score, predicted, target, "dfop")):
        fields = json.loads(value)
        index = float if target is NUMBERS else words.index
        assert fields.pop("learner") == "dfop"
        assert fields == {
            "id": json.loads(found.ids[i] or b"null"),
            "partition": found.partition[i],
            "offset": found.offset[i],
            "prediction": fields["prediction"],
            "score": found.scores[i].tolist() if d > 1 else found.scores[i, 0],
            "y": fields["y"],
            "t": None if found.t[i] == NO_TIME else found.t[i],
        }
        assert found.prediction[i] == index(fields["prediction"])
        if fields["y"] is None:
            assert math.isnan(found.y[i])
        else:
            assert struct.pack("<d", found.y[i]) == struct.pack("<d", index(fields["y"]))


def test_empty_batches_are_written_and_read() -> None:
    empty = batch_of([], [])
    assert pack(empty, np.empty((0, 1)), np.empty(0), BINARY) == []
    found = decode_predictions([])
    assert [len(column) for column in found] == [0] * len(found)


GOOD = pack(batch_of([b"7", b"8"], [0.0, 1.0]), np.zeros((2, 2)), np.zeros(2), THREE)
OURS = pack(batch_of([b"7", b"8"], [0.0, 1.0]), np.ones((2, 2)), np.zeros(2), THREE, 5, challenger="pa1:C=0.1")
"""Predictions of a challenger."""


@pytest.mark.parametrize("ids", [[b"7", b'"a longer one"'], [b"null", b"null"]])
def test_the_prediction_of_a_challenger_names_its_learner(ids: list[bytes]) -> None:
    name = "pa1:C=0.1, é"
    values = list(
        pack(batch_of(ids, [0.0, math.nan]), np.array([[1.5], [-2.0]]), np.array([1.0, 0.0]), BINARY, challenger=name)
    )
    found = decode_predictions(values)
    assert found.learners == [name, name]
    assert found.ids == [b"" if one == b"null" else one for one in ids]
    assert found.plan.tolist() == [1, 1]
    assert found.scores.tolist() == [[1.5], [-2.0]]
    assert found.prediction.tolist() == [1.0, 0.0]
    assert {value[0] for value in values} == {3}
    assert decode_predictions(OURS).plan.tolist() == [5, 5]
    assert decode_predictions(GOOD).learners == ["", ""]
    other = pack(batch_of([b"9"], [0.0]), np.zeros((1, 2)), np.zeros(1), THREE, 5, challenger="arow")
    assert decode_predictions([*OURS, *other]).learners == ["pa1:C=0.1", "pa1:C=0.1", "arow"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([b""], "record 0 is not a packed prediction: 0 bytes, beginning with nothing"),
        ([GOOD[0], GOOD[0][:20]], "record 1 is not a packed prediction: 20 bytes, beginning with 01 00"),
        ([GOOD[0][:41]],
         "record 0, a packed prediction, does not hold as many scores as the first, or not the same fields"),
        ([b"\x04" + GOOD[0][1:]], "record 0 is not a packed prediction of version 1: it begins with byte 4"),
        ([OURS[0][:74]], "record 0 is not a packed prediction of a challenger: it ends before its name"),
        ([OURS[0][:72] + bytes(2)], "record 0 is not a packed prediction of a challenger: it ends before its name"),
        ([GOOD[0], OURS[0]], "record 1 is not a packed prediction of version 1: it begins with byte 3"),
        ([GOOD[0], b"\x02" + GOOD[1][1:]], "record 1 is not a packed prediction of version 1: it begins with byte 2"),
        ([GOOD[0], b'{"id":1}'], "record 1 is not a packed prediction of version 1: it begins with byte 123"),
        ([GOOD[0], encode_packed(np.ones((1, 6)), np.ones(1))[0]],
         "record 1 is not a packed prediction: 58 bytes, beginning with 01 08"),
        ([*GOOD, pack(batch_of([b'"a long id"'], [0.0]), np.zeros((1, 1)), np.zeros(1), BINARY)[0]],
         "record 2, a packed prediction, does not hold as many scores as the first, or not the same fields"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_a_packed_prediction_is_refused(values: list[bytes], words: str) -> None:
    with pytest.raises(ValueError, match="record") as caught:
        decode_predictions(values)
    assert str(caught.value) == words


# The model.


def test_output_format_changes_neither_scores_nor_state_nor_points() -> None:
    whole = records(encode_events(*drifting(), first_id=0))
    plain, other = (Model(model_settings("dfop:mu=0.01", output_form=form), 3) for form in ("json", PACKED))
    json_out, packed_out = plain.advance(whole), other.advance(whole)
    found = decode_predictions(packed_out.predictions)
    lines = [json.loads(value) for value in json_out.predictions]
    assert found.scores[:, 0].tobytes() == np.array([line["score"] for line in lines]).tobytes()
    assert found.prediction.tolist() == [line["prediction"] for line in lines]
    assert [int(name) for name in found.ids] == [line["id"] for line in lines]
    assert (packed_out.points, packed_out.keys) == (json_out.points, json_out.keys)
    assert other.identity() == plain.identity()
    assert [part.tobytes() for part in other.save().parts] == [part.tobytes() for part in plain.save().parts]


def test_the_warm_up_compiles_all_that_packed_predictions_need() -> None:
    chosen = model_settings("dfop:mu=0.01", output_form=PACKED)
    compile_kernels(chosen, "python")
    compiled = list(write_records.signatures)
    assert len(compiled) == 1
    events = encode_events(*drifting(), first_id=0)
    events[7:7] = [b"?", b'{"x":[1,2,3,4],"id":"\\u00e9"}', b'{"x":[1,2,3,4]}']
    assert len(Model(chosen, 3).advance(records(events)).predictions) == 302
    assert write_records.signatures == compiled

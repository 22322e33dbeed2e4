"""Debezium's decimals in every mode, and its placeholder for values that were not sent."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.learners.engine.jit import kernel
from driftway.worker.state.model import Model
from driftway.worker.stream.warm_up import compile_kernels
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Target
from driftway.worker.wire.schema.conversion import decimals
from driftway.worker.wire.schema.debezium import UNAVAILABLE
from driftway.worker.wire.schema.decoder import SchemaDecoder
from driftway.worker.wire.schema.schema import CONNECT, DEBEZIUM, EventSchema
from tests.support.examples import examples
from tests.unit.worker.rows import model_settings, pieces, records
from tests.unit.worker.wire.schema.reading import assert_same, decoded, plain, reader_of, row, schema_of, tabled

FAST = examples(200)
NUMBER = Target("regression", 0)
PLACEHOLDER = "__debezium_unavailable_value"


def in_base64(units: int) -> str:
    size = units.bit_length() // 8 + 1
    return b64encode(units.to_bytes(size, "big", signed=True)).decode()


def field(name: str, scale: Any) -> dict[str, Any]:
    """Return the Connect schema of a decimal."""
    kind = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "version": 1}
    return {**kind, "parameters": {"scale": scale, "connect.decimal.precision": "10"}, "field": name}


def change(row: dict[str, Any], *fields: dict[str, Any]) -> bytes:
    """Return a Debezium event with these fields in its Connect schema, between others."""
    others = {"type": "string", "optional": True, "field": "note"}, {"type": "int64", "field": "id"}
    after = {"type": "struct", "field": "after", "fields": [others[0], *fields, others[1]]}
    schema = {"type": "struct", "fields": [{**after, "field": "before", "fields": []}, after, {"type": "string"}]}
    payload = {"before": None, "after": row, "op": "c", "ts_ms": 1_764_000_000_000}
    return json.dumps({"schema": schema, "payload": payload}).encode()


def flat(row: dict[str, Any], *fields: dict[str, Any]) -> bytes:
    """Return an event of Kafka Connect."""
    return json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": row}).encode()


@FAST
@given(st.lists(st.tuples(st.integers(-(2**70), 2**70) | st.integers(-999, 999), st.integers(-3, 30)), min_size=1))
def test_precise_decimals_are_the_nearest_float64(values: list[tuple[int, int]]) -> None:
    schema = schema_of("a", "b.c", envelope="debezium", label="a")
    events, expected = list[bytes | None](), []
    for units, scale in values:
        inner = {"type": "struct", "field": "b", "fields": [field("c", scale)]}
        text = in_base64(units)
        events.append(change({"a": text, "b": {"c": text}, "note": "é"}, field("a", str(scale)), inner))
        number = float(Decimal(f"{units}E{-scale}"))
        expected.append([number, number])
    batch = decoded(events, schema, NUMBER)
    assert (batch.X.tolist(), batch.rejected) == (expected, [])
    assert batch.y.tolist() == [one for one, _ in expected]
    assert_same(schema, records(events), NUMBER)


def test_decimals_are_read_by_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the schema changes; otherwise the comparisons of the two paths would not use it."""
    monkeypatch.delattr(SchemaDecoder, "_by_python")
    scales = ["2", "2", "0", None, "22", "22", "2"]
    units = [1250, -1250, 7, 0, 2**53 - 1, -(2**53) + 1, 0]
    texts = [in_base64(one) for one in units]
    fields = [[] if scale is None else [field("a", scale)] for scale in scales]
    values = [change({"id": 1, "a": text}, *own) for text, own in zip(texts, fields, strict=True)]
    values[3] = change({"id": 1, "a": 5})
    schema = schema_of("a", envelope="debezium")
    assert decoded([*values], schema).X[:, 0].tolist() == [
        12.5, -12.5, 7.0, 5.0, (2**53 - 1) / 1e22, -(2**53 - 1) / 1e22, 0.0,
    ]  # fmt: skip


def test_decimals_of_variable_scale_are_read_by_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(SchemaDecoder, "_by_python")
    texts = [
        '{"scale":1,"value":"fQ=="}',
        '{ "value" : "fQ==" , "scale" : 22 }',
        '["scale"]',
        '{"a":{"scale":1}}',
        "{}",
    ]
    values: list[bytes | None] = [b'{"payload":{"a":%s}}' % text.encode() for text in texts]
    batch = decoded(values, schema_of("a", envelope="connect"))
    assert batch.X.tolist() == [[12.5], [125 / 1e22]]
    assert [one.reason for one in batch.rejected] == ["a is not a number"] * 3


STRUCTS = [
    '{"scale":2,"value":"AQ==","scale":3}',
    '{"scale":2,"scale":2}',
    '{"value":"AQ==","value":"Ag=="}',
    '{"scale":2}',
    '{"scale":2.0,"value":"AQ=="}',
    '{"scale":-1,"value":"AQ=="}',
    '{"scale":30,"value":"AQ=="}',
    '{"scale":2,"value":""}',
    '{"scale":"2","value":"AQ=="}',
    '{"scale":2,"value":"AQ==","b":1}',
    '{"scale":2,"value":"AQ="}',
    '{"scale":2,"x":1}',
    '{"scale":2,"value":null}',
    '{"scale":2,"value":"////////////"}',
    '{"scales":2,"value":"AQ=="}',
    '["scale",2]',
    '{"scale":2,"value":"AQAAAAAAAA=="}',
    '{"scale":2,"value":"/w=="}',
    '{"scale":0,"value":"H////////w=="}',
    '"AQ=="',
    '{"scale":2,"value":"A=Q="}',
    '{"scale":2,"value":"AQ==" ,}',
    '{"scale":2,"value":"===="}',
    '{"scale":2,"value":"é"}',
    '{"scale":1,"value":{"scale":1,"value":"AQ=="}}',
    '{"scale":true,"value":"AQ=="}',
    '{"scale":null,"value":"AQ=="}',
]


@pytest.mark.parametrize("text", STRUCTS)
def test_unusual_structs_are_read_as_in_python(text: str) -> None:
    schema = schema_of("a:missing=0", "a:hash=5,as=h", "a.scale:missing=0", envelope="connect")
    assert_same(schema, records([b'{"payload":{"a":%s}}' % text.encode()]))
    assert_same(schema_of("a", envelope="connect"), records([b'{"payload":{"a":%s}}' % text.encode()]))


def test_a_decimal_as_id_keeps_its_text() -> None:
    schema = schema_of("a", envelope="connect", id="a")
    events: list[bytes | None] = [flat({"a": "AOpg"}, field("a", scale)) for scale in ("2", "40")]
    text, (starts, ends) = decoded(events, schema).ids
    assert [text[a:b].tobytes() for a, b in zip(starts, ends, strict=True)] == [b'"AOpg"'] * 2
    assert_same(schema, records(events))


def test_decimals_of_variable_scale_are_numbers_in_every_kind_of_feature() -> None:
    schema = schema_of("fee", "fee:one-of=12.5|3,as=f", "fee:index=100,as=i", envelope="debezium")
    values = [change({"fee": {"scale": scale, "value": in_base64(units)}}) for units, scale in ((125, 1), (3, 0))]
    assert decoded(values, schema).X[:, :3].tolist() == [[12.5, 1, 0], [3, 0, 1]]
    assert decoded(values, schema).X[1, 3] == 3
    assert_same(schema, records(values))


@pytest.mark.parametrize(("value", "number"), [("12.50", 12.5), (12.5, 12.5), ("-3", -3.0)])
def test_decimals_are_read_from_text_and_double(value: Any, number: float) -> None:
    schema = schema_of("a", envelope="debezium")
    event = change({"a": value, "note": "n"}, {"type": "string", "field": "a"})
    assert row([event], schema)[0] == [number]
    assert plain(schema, [event]) == [True]


def test_decimals_are_read_with_connect_and_without_an_envelope() -> None:
    event = flat({"a": in_base64(-1250), "y": 1}, field("a", "2"))
    assert row([event], schema_of("a", envelope="connect"))[0] == [-12.5]
    assert row([event], schema_of("@envelope.payload.a")) == "@envelope.payload.a is not a number"


def test_digits_in_base64_are_bytes_only_if_the_schema_says_so() -> None:
    schema = schema_of("a", envelope="connect")
    values = [flat({"a": "1234"}, field("a", 0)), flat({"a": "1234"}), b'{"payload":{"a":"1234"}}']
    assert decoded(values, schema).X.tolist() == [[-2_658_824.0], [1234], [1234]]
    old = EventSchema.of_dict({"features": ["a"], "envelope": "connect"})
    assert decoded(values, old).X.tolist() == [[1234]] * 3
    assert_same(schema, records(values))


@pytest.mark.parametrize(
    ("value", "scale"),
    [
        ("AOp", "2"),
        ("AOp!", "2"),
        ("=", "2"),
        ("é", "2"),
        ("AOpg", None),
        ("AOpg", "two"),
        ("AOpg", 10**9),
        ("AOpg", [2]),
        ({"scale": 2, "value": "?"}, "2"),
        ({"scale": None, "value": "AOpg"}, "2"),
        ({"scale": 2, "value": 5}, "2"),
        ({"scale": 2, "value": "AOpg", "more": 1}, "2"),
        ([1], "2"),
        ("f" * 8_000, "2"),
    ],
)
def test_an_invalid_decimal_is_not_a_number(value: Any, scale: Any) -> None:
    event = flat({"a": value}, field("a", scale))
    assert row([event], schema_of("a", envelope="connect")) == "a is not a number"


@pytest.mark.parametrize("schema", [[], {}, {"fields": 1}, {"fields": [1]}, {"fields": [{"field": "a", "name": 1}]}, 0])
def test_a_connect_schema_of_another_shape_is_ignored(schema: Any) -> None:
    event = json.dumps({"schema": schema, "payload": {"a": "AOpg", "b": {"scale": 1, "value": "Cg=="}}}).encode()
    assert row([event], schema_of("a", envelope="connect")) == "a is not a number"
    assert row([event], schema_of("b", envelope="connect"))[0] == [1.0]


def test_a_value_that_was_not_sent_is_missing() -> None:
    features = ("a:missing=-1", "b:one-of=x|*,missing=0", "c:hash=3,missing=0", "d:time=hour,missing=0", "n")
    event = {**dict.fromkeys("abcd", PLACEHOLDER), "y": PLACEHOLDER, "n": 1}
    for envelope, value in (("", event), ("debezium", {"after": event}), ("connect", {"payload": event})):
        schema = schema_of(*features, envelope=envelope)
        x, y, *_ = row([json.dumps(value).encode()], schema, Target("classification", 2, ("x", "y")))
        assert ([number != number for number in x], y) == ([True] * 7 + [False], None)
    assert row([json.dumps(event).encode()], schema_of("b:hash=3")) == "b is missing"
    in_bytes = json.dumps({"c": b64encode(PLACEHOLDER.encode()).decode()}).encode()
    assert row([in_bytes], schema_of("c:hash=3")) == "c is missing"


def test_the_placeholder_may_be_a_category_or_label() -> None:
    value = json.dumps({"a": PLACEHOLDER, "b": f"{PLACEHOLDER}s", "y": PLACEHOLDER}).encode()
    schema = schema_of(f"a:one-of=x|{PLACEHOLDER}", "b:hash=1")
    assert row([value], schema, Target("classification", 2, ("x", PLACEHOLDER)))[:2] == ([0, 1, 1], 1)
    assert len(UNAVAILABLE) == 2


def test_a_schema_from_before_units_takes_the_placeholder_as_text() -> None:
    old = EventSchema.of_dict({"features": ["a:one-of=x|*"]})
    assert row([json.dumps({"a": PLACEHOLDER}).encode()], old)[0] == [0, 1]


@FAST
@given(st.data())
def test_cutting_batches_changes_nothing(data: st.DataObject) -> None:
    schema = schema_of("a:missing=0", "b:hash=4,missing=0", envelope="connect", label="c")
    texts = st.sampled_from(["AOpg", "1234", "12.5", PLACEHOLDER, "x", 7, None, {"scale": 1, "value": "AQ=="}])
    fields = st.lists(st.sampled_from([field("a", 2), field("b", 1), field("c", "0")]), max_size=3)
    values: list[bytes | None] = [
        flat(data.draw(st.fixed_dictionaries({"a": texts, "b": texts, "c": texts})), *data.draw(fields))
        for _ in range(data.draw(st.integers(1, 5)))
    ]
    whole = records(values)
    expected = assert_same(schema, whole, NUMBER)
    cuts = data.draw(st.lists(st.integers(0, 99), max_size=4))
    assert tabled(reader_of(schema, NUMBER, True), pieces(whole, cuts)) == expected


def test_after_the_warm_up_no_event_with_a_connect_schema_waits_for_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decimals, "pass_over", kernel(decimals.pass_over.py_func))
    settings = model_settings("no_change", events=EventSchema.parse(["amount"], label="y", envelope="debezium"))
    compile_kernels(settings, "python")
    assert len(decimals.pass_over.signatures) == 1
    event = b'{"schema":{"type":"struct","fields":[]},"payload":{"op":"c","after":{"amount":1,"y":1}}}'
    assert Model(settings, 3).advance(records([event])).predictions
    assert len(decimals.pass_over.signatures) == 1


@pytest.mark.parametrize("envelope", [DEBEZIUM, CONNECT])
def test_a_key_may_have_the_envelope_of_kafka_connect(envelope: str) -> None:
    """As its JsonConverter writes it by default."""
    schema = schema_of("a", "@key.n:as=n,missing=0", id="@key.id", envelope=envelope)
    keys = [b'{"schema":{"type":"struct"},"payload":{"id":7.50,"n":1}}', b'{"id":8,"n":2}', b"9", b'{"payload":[]}']
    value = b'{"payload":{"a":1}}' if envelope == CONNECT else b'{"after":{"a":1}}'
    batch = decoded([value] * len(keys), schema, keys=ListColumn(keys))
    text, (starts, ends) = batch.ids
    assert [text[a:b].tobytes() for a, b in zip(starts, ends, strict=True)] == [b"7.50", b"8", b"null", b"null"]
    np.testing.assert_array_equal(batch.X[:, 1], [1, 2, math.nan, math.nan])
    inside = decoded([value], schema_of("a", id="@key.payload.id", envelope=envelope), keys=ListColumn(keys[:1]))
    assert inside.ids[0][slice(*inside.ids[1][:, 0])].tobytes() == b"7.50"

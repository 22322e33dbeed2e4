"""Ten shapes of events, each with the schema that reads it and the resulting row."""

from __future__ import annotations

from typing import Any

import pytest

from driftway.worker.wire.events import Target
from driftway.worker.wire.scanner import NO_TIME
from tests.unit.worker.rows import records
from tests.unit.worker.wire.schema.reading import assert_same, plain, row, schema_of

NEWS = Target("classification", 3, ("no", "maybe", "yes"))
TEN = 1_700_000_010_000
SHAPES: dict[str, tuple[str, dict[str, Any], Target, bytes, Any]] = {
    "flat": (
        "amount,age",
        {"label": "fraud", "id": "order", "time": "ts:unit=s"},
        Target(),
        b'{"order":17,"amount":12.5,"age":41,"fraud":1,"ts":1700000010}',
        ([12.5, 41.0], 1.0, b"17", TEN),
    ),
    "nested": (
        "payment.amount,customer.address.zip,items.0.price",
        {"label": "result.fraud"},
        Target(),
        b'{"id":"a-1","payment":{"amount":3},"customer":{"address":{"zip":"80331"}},"items":[{"price":9.5},{}],'
        b'"result":{"fraud":0},"t":1700000010000}',
        ([3.0, 80331.0, 9.5], 0.0, b'"a-1"', TEN),
    ),
    "debezium with payload": (
        "amount,@envelope.op:one-of=c|u",
        {"envelope": "debezium", "label": "fraud", "time": "@envelope.ts_ms"},
        Target(),
        b'{"schema":{"type":"struct","fields":[]},"payload":{"before":null,"after":{"id":5,"amount":7,"fraud":1},'
        b'"source":{"table":"orders"},"op":"u","ts_ms":1700000010000}}',
        ([7.0, 0.0, 1.0], 1.0, b"5", TEN),
    ),
    "debezium without": (
        "amount,@envelope.op:one-of=c|u",
        {"envelope": "debezium", "label": "fraud", "time": "@envelope.ts_ms"},
        Target(),
        b'{"before":{"amount":1},"after":{"id":5,"amount":7,"fraud":1},"op":"c","ts_ms":1700000010000}',
        ([7.0, 1.0, 0.0], 1.0, b"5", TEN),
    ),
    "connect": (
        "amount",
        {"envelope": "connect", "label": "fraud"},
        Target(),
        b'{"schema":{"type":"struct","optional":false},"payload":{"amount":7,"fraud":true,"id":null}}',
        ([7.0], 1.0, b"null", NO_TIME),
    ),
    "nulls": (
        "a:missing=-1,b:missing=mean",
        {},
        Target(),
        b'{"a":null,"b":null,"y":null,"id":null,"t":null}',
        (["nan", "nan"], None, b"null", NO_TIME),
    ),
    "booleans": (
        "member,blocked,kind:one-of=true|false",
        {"label": "bought"},
        Target(),
        b'{"member":true,"blocked":false,"kind":false,"bought":false}',
        ([1.0, 0.0, 0.0, 1.0], 0.0, b"null", NO_TIME),
    ),
    "categories": (
        "city:one-of=Ulm|M\u00fcnchen|*,shop:hash=4",
        {"label": "answer"},
        NEWS,
        '{"city":"München","shop":"corner","answer":"maybe"}'.encode(),
        ([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], 1.0, b"null", NO_TIME),
    ),
    "numbers in text": (
        "price,share,count",
        {"label": "target"},
        Target("regression", 0),
        b'{"price":"12.50","share":" +.5 ","count":"1E3","target":"-7"}',
        ([12.5, 0.5, 1000.0], -7.0, b"null", NO_TIME),
    ),
    "iso times": (
        "made:time=hour|weekday|day|month|age",
        {"time": "at"},
        Target(),
        b'{"made":"2023-11-14T22:13:00Z","at":"2023-11-14T23:13:30+01:00","y":1}',
        ([22 + 13 / 60, 1.0, 14.0, 11.0, 30.0], 1.0, b"null", TEN),
    ),
    "extra fields": (
        "a",
        {},
        Target(),
        b'{"x":[1,2],"z":{"a":[5,{"y":1}]},"a":2,"y":1,"\\u007a":"\\n"}',
        ([2.0], 1.0, b"null", NO_TIME),
    ),
    "missing fields": ("a:missing=0,b:missing=last", {}, Target(), b"{}", (["nan", "nan"], None, b"null", NO_TIME)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_ten_shapes_of_events_are_read(shape: str) -> None:
    features, options, target, value, expected = SHAPES[shape]
    schema = schema_of(*features.split(","), **options)
    x, *rest = row([value], schema, target)
    assert (["nan" if number != number else number for number in x], *rest) == expected
    assert_same(schema, records([value]), target)
    assert plain(schema, [value]) == [shape not in ("nested", "extra fields")]  # a list on the path, an escaped name


REFUSED = [
    ("a", {}, b"{}", "a is missing"),
    ("a b", {}, b'{"a":1,"b":null}', "b is missing"),
    ("a b", {}, b'{"b":"x","a":"y"}', "a is not a number"),
    ("a", {}, b'{"a":""}', "a is missing"),
    ("a", {}, b'{"a":"  "}', "a is missing"),
    ("a:missing=0", {}, b'{"a":"x"}', "a is not a number"),
    ("a:missing=0", {}, b'{"a":[1]}', "a is not a number"),
    ("a", {}, b'{"a":"1e999"}', "a is not finite"),
    ("a", {}, b'{"a":"nan"}', "a is not a number"),
    ("a:one-of=b", {}, b'{"a":{}}', "a is no category"),
    ("a:hash=3", {}, b'{"a":{}}', "a is no category"),
    ("a:hash=3", {}, b"{}", "a is missing"),
    ("a.b:time=hour", {}, b'{"a":{"b":"soon"}}', "a.b is not a time"),
    ("a.b:time=hour,as=c", {}, b'{"a":5}', "a.b is missing"),
    ("a:time=hour", {}, b'{"a":""}', "a is missing"),
    ("a:time=hour,missing=0", {}, b'{"a":true}', "a is not a time"),
    ("@header.trace", {}, b"{}", "@header.trace is missing"),
    ("a", {}, b'{"a":1,"y":2}', "label 2 is not one of 0, 1"),
    ("a", {}, b'{"a":1,"y":"no"}', 'label "no" is not one of 0, 1'),
    ("a", {}, b'{"a":1,"y":[1]}', "label given is not one of 0, 1: it is a list or an object"),
    ("a", {"envelope": "connect"}, b'{"a":1}', "no object payload to read"),
    ("a", {"envelope": "debezium"}, b'{"payload":{"after":null,"op":"u"}}', "no object after to read"),
    ("a", {"envelope": "debezium"}, b'{"payload":{"before":{"a":1},"op":"d"}}', "debezium: the row was deleted"),
    ("a", {}, b"[1]", "not a JSON object"),
    ("a", {}, b'{"a":1', "not JSON"),
    ("a", {}, None, "null value"),
    ("a" * 50, {}, b"{}", "a" * 40 + "... is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("features", "options", "value", "says"), REFUSED)
def test_the_reason_of_a_rejection_names_the_field(features: str, options: Any, value: bytes | None, says: str) -> None:
    schema = schema_of(*features.split(" "), **options)
    assert row([value], schema) == says
    (found,) = assert_same(schema, records([value])).values()
    assert found == says or found[-1] == says, "the event is rejected, or its label is set aside"


def test_a_bad_event_does_not_affect_its_neighbours() -> None:
    schema = schema_of("a", "b:one-of=x|*")
    values: list[bytes | None] = []
    good = [b'{"a":%d,"b":"x","y":1,"id":"\\u0061%d"}' % (i, i) for i in range(len(REFUSED))]
    for (_, _, bad, _), one in zip(REFUSED, good, strict=True):
        values += [bad, one]
    found = assert_same(schema, records(values))
    alone = assert_same(schema, records(good))
    assert [found[2 * i + 1] for i in range(len(good))] == list(alone.values())

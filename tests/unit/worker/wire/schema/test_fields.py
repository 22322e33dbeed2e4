"""Events of a schema by kernel and by orjson, one by one: always the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftway.worker.wire.events import Target
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.examples import examples
from tests.unit.worker.rows import pieces, records
from tests.unit.worker.wire.schema.reading import assert_same, plain, reader_of, schema_of, tabled
from tests.unit.worker.wire.test_scanner import ANY, HOSTILE, SCALARS, SPACE, TARGETS, joined
from tests.unit.worker.wire.test_scanner_names import spelled

FAST = examples(200)
FEATURES = (
    "amount",
    "place.city:one-of=München|Ulm|1|true|*,missing=mean",
    "place.zip:hash=4,missing=last",
    "place:hash=2,as=whole,missing=0",
    "größe:missing=0.5,indicator",
    "at:time=hour|weekday-circle|age,missing=mean",
    'tags.0:missing=0,as="first"',
    '"quo\\"te".a:missing=0',
)
SCHEMAS = [
    schema_of(*FEATURES, label="label", id="key", time="at"),
    schema_of(*FEATURES, envelope="connect", label="@envelope.label", id="key", time="at"),
    schema_of(*FEATURES, envelope="debezium", label="label", id="@envelope.source.id", time="@envelope.source.at"),
    schema_of("amount", "@envelope.amount:as=other,missing=0", id="@envelope.key", label="@key", time="@timestamp"),
    schema_of("amount:missing=0", "@key.a:hash=3,missing=0", id="@key", label="place.label", time="place"),
    schema_of(
        "amount:missing=0,missing-words=Ulm|12.5", "place.*:hash=3,missing=0", "place.city:missing=0", "tags:hash=4",
        "größe:hash=4,missing=0", label="label", id="key",
    ),
]  # fmt: skip
NAMES = [
    "amount",
    "place",
    "größe",
    "at",
    "label",
    "key",
    "tags",
    'quo"te',
    "source",
    "city",
    "zip",
    "0",
    "a",
    "id",
    "é",
]
OUTER = ["payload", "after", "before", "op", "schema", "source"]
TIMES = st.sampled_from(
    ['"2026-11-24T12:30:05.25+01:00"', '"2026-11-24"', "1700000000", "1700000000000", '"1700000000123456"', '"soon"']
)
TEXTS = st.sampled_from(
    [
        '"München"',
        '"Ulm"',
        '"1"',
        '"true"',
        '"12.5"',
        '" 7 "',
        '"1e400"',
        '"-0"',
        '"nan"',
        '""',
        r'"M\u00fcnchen"',
        '"\U0001f600"',
    ]
)
LEAVES = st.one_of(
    SCALARS, TEXTS, TIMES, st.integers(-2, 2).map(str), st.sampled_from(["0", "1", "1.0", "1e0", "true"])
)


@st.composite
def objects(draw: Any, depth: int = 2) -> str:
    """Draw an object of known and unknown fields, in any spelling, some of them twice."""
    inner = st.one_of(LEAVES, LEAVES, ANY) if depth == 0 else st.one_of(LEAVES, LEAVES, ANY, objects(depth - 1))
    names = draw(st.lists(st.sampled_from(NAMES), max_size=6, unique=draw(st.sampled_from([True, True, True, False]))))
    return joined([(draw(spelled(name)), draw(inner)) for name in names], draw(SPACE)).strip()


@st.composite
def enveloped(draw: Any) -> bytes:
    """Draw an event in any envelope, in none, or in half of one."""
    row, space = draw(objects()), draw(SPACE)
    pairs = [(draw(spelled("after")), row)] if draw(st.booleans()) else []
    pairs += [
        (json.dumps(name), draw(st.one_of(objects(1), ANY)))
        for name in draw(st.lists(st.sampled_from(OUTER), max_size=3))
    ]
    change = joined(draw(st.permutations(pairs)), space)
    shape = draw(st.sampled_from(["row", "payload", "payload", "change", "wrapped"]))
    event = {
        "row": row,
        "payload": f'{{"payload":{row},{space}"label":1}}',
        "change": change,
        "wrapped": f'{{"schema":{{"a":[1,{{"b":null}}]}},"payload":{change}}}',
    }[shape]
    return event.encode("utf-8", "surrogatepass")


@st.composite
def broken(draw: Any) -> bytes:
    """Draw an event with bytes removed, inserted or changed anywhere."""
    data = bytearray(draw(enveloped()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["cut", "stop", "insert", "change"]))
        if kind == "cut":
            del data[at : at + draw(st.integers(1, 4))]
        elif kind == "stop":
            del data[at:]
        elif kind == "insert":
            data[at:at] = draw(
                st.one_of(st.binary(min_size=1, max_size=3), st.sampled_from([b",", b'"', b"]", b"}", b"\0"]))
            )
        elif at < len(data):
            data[at] = draw(st.integers(0, 255))
    return bytes(data)


EVENTS = st.one_of(enveloped(), enveloped(), broken(), st.none(), st.binary(max_size=5))


@FAST
@given(
    st.lists(EVENTS, min_size=1, max_size=6),
    st.sampled_from(SCHEMAS),
    st.sampled_from(TARGETS),
    st.lists(st.integers(0, 99), max_size=4),
)
def test_kernel_and_orjson_agree_however_batches_are_cut(
    values: list[bytes | None], schema: EventSchema, target: Target, cuts: list[int]
) -> None:
    whole = records(values)
    expected = assert_same(schema, whole, target)
    assert tabled(reader_of(schema, target, True), pieces(whole, cuts)) == expected
    assert tabled(reader_of(schema, target, False), pieces(whole, cuts)) == expected


PLACES = [
    '{"amount":%s}', '{"amount":1,"other":%s}', '{"amount":1,"key":%s}', '{"amount":1,"label":%s}',
    '{"amount":1,"at":%s}', '{"amount":1,"place":%s}', '{"amount":1,"place":{"city":%s}}', '{"amount":1,"größe":%s}',
    '{"amount":1,"place":{"zip":%s,"x":[%s]}}', '{"amount":1,%s:2}', '{"amount":1%s}', '%s', '{"amount":1,"tags":%s}',
    '{"amount":1,"x":{"y":[1,{"z":%s}]}}', '{"payload":{"amount":%s,"key":%s}}', '{"payload":%s}', '{"after":%s}',
    '{"payload":{"after":%s,"source":{"id":%s}}}', '{"after":{"amount":%s},"payload":%s}',
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=["none", "connect", "debezium", "both", "key", "words"])
@pytest.mark.parametrize("place", PLACES)
def test_every_hostile_value_in_every_place_is_read_as_orjson_reads_it(place: str, schema: EventSchema) -> None:
    values = [place.replace("%s", value).encode() for value in HOSTILE]
    for target in TARGETS[2:3] + TARGETS[-1:]:
        assert_same(schema, records(values), target)


WHOLE = (
    '{"amount":1.5,"place":{"city":"München","zip":"80331","more":[1,{"a":null}]},"größe":true,'
    '"at":"2026-11-24T12:30:05Z","label":1,"key":"ö-17","tags":"no","note":"a longer text, with € and 🌡"}'
).encode()
ROWS = {
    "": "%s",
    "connect": '{"schema":{"type":"struct"},"payload":%s}',
    "debezium": '{"payload":{"op":"c","after":%s}}',
}


@pytest.mark.parametrize("schema", SCHEMAS[:3], ids=["none", "connect", "debezium"])
def test_ordinary_events_take_the_fast_path(schema: EventSchema) -> None:
    """In any order, with fields unknown or missing, with letters beyond ASCII."""
    event = json.loads(WHOLE)
    rows = [event, dict(reversed(event.items())), {"amount": 2}, {"x": {}, **event, "y": []}, {}]
    texts = [ROWS[schema.envelope] % json.dumps(row, ensure_ascii=False) for row in rows]
    assert plain(schema, [text.encode() for text in texts]) == [True] * 5


@pytest.mark.parametrize("schema", SCHEMAS[:3], ids=["none", "connect", "debezium"])
def test_every_changed_byte_and_every_truncation_is_read_as_orjson_reads_it(schema: EventSchema) -> None:
    value = ROWS[schema.envelope].encode().replace(b"%s", WHOLE)
    odd = [
        0,
        9,
        10,
        13,
        31,
        32,
        34,
        44,
        45,
        46,
        48,
        58,
        91,
        92,
        93,
        101,
        123,
        125,
        127,
        128,
        191,
        192,
        194,
        224,
        237,
        244,
        255,
    ]
    values: list[bytes | None] = []
    for at in range(len(value)):
        values += [value[:at] + bytes([byte]) + value[at + 1 :] for byte in odd]
        values += [value[:at], value[at:], value[at:], value[:at], value[:at] + b"\0" + value[at:], value]
    assert_same(schema, records(values))


@pytest.mark.parametrize("place", ['{"amount":1,"key":"%s"}', '{"amount":1,"%s":0}', '{"amount":1,"x":["%s"]}'])
def test_characters_of_several_bytes_are_read_as_orjson_reads_them(place: str) -> None:
    """No overlong encodings, no surrogates, nothing beyond the last code point."""
    front, back = place.encode().split(b"%s")
    edges = [0x00, 0x22, 0x5C, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
    ends = [b"", b"\x80", b"\x80\x80", b"\xbf\xbf", b"\xc0\x80", b"\x80\x7f"]
    texts = [bytes([head]) for head in range(0x7E, 0x100)]
    texts += [bytes([head, edge]) + end for head in range(0x7E, 0x100) for edge in edges for end in ends]
    assert_same(SCHEMAS[0], records([front + text + back for text in texts]))
    good = [
        front + ("a" * n + letter).encode() + back
        for n in range(9)
        for letter in "\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
    ]
    assert all(plain(SCHEMAS[0], good))


def test_nesting_of_any_depth_is_read_as_orjson_reads_it() -> None:
    """Fields outside the schema may be nested as deeply as orjson reads; anything deeper is not JSON."""
    values: list[bytes | None] = []
    for depth in (1, 30, 59, 60, 61, 62, 63, 64, 65, 300, 1022, 1023, 1024, 1025, 3000):
        for front, back in ((b"[", b"]"), (b'{"a":', b"}"), (b'[{"amount":', b"}]")):
            inside = front * depth + b"1" + back * depth
            values += [b'{"amount":1,"x":%b}' % inside, b'{"amount":%b}' % inside, b'{"amount":1,"place":%b}' % inside]
            values += [b'{"amount":1,"x":%b}' % inside[:-1], b'{"amount":1,"x":%b' % inside]
    for schema in SCHEMAS:
        assert_same(schema, records(values))
    assert plain(SCHEMAS[0], [b'{"amount":1,"x":' + b"[" * 63 + b"]" * 63 + b"}"]) == [True]
    assert plain(SCHEMAS[0], [b'{"amount":1,"x":' + b"[" * 64 + b"]" * 64 + b"}"]) == [False]


@pytest.mark.parametrize("steps", [58, 60, 61, 200])
def test_paths_of_any_length_are_followed(steps: int) -> None:
    path = ".".join(["a"] * steps)
    values = [b'{"a":' * n + b"7" + b"}" * n for n in (steps - 1, steps, steps + 1)]
    found = assert_same(schema_of(path), records(values))
    assert [isinstance(one, str) for one in found.values()] == [True, False, True]


@pytest.mark.parametrize(
    "value",
    [
        b'{"amount":1,"amount":2}',
        b'{"place":{"city":"Ulm"},"amount":1,"place":{"zip":1}}',
        b'{"place":{"city":"Ulm","city":"M"},"amount":1}',
        b'{"place":5,"amount":1,"place":{"zip":1}}',
        b'{"amount":1,"\\u0061mount":2}',
        b'{"amount":null,"amount":2}',
        b'{"key":1,"amount":2,"key":null}',
    ],
)
def test_of_repeated_fields_the_last_counts_as_in_json(value: bytes) -> None:
    once = json.dumps(json.loads(value)).encode()
    found = assert_same(SCHEMAS[0], records([value, once]))
    assert found[0] == found[1]


def test_the_payload_takes_precedence_over_fields_around_it() -> None:
    schema = schema_of("amount", "@envelope.op:one-of=u|c,missing=0", envelope="debezium")
    around = [b'"op":"c"', b'"payload":{"op":"u","after":{"amount":1}}']
    for pair in (around, around[::-1]):
        batch = tabled(reader_of(schema, Target(), True), [records([b"{" + b",".join(pair) + b"}"])])
        assert batch == assert_same(schema, records([b'{"payload":{"op":"u","after":{"amount":1}}}']))


def test_two_paths_may_lead_to_one_field() -> None:
    """The same field as part of the row and of the envelope."""
    for envelope, event in (
        ("debezium", '{"after":{"amount":3}}'),
        ("connect", '{"payload":{"amount":3}}'),
        ("", '{"amount":3}'),
    ):
        steps = {"debezium": "after.", "connect": "payload.", "": ""}[envelope]
        schema = schema_of("amount", f"@envelope.{steps}amount", envelope=envelope)
        found = assert_same(schema, records([event.encode()]))
        import numpy as np

        assert np.frombuffer(found[0][0]).tolist() == [3, 3]


@pytest.mark.parametrize(
    "name",
    ["1", "1.0", "1e3", "-0", "0.10", "18446744073709551616", "true", "null", "[1, 2]", '{"a": 1}', '"a"', r'"\u0061"'],
)
def test_an_id_is_written_as_json_writes_it(name: str) -> None:
    found = assert_same(schema_of("amount"), records([f'{{"amount":1,"id":{name}}}'.encode()]))
    assert json.loads(found[0][2]) == json.loads(name)


def test_a_label_has_one_reason_however_it_is_written() -> None:
    values = [f'{{"amount":1,"y":{label}}}'.encode() for label in ("7", "7.0", "7e0", "70e-1")]
    found = assert_same(schema_of("amount"), records(values))
    assert {row[-1] for row in found.values()} == {"label 7 is not one of 0, 1"}

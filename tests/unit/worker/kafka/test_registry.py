"""Events with schemas in a registry, against a few calls of Confluent's interface over HTTP (`tests.support.registry`).

No real registry: this one can be made to fail. Events are written by the client's own serialisers. The same round trips
go through a real registry, Apicurio's, in `tests/broker/test_registry.py`.
"""

from __future__ import annotations

import json
import random
import time

import numpy as np
import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer

from driftway.worker.errors import Failure
from driftway.worker.kafka.registry.parser import FORMS, make_parser
from driftway.worker.kafka.registry.schemas import SECOND_ASKING_SECONDS
from driftway.worker.wire import codec
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records, Reject, Target
from driftway.worker.wire.rejections import in_earlier_words, kind_of
from driftway.worker.wire.schema.decoder import SchemaDecoder
from driftway.worker.wire.schema.schema import EventSchema
from tests.support import registered
from tests.support.examples import repetitions
from tests.support.registered import QUICK, ROUND_TRIPS
from tests.support.registry import Stub, client


def refusal(parse, value: bytes) -> str:
    with pytest.raises(Reject) as caught:
        parse(value)
    return str(caught.value)


def framed(number: int, value: bytes = b"") -> bytes:
    return b"\0" + number.to_bytes(4, "big") + value


def avro(stub: Stub, schema, value: bytes, **properties: str):
    """Return a parser, and an event with these bytes under this schema."""
    number = stub.add(schema=json.dumps(schema))
    return make_parser("avro", stub.url, QUICK | properties), framed(number, value)


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_an_event_is_read_as_json_would_have_it(stub, name):
    value, expected = ROUND_TRIPS[name](stub.url)
    parse = make_parser(name.partition(" ")[0], stub.url, {})
    found = parse(value)
    assert found == expected
    assert repr(found) == repr(parse(value)) == repr(make_parser(name.partition(" ")[0], stub.url, {})(value))
    assert json.loads(json.dumps(found)) == found, "nothing but what JSON has"


def test_maps_have_their_keys_in_order(stub):
    value, _ = registered.protobuf(stub.url, counts={key: {} for key in (30, 2, 100)})
    assert list(make_parser("protobuf", stub.url, {})(value)["counts"]) == ["2", "30", "100"]


def test_a_message_inside_another_is_found_by_its_indexes(stub):
    value, _ = registered.protobuf(stub.url, "t.All.In", raw=b"x")
    assert value[5:8] == b"\x04\x02\x00"
    assert make_parser("protobuf", stub.url, {})(value) == {"raw": "eA==", "next": None}
    value, _ = registered.protobuf(stub.url, "t.Other")
    assert make_parser("protobuf", stub.url, {})(value) == {}


def test_avro_reads_what_the_client_reads(stub):
    plain = [f for f in registered.AVRO_FIELDS if f[2] == f[3] and f[0] != "never"]  # where theirs fails
    schema = {"type": "record", "name": "X", "fields": [{"name": name, "type": kind} for name, kind, _, _ in plain]}
    value = registered.write_avro(stub.url, json.dumps(schema), {name: given for name, _, given, _ in plain})
    found = make_parser("avro", stub.url, {})(value)
    assert AvroDeserializer(client(stub.url))(value) == found


@pytest.mark.parametrize("form", FORMS)
def test_a_schema_is_asked_for_once(stub, form):
    value, _ = ROUND_TRIPS[form](stub.url)
    parse = make_parser(form, stub.url, {})
    before = len(stub.asked)
    for _ in range(3):
        parse(value)
    asked = stub.asked[before:]
    assert len(asked) == len(set(asked)) >= 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [b"", b"\0\0\0\0", b'{"x": 1}', b"\1" + bytes(20)])
def test_other_bytes_are_not_in_the_format(stub, form, value):
    reason = refusal(make_parser(form, stub.url, {}), value)
    said = f"{form}: not in the registry's format"
    assert reason == f"{said}: a zero byte and the schema's id of four bytes must come first, not in a header"
    assert in_earlier_words([("reason", reason.encode())], said.encode()) == (("reason", said.encode()),)
    assert kind_of(reason) == "registry"
    assert stub.asked == []


@pytest.mark.parametrize("form", FORMS)
def test_an_unknown_id_is_the_events_own_fault(stub, form):
    parse = make_parser(form, stub.url, QUICK)
    assert refusal(parse, framed(17, b"\0")) == f"{form}: no schema 17 in the registry"
    asked = len(stub.asked)
    assert refusal(parse, framed(17, b"\0\0")) == f"{form}: no schema 17 in the registry"
    assert len(stub.asked) == asked, "it is remembered"
    started = time.monotonic()
    for number in range(18, 40):
        refusal(parse, framed(number))
    assert time.monotonic() - started < 10 * SECOND_ASKING_SECONDS, "it is not waited for each"


def test_a_registry_that_learns_of_a_schema_a_little_later(stub):
    value, expected = registered.json_schema(stub.url)
    stub.hidden = 1
    assert make_parser("json-schema", stub.url, {})(value) == expected


@pytest.mark.parametrize("form", FORMS)
def test_a_schema_of_another_type(stub, form):
    other = {"avro": "protobuf", "protobuf": "json-schema", "json-schema": "avro"}[form]
    value, _ = ROUND_TRIPS[other](stub.url)
    kind = {"avro": "AVRO", "protobuf": "PROTOBUF", "json-schema": "JSON"}[other]
    number = int.from_bytes(value[1:5], "big")
    assert refusal(make_parser(form, stub.url, {}), value) == f"{form}: schema {number} is of type {kind}"


@pytest.mark.random_cases
@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_broken_bytes_never_crash_and_give_the_same_again(stub, form):
    value, _ = ROUND_TRIPS[form](stub.url)
    one, two = make_parser(form, stub.url, {}), make_parser(form, stub.url, {})
    generator = random.Random(20)

    def outcome(parse, broken: bytes) -> str:
        try:
            return repr(parse(broken))
        except Reject as reject:
            return str(reject)

    for _ in range(repetitions(3000)):
        broken = bytearray(value)
        for _ in range(generator.randrange(1, 4)):
            broken[generator.randrange(5, len(broken))] = generator.randrange(256)
        broken = bytes(broken[: generator.choice([len(broken), generator.randrange(5, len(broken))])])
        assert outcome(one, broken) == outcome(two, broken)


@pytest.mark.parametrize("form", ["avro", "protobuf"])
def test_a_value_that_is_cut_off(stub, form):
    value, _ = ROUND_TRIPS[form](stub.url)
    assert refusal(make_parser(form, stub.url, {}), value[:-1]) == f"{form}: value does not fit its schema"


def test_more_bytes_than_the_schema_says(stub):
    parse, value = avro(stub, {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}, b"\x02")
    assert parse(value) == {"a": 1}
    assert refusal(parse, value + b"\0") == "avro: value is longer than its schema says"


def test_records_of_a_union_each_have_their_own_types(stub):
    """Whether `x` is an int or a date is decided by the branch, not guessed from the value."""
    one = {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}]}
    two = {"type": "record", "name": "B", "fields": [{"name": "x", "type": {"type": "int", "logicalType": "date"}}]}
    parse, value = avro(stub, [one, two], b"\x00\x02")
    assert parse(value) == {"x": 1}
    assert parse(value[:5] + b"\x02\x02") == {"x": "1970-01-02"}


def test_text_that_is_not_utf8(stub):
    parse, value = avro(stub, {"type": "record", "name": "R", "fields": [{"name": "s", "type": "string"}]}, b"\x02\xff")
    assert refusal(parse, value) == "avro: value does not fit its schema"


def test_a_recursive_schema_is_refused(stub):
    """fastavro's stack would overflow some thousand levels deep and crash the process."""
    node = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
    parse, value = avro(stub, node, b"\x02" * 100_000)
    assert refusal(parse, value) == "avro: schema 1 is recursive"


def test_an_array_of_nothing_is_refused(stub):
    """Ten bytes could claim 2^62 elements."""
    empty = {"type": "record", "name": "Empty", "fields": [{"name": "n", "type": "null"}]}
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": empty}}]}
    parse, value = avro(stub, schema, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f")
    assert refusal(parse, value) == "avro: schema 1 has an array of nothing"


def test_a_schema_that_is_none(stub):
    parse, value = avro(stub, {"type": "record", "name": "R", "fields": [{"name": "a", "type": "nowhere"}]}, b"\0")
    assert refusal(parse, value) == "avro: schema 1 cannot be read"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (b"{", "value is not JSON"),
        (b'{"a": "text"}', "value does not fit its schema"),
        (b"[]", "value does not fit its schema"),
        (b'{"b": null}', "value does not fit its schema"),
    ],
)
def test_json_that_does_not_fit(stub, given, reason):
    value, _ = registered.json_schema(stub.url)
    assert refusal(make_parser("json-schema", stub.url, {}), value[:5] + given) == f"json-schema: {reason}"


def test_json_is_not_held_against_its_schema_where_that_is_not_wanted(stub):
    value, expected = registered.json_schema(stub.url)
    parse = make_parser("json-schema", stub.url, {"validate": "false"})
    assert parse(value) == expected
    assert parse(value[:5] + b'{"a": "text"}') == {"a": "text"}
    assert refusal(parse, value[:5] + b"{") == "json-schema: value is not JSON"


def test_a_schema_of_events_reads_what_was_parsed(stub):
    """`a` of `test.All` is a list, `us` a time, `w` a decimal in a union."""
    value, _ = registered.avro(stub.url)
    schema = EventSchema.parse(["d", "w", "a.1", "us:time=hour", "b:one-of=x|*"], label="e", id="id")
    reader = SchemaDecoder(
        schema, Target(labels=("RED", "BLUE")), make_parser("avro", stub.url, QUICK), codec.id_text, scanned=False
    )
    values = [value, b"{}", value[:-1]]
    stamps = np.zeros(3, np.int64)
    found = reader.decode(Records(0, np.arange(3), ListColumn(values), ListColumn([None] * 3), stamps))
    assert found.X[0].tolist() == [0.1, -12.34, 2.0, 12 + 30 / 60 + 5.25 / 3600, 0.0, 1.0]
    assert found.y[0] == 1.0
    assert found.reasons[1].startswith("avro: not in the registry's format: a zero byte")
    assert found.reasons[2] == "avro: value does not fit its schema"


def test_a_schema_that_refers_to_the_web_is_not_fetched(stub):
    other = f"{stub.url}/elsewhere.json"
    number = stub.add(schema=json.dumps({"properties": {"a": {"$ref": other}}}), schemaType="JSON")
    parse = make_parser("json-schema", stub.url, QUICK)
    reason = refusal(parse, framed(number, b'{"a": 1}'))
    assert reason == f"json-schema: schema {number} refers to what is not in the registry"
    assert not any("elsewhere" in path for path in stub.asked)


def test_json_nested_deeply_is_judged_alike_on_any_stack(stub):
    node = {"$ref": "#/definitions/n", "definitions": {"n": {"properties": {"n": {"$ref": "#/definitions/n"}}}}}
    number = stub.add(schema=json.dumps(node), schemaType="JSON")
    parse = make_parser("json-schema", stub.url, QUICK)

    def outcome(value: bytes) -> str:
        try:
            parse(value)
        except Reject as reject:
            return str(reject)
        return "fits"

    def deeper(levels: int, value: bytes) -> str:
        return deeper(levels - 1, value) if levels else outcome(value)

    values = [framed(number, b'{"n":' * depth + b"1" + b"}" * depth) for depth in range(20, 400, 20)]
    shallow = [outcome(value) for value in values]
    assert shallow == [deeper(400, value) for value in values]
    assert set(shallow) == {"fits", "json-schema: value is nested too deeply"}


def test_protobuf_nested_deeply(stub):
    value, _ = registered.protobuf(stub.url, "t.All.In")
    parse, inside = make_parser("protobuf", stub.url, {}), b""
    for depth in range(1, 200):
        length = bytes([len(inside)]) if len(inside) < 128 else bytes([len(inside) & 127 | 128, len(inside) >> 7])
        inside = b"\x12" + length + inside
        if depth == 100:
            assert isinstance(parse(value + inside), dict)
    assert refusal(parse, value + inside) == "protobuf: value does not fit its schema"


@pytest.mark.parametrize(("indexes", "reason"), [
    (b"\x02\x0e", "schema 2 has no message 7"),
    (b"\x02\x01", "schema 2 has no message -1"),
    (b"\x06\x02\x00\x00", "schema 2 has no message 1.0.0"),
    (b"\xff\xff\xff\xff\xff\xff", "not in the registry's format"),
    (b"\x04\x02", "not in the registry's format"),
    (b"\x01", "not in the registry's format"),
    (b"", "not in the registry's format"),
])  # fmt: skip
def test_indexes_of_no_message(stub, indexes, reason):
    value, _ = registered.protobuf(stub.url)
    number = int.from_bytes(value[1:5], "big")
    assert number == 2
    assert refusal(make_parser("protobuf", stub.url, {}), framed(number, indexes)) == f"protobuf: {reason}"


def test_a_registry_that_gives_protobuf_as_text_only(stub):
    number = stub.add(schema='syntax = "proto3"; message A {}', schemaType="PROTOBUF")
    with pytest.raises(Failure, match=f"returns schema {number} as text only"):
        make_parser("protobuf", stub.url, {})(framed(number, b"\0"))


def test_a_long_way_to_no_message_is_cut_in_the_reason(stub):
    value, _ = registered.protobuf(stub.url)
    long = b"\xc8\x01" + b"\xfe\xff\xff\x7f" * 100
    assert len(refusal(make_parser("protobuf", stub.url, {}), value[:5] + long)) < 100

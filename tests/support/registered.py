"""Events written with the client's serialisers, and the objects expected from reading them."""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from functools import cache
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaReference
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.confluent.type import decimal_pb2
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import SerializationContext
from google.protobuf import duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as F
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from tests.support.registry import BY_TOPIC, client

MOMENT = datetime.datetime(2026, 11, 24, 12, 30, 5, 250000, datetime.UTC)
LOCAL = datetime.datetime(1969, 12, 31)  # noqa: DTZ001
DECIMAL, CENTS = {"logicalType": "decimal"}, decimal.Decimal("1234.567")
WITH_DEFAULT = {"name": "x", "type": "bytes", "default": "\u00ff"}

VARIABLE = {
    "type": "record",
    "name": "VariableScaleDecimal",
    "namespace": "io.debezium.data",
    "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}],
}
"""Debezium's decimals without a fixed scale."""

AVRO_FIELDS: list[tuple[str, Any, Any, Any]] = [
    ("n", "null", None, None),
    ("yes", "boolean", True, True),
    ("i", "int", -7, -7),
    ("l", "long", 2**63 - 1, 2**63 - 1),
    ("f", "float", 0.5, 0.5),
    ("d", "double", 0.1, 0.1),
    ("b", "bytes", b"a\xff", "a\xff"),
    ("s", "string", "Grüße", "Grüße"),
    ("e", {"type": "enum", "name": "E", "symbols": ["RED", "BLUE"]}, "BLUE", "BLUE"),
    ("fixed", {"type": "fixed", "name": "Two", "size": 2}, b"ab", "ab"),
    ("again", "Two", b"cd", "cd"),
    ("a", {"type": "array", "items": "int"}, [1, 2], [1, 2]),
    ("m", {"type": "map", "values": "bytes"}, {"k": b"v"}, {"k": "v"}),
    ("u", ["null", "string"], "there", "there"),
    ("v", ["null", "double"], None, None),
    ("w", ["string", {"type": "bytes", **DECIMAL, "precision": 6, "scale": 2}], decimal.Decimal("-12.34"), -12.34),
    ("r", {"type": "record", "name": "R", "fields": [WITH_DEFAULT]}, {"x": b"in"}, {"x": "in"}),
    ("ms", {"type": "long", "logicalType": "timestamp-millis"}, MOMENT, "2026-11-24T12:30:05.250000Z"),
    ("us", {"type": "long", "logicalType": "timestamp-micros"}, MOMENT, "2026-11-24T12:30:05.250000Z"),
    ("ns", {"type": "long", "logicalType": "timestamp-nanos"}, 1_000_000_001, "1970-01-01T00:00:01.000000001Z"),
    ("local", {"type": "long", "logicalType": "local-timestamp-millis"}, LOCAL, "1969-12-31T00:00:00"),
    ("never", ["null", {"type": "long", "logicalType": "timestamp-micros"}], 2**63 - 1, 2**63 - 1),
    ("day", {"type": "int", "logicalType": "date"}, datetime.date(2026, 11, 24), "2026-11-24"),
    ("clock", {"type": "int", "logicalType": "time-millis"}, datetime.time(0, 0, 1), 1000),
    ("id", {"type": "string", "logicalType": "uuid"}, uuid.UUID(int=1), str(uuid.UUID(int=1))),
    ("raw", {"type": "fixed", "name": "Id", "size": 16, "logicalType": "uuid"}, bytes(16), str(uuid.UUID(int=0))),
    ("money", {"type": "fixed", "name": "M", "size": 8, **DECIMAL, "precision": 10, "scale": 3}, CENTS, 1234.567),
    ("fee", ["null", VARIABLE], {"scale": 2, "value": b"\xfb\x2e"}, -12.34),
    ("tax", "io.debezium.data.VariableScaleDecimal", {"scale": -3, "value": b"\x07"}, 7000),
]  # fmt: skip
"""(name, type, value written, value read)."""


def avro(url: str) -> tuple[bytes, Any]:
    """An event with every type of Avro."""
    fields = [{"name": name, "type": kind} for name, kind, _, _ in AVRO_FIELDS]
    text = json.dumps({"type": "record", "name": "All", "namespace": "test", "fields": fields})
    given = {name: value for name, _, value, _ in AVRO_FIELDS}
    return write_avro(url, text, given), {name: plain for name, _, _, plain in AVRO_FIELDS}


def write_avro(url: str, schema: str | Schema, given: Any, topic: str = "avro") -> bytes:
    """Serialize a value with the client's serialiser."""
    return AvroSerializer(client(url), schema, conf=BY_TOPIC)(given, SerializationContext(topic, "value"))


def avro_with_references(url: str) -> tuple[bytes, Any]:
    """An event whose schema refers to two others, one of which also refers to the other."""
    registry = client(url)
    money = {
        "type": "fixed",
        "name": "Cents",
        "namespace": "m",
        "size": 2,
        "logicalType": "decimal",
        "scale": 2,
        "precision": 4,
    }
    registry.register_schema("cents", Schema(json.dumps(money), "AVRO"))
    to_money = SchemaReference("m.Cents", "cents", 1)
    price = {"type": "record", "name": "Price", "namespace": "p", "fields": [{"name": "net", "type": "m.Cents"}]}
    registry.register_schema("price", Schema(json.dumps(price), "AVRO", [to_money]))
    order = {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "paid", "type": "p.Price"}, {"name": "back", "type": ["null", "m.Cents"]}],
    }
    schema = Schema(json.dumps(order), "AVRO", [SchemaReference("p.Price", "price", 1), to_money])
    given = {"paid": {"net": decimal.Decimal("1.25")}, "back": decimal.Decimal("0.05")}
    return write_avro(url, schema, given, "order"), {"paid": {"net": 1.25}, "back": 0.05}


JSON_SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Row",
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": ["string", "null"]}, "big": {"type": "integer"}},
    "required": ["a"],
}


def json_schema(url: str, given: Any = None) -> tuple[bytes, Any]:
    """A JSON event with a schema."""
    given = given or {"a": 1.5, "b": None, "big": 2**63 - 1, "list": [1, {"t": True}]}
    write = JSONSerializer(json.dumps(JSON_SCHEMA), client(url), conf=BY_TOPIC)
    return write(given, SerializationContext("json", "value")), given


def json_schema_with_references(url: str) -> tuple[bytes, Any]:
    """An event whose schema refers to another."""
    registry = client(url)
    price = {"$schema": JSON_SCHEMA["$schema"], "type": "number", "minimum": 0}
    registry.register_schema("price.json", Schema(json.dumps(price), "JSON"))
    order = {
        "$schema": JSON_SCHEMA["$schema"],
        "title": "Order",
        "type": "object",
        "properties": {"paid": {"$ref": "price.json"}},
    }
    schema = Schema(json.dumps(order), "JSON", [SchemaReference("price.json", "price.json", 1)])
    write = JSONSerializer(schema, registry, conf=BY_TOPIC)
    return write({"paid": 3}, SerializationContext("json-order", "value")), {"paid": 3}


@cache
def files() -> tuple[FileDescriptorProto, FileDescriptorProto]:
    """`price.proto`, and `all.proto` that imports it: every kind of field."""
    price = FileDescriptorProto(name="price.proto", package="p", syntax="proto3")
    price.message_type.add(name="Price").field.add(name="net", number=1, type=F.TYPE_DOUBLE, label=F.LABEL_OPTIONAL)
    whole = FileDescriptorProto(name="all.proto", package="t", syntax="proto3")
    known = ("timestamp", "duration", "struct", "wrappers")
    whole.dependency.extend(["price.proto", *(f"google/protobuf/{name}.proto" for name in known)])
    whole.dependency.append("confluent/type/decimal.proto")
    whole.message_type.add(name="Other")
    made = whole.message_type.add(name="All")
    colour = made.enum_type.add(name="Colour")
    colour.value.add(name="RED", number=0)
    colour.value.add(name="BLUE", number=1)
    inside = made.nested_type.add(name="In")
    inside.field.add(name="raw", number=1, type=F.TYPE_BYTES, label=F.LABEL_OPTIONAL)
    inside.field.add(name="next", number=2, type=F.TYPE_MESSAGE, label=F.LABEL_OPTIONAL, type_name=".t.All.In")
    entry = made.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=F.TYPE_INT32, label=F.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, type=F.TYPE_MESSAGE, label=F.LABEL_OPTIONAL, type_name=".t.All.In")
    made.oneof_decl.add(name="choice")
    for number, (name, kind, type_name) in enumerate(FIELDS, 1):
        field = made.field.add(name=name, number=number, type=kind, label=F.LABEL_OPTIONAL, type_name=type_name)
        if name in ("many", "colours", "counts"):
            field.label = F.LABEL_REPEATED
        if name in ("left", "right"):
            field.oneof_index = 0
    return price, whole


FIELDS = [
    ("small", F.TYPE_INT32, None),
    ("long", F.TYPE_INT64, None),
    ("unsigned", F.TYPE_UINT64, None),
    ("camelCase", F.TYPE_DOUBLE, None),
    ("zero", F.TYPE_DOUBLE, None),
    ("half", F.TYPE_FLOAT, None),
    ("yes", F.TYPE_BOOL, None),
    ("text", F.TYPE_STRING, None),
    ("raw", F.TYPE_BYTES, None),
    ("colour", F.TYPE_ENUM, ".t.All.Colour"),
    ("colours", F.TYPE_ENUM, ".t.All.Colour"),
    ("many", F.TYPE_SINT64, None),
    ("inside", F.TYPE_MESSAGE, ".t.All.In"),
    ("unset", F.TYPE_MESSAGE, ".t.All.In"),
    ("counts", F.TYPE_MESSAGE, ".t.All.CountsEntry"),
    ("left", F.TYPE_INT32, None),
    ("right", F.TYPE_INT32, None),
    ("price", F.TYPE_MESSAGE, ".p.Price"),
    ("at", F.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
    ("took", F.TYPE_MESSAGE, ".google.protobuf.Duration"),
    ("anything", F.TYPE_MESSAGE, ".google.protobuf.Struct"),
    ("wrapped", F.TYPE_MESSAGE, ".google.protobuf.Int64Value"),
    ("unwrapped", F.TYPE_MESSAGE, ".google.protobuf.Int64Value"),
    ("money", F.TYPE_MESSAGE, ".confluent.type.Decimal"),
]
"""Name, kind and type of the fields of t.All."""


@cache
def pool() -> DescriptorPool:
    """Pool of `files` and everything they import."""
    made = DescriptorPool()
    for known in (timestamp_pb2, duration_pb2, struct_pb2, wrappers_pb2, decimal_pb2):
        made.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
    for file in files():
        made.Add(file)
    return made


def protobuf(url: str, name: str = "t.All", **changed: Any) -> tuple[bytes, Any]:
    """An event with every kind of field, or one of another message type."""
    kind = GetMessageClass(pool().FindMessageTypeByName(name))
    message = kind(**(changed if name != "t.All" else {**GIVEN, **changed}))
    if name == "t.All":
        message.anything.update({"b": [1, None, {"c": True}], "a": "x"})
    write = ProtobufSerializer(kind, client(url), BY_TOPIC)
    return write(message, SerializationContext(name, "value")), EXPECTED


GIVEN = {
    "small": -1, "long": 2**62 + 1, "unsigned": 2**64 - 1, "camelCase": 0.1, "half": 0.5, "yes": True, "text": "Grüße",
    "raw": b"\xff", "colour": 1, "colours": [1, 0, 7], "many": [-3, 2**40], "inside": {"raw": b"a", "next": {}},
    "counts": {10: {}, 9: {"raw": b"b"}}, "right": 0, "price": {"net": 2.5},
    "at": {"seconds": 1, "nanos": 500_000_000}, "took": {"seconds": 1, "nanos": 500_000_000},
    "wrapped": {"value": 2**60}, "money": {"value": (-1234).to_bytes(2, "big", signed=True), "scale": 2},
}  # fmt: skip
EMPTY = {"raw": "", "next": None}
EXPECTED = {
    **GIVEN, "zero": 0.0, "raw": "/w==", "colour": "BLUE", "colours": ["BLUE", "RED", 7],
    "inside": {"raw": "YQ==", "next": EMPTY}, "unset": None,
    "counts": {"9": {"raw": "Yg==", "next": None}, "10": EMPTY},
    "left": None, "right": 0, "at": "1970-01-01T00:00:01.500000Z", "took": 1.5,
    "anything": {"a": "x", "b": [1.0, None, {"c": True}]}, "wrapped": 2**60, "unwrapped": None, "money": -12.34,
}  # fmt: skip

ROUND_TRIPS = {
    "avro": avro,
    "avro with references": avro_with_references,
    "protobuf": protobuf,
    "json-schema": json_schema,
    "json-schema with references": json_schema_with_references,
}
"""Format and variant -> function that writes an event with a registry and returns it with the expected object."""
QUICK = {"retries.wait.ms": "1", "max.retries": "2", "timeout": "20"}
"""Properties of a reader that gives up soon."""

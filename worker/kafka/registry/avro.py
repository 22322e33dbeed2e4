"""Avro values, decoded by their writer's schema with fastavro, which the client's deserializer also uses.

Timestamps and dates become ISO 8601, decimals (also Debezium's of variable scale) float64, enums their symbols, bytes
and fixed text of one character per byte, as in Avro's own JSON; a union becomes its value. A time of day stays the
number of ms or us since midnight.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any
from uuid import UUID

from driftway.worker.kafka.registry.scalars import MICROS, MILLIS, NANOS, day, decimal, instant
from driftway.worker.kafka.registry.schemas import MISFIT, Schemas, Unusable
from driftway.worker.wire.registered.framing import HEADER_BYTES
from driftway.worker.wire.schema.debezium import STRUCT

TYPE = "AVRO"
MARK = "driftway-"
"""Prefix of our logical types: fastavro's own yield Python objects, and stay untouched for other users of fastavro."""
TEXT, DECIMAL, DATE, ID, VARIABLE = "text", "decimal", "date", "uuid", "variable-scale-decimal"
VARIABLE_DECIMAL = "io.debezium.data.VariableScaleDecimal"
"""Debezium's record of a decimal without a fixed scale, such as PostgreSQL's NUMERIC."""
TIMES = {
    f"{local}timestamp-{name}": (unit, "" if local else "Z")
    for name, unit in (("millis", MILLIS), ("micros", MICROS), ("nanos", NANOS))
    for local in ("", "local-")
}
"""Logical type -> ticks per second, zone."""
PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))


def make_reader(schemas: Schemas, number: int) -> Callable[[bytes], Any]:
    """Return a function that decodes values of the schema with an id.

    Raises
    ------
    Unusable
        It is not an Avro schema, or its values cannot be decoded safely.
    Failure
        As `Schemas.by_id`.
    """
    written = schemas.by_id(number)
    if (written.schema_type or TYPE) != TYPE:
        raise Unusable(f"schema {number} is of type {written.schema_type}")
    others = schemas.referred(written)
    from fastavro import schemaless_reader

    register()
    try:
        schema = parse(written.schema_str, {name: other.schema_str for name, other in others.items()})
    except Unusable as bad:
        raise Unusable(f"schema {number} {bad}") from None
    except Exception:  # fastavro raises anything on a bad schema
        raise Unusable(f"schema {number} cannot be read") from None

    def read(value: bytes) -> Any:
        stream = BytesIO(value)
        stream.seek(HEADER_BYTES)
        try:
            found = schemaless_reader(stream, schema, None)
        except MemoryError:
            raise
        except Exception:  # fastavro has no exception of its own for bytes that do not fit
            raise Unusable(MISFIT) from None
        if stream.read(1):
            raise Unusable("value is longer than its schema says")
        return found

    return read


def parse(text: str, others: dict[str, str]) -> Any:
    """Parse a schema for fastavro.

    Parameters
    ----------
    text : str
        The schema.
    others : dict
        Name -> text of each schema that it refers to.

    Raises
    ------
    Unusable
        It is recursive, or has an array whose items take no bytes: a few bytes could overflow the reader's stack, or
        keep it busy for ever.
    """
    import json

    from fastavro.repository import AbstractSchemaRepository, SchemaRepositoryError
    from fastavro.schema import load_schema

    known = {name: plain(json.loads(other)) for name, other in others.items()}
    known |= {full_name(schema): schema for schema in known.values() if isinstance(schema, dict) and "name" in schema}

    class Known(AbstractSchemaRepository):
        def load(self, subject: str) -> Any:
            if subject not in known:
                raise SchemaRepositoryError(subject)
            return known[subject]

    text = text.strip()
    root = json.loads(text if text[:1] in ("{", "[", '"') else f'"{text}"')  # `int` stands for `"int"`
    known[""] = plain(root)
    schema = load_schema("", repo=Known())
    width(schema, frozenset(), {})
    return schema


def full_name(schema: dict[str, Any]) -> str:
    """Return the name of a record, enum or fixed with its namespace."""
    name, space = schema["name"], schema.get("namespace")
    return f"{space}.{name}" if space and "." not in name else str(name)


def plain(schema: Any) -> Any:
    """Return a schema with our logical types, without attributes that only writers and other readers need."""
    if isinstance(schema, list):
        return [plain(one) for one in schema]
    if schema == "bytes":
        return {"type": "bytes", "logicalType": MARK + TEXT}
    if isinstance(schema, str):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("logicalType", "default", "aliases", "doc")}
    kind, logical = schema["type"], schema.get("logicalType")
    if isinstance(kind, list | dict):
        return {**kept, "type": plain(kind)}
    if kind in ("record", "error"):
        fields = [{"name": f["name"], "type": plain(f["type"])} for f in schema["fields"]]
        if full_name(schema) == VARIABLE_DECIMAL and {f["name"] for f in fields} == STRUCT:
            kept["logicalType"] = MARK + VARIABLE
        return {**kept, "fields": fields}
    for inner in ("items", "values"):
        if inner in kept:
            kept[inner] = plain(kept[inner])
    if kind in ("bytes", "fixed"):
        known = logical == DECIMAL or (logical == ID and kind == "fixed" and schema["size"] == 16)
        kept["logicalType"] = MARK + (logical if known else TEXT)
    elif (kind == "long" and logical in TIMES) or (kind == "int" and logical == DATE):
        kept["logicalType"] = MARK + logical
    return kept


def width(schema: Any, around: frozenset[str], known: dict[str, bool]) -> bool:
    """Return whether a value may take no bytes.

    Parameters
    ----------
    schema : Any
        As parsed by fastavro.
    around : frozenset of str
        Names of the enclosing records.
    known : dict
        Name -> result, of the types seen so far.

    Raises
    ------
    Unusable
        As `parse`.
    """
    if isinstance(schema, list):
        for one in schema:
            width(one, around, known)
        return False
    if isinstance(schema, str):
        if schema in around:
            raise Unusable("is recursive")
        return schema == "null" if schema in PRIMITIVES else known[schema]
    kind = schema["type"]
    if kind in ("record", "error"):
        inside = around | {schema["name"]}
        empty = [width(field["type"], inside, known) for field in schema["fields"]]
        known[schema["name"]] = all(empty)
        return known[schema["name"]]
    if kind == "array":
        if width(schema["items"], around, known):
            raise Unusable("has an array of nothing")
        return False
    if kind == "map":
        width(schema["values"], around, known)
        return False
    if kind in ("enum", "fixed"):
        known[schema["name"]] = kind == "fixed" and schema["size"] == 0
        return known[schema["name"]]
    return width(kind, around, known)


def register() -> None:
    """Register the readers of our logical types with fastavro."""
    from fastavro.read import LOGICAL_READERS

    def time(unit: int, zone: str) -> Callable[[Any, Any, Any], Any]:
        return lambda ticks, _writer, _reader: instant(ticks, unit, zone)

    readers: Any = LOGICAL_READERS
    for name, (unit, zone) in TIMES.items():
        readers[f"long-{MARK}{name}"] = time(unit, zone)
    readers[f"int-{MARK}{DATE}"] = lambda days, _writer, _reader: day(days)
    readers[f"fixed-{MARK}{ID}"] = lambda data, _writer, _reader: str(UUID(bytes=data))
    readers[f"record-{MARK}{VARIABLE}"] = lambda row, _writer, _reader: decimal(
        row["value"].encode("latin-1"), row["scale"]
    )
    for kind in ("bytes", "fixed"):
        readers[f"{kind}-{MARK}{TEXT}"] = lambda data, _writer, _reader: data.decode("latin-1")
        readers[f"{kind}-{MARK}{DECIMAL}"] = lambda data, writer, _reader: decimal(data, writer.get("scale", 0))

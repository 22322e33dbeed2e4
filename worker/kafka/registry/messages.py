"""Protobuf messages as plain objects, with field names as in the schema.

Similar to Protobuf's own JSON, except that integers stay integers, a field without presence always has its value, and
an unset field with presence is null or its declared default. (JSON writes 64-bit integers as text and omits zeros.)
Enums become names, bytes base64, timestamps ISO 8601, durations seconds, wrappers their values; map keys are sorted.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

from driftway.worker.kafka.registry.scalars import NANOS, decimal, instant

Convert = Callable[[Any], Any]


class ObjectConverter:
    """Converts messages of a type to plain objects.

    Parameters
    ----------
    descriptor : google.protobuf.descriptor.Descriptor
        The message type.
    """

    def __init__(self, descriptor: Any) -> None:
        self._types: dict[str, list[Field]] = {}
        self._convert = self._of_message(descriptor)

    def __call__(self, message: Any) -> Any:
        return self._convert(message)

    def _of_message(self, descriptor: Any) -> Convert:
        known = WELL_KNOWN.get(descriptor.full_name)
        if known is not None:
            return known
        name = descriptor.full_name
        if name not in self._types:
            fields = self._types[name] = list[Field]()  # before its fields are visited: types may be recursive
            fields += map(self._field, descriptor.fields)
        inside = self._types[name]
        return lambda message: {field.name: field.value(message) for field in inside}

    def _field(self, field: Any) -> Field:
        convert = self._of_value(field)
        if field.is_repeated:
            entry = field.message_type
            if entry is not None and entry.GetOptions().map_entry:
                return Field(field.name, False, None, _of_map(self._of_value(entry.fields_by_name["value"])))
            return Field(field.name, False, None, _of_list(convert))
        unset = field.default_value if field.has_presence and field.has_default_value else None
        if convert is not None and unset is not None:
            unset = convert(unset)
        return Field(field.name, field.has_presence, unset, convert)

    def _of_value(self, field: Any) -> Convert | None:
        """Return the converter of a field's single value, or None if it is plain already."""
        if field.message_type is not None:
            return self._of_message(field.message_type)
        if field.enum_type is not None:
            names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
            return lambda number: names.get(number, number)
        return _base64 if field.type == field.TYPE_BYTES else None


class Field(NamedTuple):
    """How to read a field's value."""

    name: str
    presence: bool
    """Whether the field can be unset."""
    unset: Any
    """Value of an unset field."""
    convert: Convert | None

    def value(self, message: Any) -> Any:
        """Return the field's plain value."""
        if self.presence and not message.HasField(self.name):
            return self.unset
        found = getattr(message, self.name)
        return found if self.convert is None else self.convert(found)


def _of_list(convert: Convert | None) -> Convert:
    return list if convert is None else lambda items: [convert(item) for item in items]


def _of_map(convert: Convert | None) -> Convert:
    def plain(entries: Any) -> dict[str, Any]:
        found = {}
        for key in sorted(entries):
            value = entries[key]
            found[_key(key)] = value if convert is None else convert(value)
        return found

    return plain


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _struct(message: Any) -> dict[str, Any]:
    return {name: _any_json(message.fields[name]) for name in sorted(message.fields)}


def _any_json(message: Any) -> Any:
    kind = message.WhichOneof("kind")
    if kind in (None, "null_value"):
        return None
    value = getattr(message, kind)
    return {"struct_value": _struct, "list_value": _list}.get(kind, lambda plain: plain)(value)


def _list(message: Any) -> list[Any]:
    return [_any_json(value) for value in message.values]


WELL_KNOWN: dict[str, Convert] = {
    "google.protobuf.Timestamp": lambda m: instant(m.seconds * NANOS + m.nanos, NANOS),
    "google.protobuf.Duration": lambda m: (m.seconds * NANOS + m.nanos) / NANOS,
    "google.protobuf.Struct": _struct,
    "google.protobuf.Value": _any_json,
    "google.protobuf.ListValue": _list,
    "google.protobuf.BytesValue": lambda m: _base64(m.value),
    "confluent.type.Decimal": lambda m: decimal(m.value, m.scale),
} | {
    f"google.protobuf.{kind}Value": lambda m: m.value
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String")
}
"""Full name of a type -> converter of its messages."""

"""The bytes before a value whose schema is in a registry."""

from __future__ import annotations

from driftway.worker.wire.codec import FORMATS, PACKED

AVRO, PROTOBUF, JSON_SCHEMA = REGISTERED_OUTPUTS = "avro", "protobuf", "json-schema"
"""Formats of predictions whose schema is in a registry."""
OUTPUT_FORMATS = (*FORMATS, *REGISTERED_OUTPUTS)
BINARY_OUTPUTS = PACKED, AVRO, PROTOBUF
"""Formats of predictions for which no JSON is written."""

MAGIC = 0
"""First byte of events and predictions; neither JSON nor a packed prediction begins with it."""
HEADER_BYTES = 5
"""MAGIC and the schema's id."""
MAX_ID = 2**31 - 1
"""Ids are signed numbers of 32 bits in the registries."""
OPENING = ord("{")
FIRST_MESSAGE = b"\0"
"""Says that a Protobuf value is the first message of its schema."""


def header(schema_id: int) -> bytes:
    """Return the bytes in front of a value of the schema with this id."""
    return bytes([MAGIC]) + schema_id.to_bytes(HEADER_BYTES - 1, "big")


def is_registered(value: bytes) -> bool:
    """Whether a prediction is one whose schema is in a registry."""
    return len(value) > HEADER_BYTES and value[0] == MAGIC


def schema_id_of(value: bytes) -> int:
    """Return the id in a header."""
    return int.from_bytes(value[1:HEADER_BYTES], "big")


def form_of(value: bytes) -> str:
    """Return the format of a value for which `is_registered` holds."""
    return {OPENING: JSON_SCHEMA, FIRST_MESSAGE[0]: PROTOBUF}.get(value[HEADER_BYTES], AVRO)

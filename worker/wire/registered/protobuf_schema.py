"""The Protobuf schemas of predictions, with the fields of the Avro ones: one for each kind of model.

A new field gets the next number.
"""

from __future__ import annotations

from driftway.worker.wire.registered.avro_schema import MULTICLASS, NUMBER

NUMBERS = {
    "kind": 1, "partition": 2, "offset": 3, "plan": 4, "learner": 5, "id": 6, "t": 7, "prediction": 8, "score": 9,
    "y": 10, "probability": 11, "set": 12, "low": 11, "high": 12,
}  # fmt: skip
"""Field -> its number; the last two are those of regression."""
VARINT, WORD, BYTES = 0, 1, 2
"""Types on the wire: a number without sign, eight bytes, a length and as many bytes."""


def protobuf_schema(kind: str) -> str:
    """Return the schema of the predictions of models of a kind."""
    predicted = "double" if kind == NUMBER else "string"
    types = {
        "kind": "string",
        "partition": "int32",
        "offset": "int64",
        "plan": "int64",
        "learner": "string",
        "id": "optional string",
        "t": "optional int64",
        "prediction": predicted,
        "score": "repeated double" if kind == MULTICLASS else "double",
        "y": f"optional {predicted}",
    }
    ends = {"low": "optional double", "high": "optional double"}
    types |= ends if kind == NUMBER else {"probability": "optional double", "set": "repeated string"}
    fields = "".join(f"  {form} {name} = {NUMBERS[name]};\n" for name, form in types.items())
    return f'syntax = "proto3";\npackage driftway;\n\nmessage Prediction {{\n{fields}}}'


def tag(name: str, wire_type: int) -> int:
    """Return the byte in front of a field."""
    return NUMBERS[name] << 3 | wire_type

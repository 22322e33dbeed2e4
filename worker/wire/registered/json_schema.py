"""The JSON schema of predictions of a target, the same whatever the other options.

It allows no other properties: registries then count a schema with one more as compatible with those before.
"""

from __future__ import annotations

import json
from typing import Any

from driftway.worker.wire.codec import read_json
from driftway.worker.wire.events import REGRESSION, Target
from driftway.worker.wire.registered.fields import MEANINGS

DRAFT = "http://json-schema.org/draft-07/schema#"
TYPES = {int: "integer", float: "number", str: "string"}
MAY_LACK = ("probability", "low", "high", "set", "plan")


def json_schema(target: Target) -> dict[str, Any]:
    """Return the schema of the predictions of a target."""
    label = label_type(target)
    number = {"type": "number"}
    more: dict[str, Any]
    if target.task == REGRESSION:
        score, more = optional(number), {"low": optional(number), "high": optional(number)}
    else:
        score = optional(number) if target.n_classes == 2 else {"type": "array", "items": optional(number)}
        more = {"probability": {**number, "minimum": 0, "maximum": 1}, "set": {"type": "array", "items": label}}
    fields = {
        "id": {},
        "partition": {"type": "integer", "minimum": 0},
        "offset": {"type": "integer", "minimum": 0},
        "prediction": optional(label) if target.task == REGRESSION else label,
        "score": score,
        **more,
        "y": optional(label),
        "learner": {"type": "string"},
        "plan": {"type": "integer", "minimum": 2},
        "t": optional({"type": "integer"}),
    }
    return {
        "$schema": DRAFT,
        "title": "Prediction",
        "description": "A prediction of Driftway.",
        "type": "object",
        "properties": {name: {"description": MEANINGS[name], **form} for name, form in fields.items()},
        "required": [name for name in fields if name not in MAY_LACK],
        "additionalProperties": False,
    }


def json_schema_text(target: Target) -> str:
    """Return the same as text."""
    return json.dumps(json_schema(target), separators=(",", ":"))


def label_type(target: Target) -> dict[str, Any]:
    """Return the schema of a label on the wire."""
    if target.task == REGRESSION:
        return {"type": "number"}
    kinds = {TYPES[type(read_json(word.encode()))] for word in target.class_json()}
    found = sorted(kinds - {"integer"} if "number" in kinds else kinds)  # an integer is a number, too
    return {"type": found[0]} if len(found) == 1 else {"oneOf": [{"type": one} for one in found]}


def optional(form: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value that may be null."""
    return {"oneOf": [{"type": "null"}, *form.get("oneOf", [form])]}

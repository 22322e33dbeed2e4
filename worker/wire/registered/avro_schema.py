"""The Avro schemas of predictions: one for each kind of model, the same whatever its options.

Fields that a prediction may lack are null by default, so that a schema that gets one more stays compatible in both
directions. A new field goes to the end, where `driftway.worker.wire.registered.reading` does not look.
"""

from __future__ import annotations

import json
from typing import Any

from driftway.worker.wire.events import REGRESSION, Target
from driftway.worker.wire.registered.fields import MEANINGS

NAMESPACE, NAME, DOC = "driftway", "Prediction", "A prediction of Driftway. An id that is no text is written as JSON."
KINDS = BINARY, MULTICLASS, NUMBER = "binary", "multiclass", "regression"
"""Kinds of models, see `driftway.learners.learner.Learner.kind`; a record begins with its own."""


def kind_of(target: Target) -> str:
    """Return the kind of the models that predict a target."""
    if target.task == REGRESSION:
        return NUMBER
    return MULTICLASS if target.n_classes > 2 else BINARY


def avro_schema(kind: str) -> str:
    """Return the schema of the predictions of models of a kind, as JSON text."""
    predicted = "double" if kind == NUMBER else "string"
    several = {"type": "array", "items": "string"}
    fields = [
        _field("kind", "string"),  # as an enum, Flink SQL could not read it as STRING
        _field("partition", "int"),
        _field("offset", "long"),
        _field("plan", "long"),
        _field("learner", "string"),
        _optional("id", "string"),
        _optional("t", "long"),
        _field("prediction", predicted),
        _field("score", {"type": "array", "items": "double"} if kind == MULTICLASS else "double"),
        _optional("y", predicted),
        *([_optional("low", "double"), _optional("high", "double")] if kind == NUMBER else ()),
        *([_optional("probability", "double"), _optional("set", several)] if kind != NUMBER else ()),
    ]
    record = {"type": "record", "name": NAME, "namespace": NAMESPACE, "doc": DOC, "fields": fields}
    return json.dumps(record, separators=(",", ":"))


def _field(name: str, form: Any) -> dict[str, Any]:
    return {"name": name, "type": form, "doc": MEANINGS[name]}


def _optional(name: str, form: Any) -> dict[str, Any]:
    return {**_field(name, ["null", form]), "default": None}

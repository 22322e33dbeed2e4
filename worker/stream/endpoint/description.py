"""The OpenAPI description of the routes for predictions, made from the routes and the group's settings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.endpoint.routes import JSON, Route
from driftway.worker.wire.codec import PACKED
from driftway.worker.wire.events import REGRESSION
from driftway.worker.wire.registered.json_schema import json_schema

VERSION = "3.1.0"
STATUSES = {
    400: "The request is not understood.",
    401: "The token is missing, or another one.",
    404: "There is no such partition.",
    413: "The body is too large, or the list too long.",
    415: "The content type is not that of the group's events.",
    421: "The partition is another worker's.",
    422: "The event would be rejected; the sentence has the reason.",
    500: "The worker failed to answer; its log says why.",
    503: "The partition is being restored, or has committed nothing yet. Try again.",
}
ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
OFFSET = {"type": "integer", "minimum": 0}


def operations(settings: WorkerSettings, most_bytes: int, most_events: int) -> dict[str, dict[str, Any]]:
    """Return the OpenAPI operation of each route by name."""
    packed = settings.model.form == PACKED
    event = {"type": "string", "format": "binary"} if packed else event_schema(settings)
    body = event if packed else {"oneOf": [event, {"type": "array", "items": event, "maxItems": most_events}]}
    kind = "application/octet-stream" if packed else JSON
    named = {"in": "query", "required": False}
    key = {
        "name": "key",
        **named,
        "schema": {"type": "string"},
        "description": "Key of the events: it chooses the partition as the producer does (murmur2, as Kafka's Java "
        "clients and `driftway replay`).",
    }
    number = {"name": "partition", **named, "schema": OFFSET, "description": "The partition; it wins over the key."}
    return {
        "predict": {
            "operationId": "predict",
            "summary": "Predict events, each as if it came next",
            "description": f"An event as on the topic, at most {most_bytes} bytes, or a list of at most {most_events} "
            "events. Nothing is learned. The prediction is what the worker would emit at `offset`, bit for bit.",
            "parameters": [key, number],
            "requestBody": {"required": True, "content": {kind: {"schema": body}}},
            "responses": responses(answer_schema(settings), STATUSES),
        },
        "model": {
            "operationId": "model",
            "summary": "What this worker's partitions predict with",
            "responses": responses(MODEL, (401,)),
        },
        "openapi": {
            "operationId": "openapi",
            "summary": "This description",
            "security": [],
            "responses": responses({"type": "object"}, ()),
        },
    }


def responses(schema: dict[str, Any], refusals: Iterable[int]) -> dict[str, Any]:
    """Return the responses of an operation: JSON of a schema, or a refusal."""
    refused = {str(status): _content(STATUSES[status], ERROR) for status in refusals}
    return {"200": _content("The answer.", schema), **refused}


def _content(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": text, "content": {JSON: {"schema": schema}}}


def event_schema(settings: WorkerSettings) -> dict[str, Any]:
    """Return the schema of the group's events."""
    events, target = settings.model.events, settings.model.target
    if events is not None:
        paths = ", ".join(str(feature.path) for feature in events.features)
        return {"type": "object", "description": f"An event as the group's schema reads it. Features: {paths}"}
    value = {"type": ["number", "null"]}
    label = {"type": ["number", "null"]} if target.task == REGRESSION else {}
    return {
        "type": "object",
        "required": ["x"],
        "properties": {
            "x": {"oneOf": [{"type": "array", "items": value}, {"type": "object", "additionalProperties": value}]},
            "y": {**label, "description": "Ignored, but repeated in the prediction."},
            "id": {"description": "Repeated in the prediction."},
            "t": {"type": ["integer", "null"]},
        },
    }


def answer_schema(settings: WorkerSettings) -> dict[str, Any]:
    """Return the schema of the answer to a request for predictions."""
    either = {"oneOf": [prediction_schema(settings), ERROR]}
    return {
        "type": "object",
        "required": ["partition", "offset", "plan", "predictions"],
        "properties": {
            "partition": OFFSET,
            "offset": {**OFFSET, "description": "Where the state stands: rows before this offset have been learned."},
            "plan": {"type": "integer", "minimum": 1},
            "predictions": {"type": "array", "minItems": 1, "items": either},
        },
    }


def prediction_schema(settings: WorkerSettings) -> dict[str, Any]:
    """Return the schema of a prediction, as it is on the predictions topic."""
    target = settings.model.target
    found = {name: content for name, content in json_schema(target).items() if name != "$schema"}
    if target.task != REGRESSION:
        one = {"enum": [json.loads(word) for word in target.class_json()]}
        found["properties"] |= {"prediction": one, "set": {"type": "array", "items": one}}
    return found


MODEL = {
    "type": "object",
    "required": ["group", "topic", "partitions_of_topic", "task", "classes", "format", "partitions"],
    "properties": {
        "group": {"type": "string"},
        "topic": {"type": "string"},
        "partitions_of_topic": {"type": ["integer", "null"]},
        "task": {"type": "string"},
        "classes": {"type": ["array", "null"], "items": {"type": "string"}},
        "format": {"type": "string"},
        "partitions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["partition", "state", "offset", "rows", "plan", "champion", "models", "features"],
                "properties": {
                    "partition": OFFSET,
                    "state": {"type": "string"},
                    "offset": {"type": ["integer", "null"]},
                    "rows": OFFSET,
                    "plan": {"type": "integer"},
                    "champion": {"type": "string"},
                    "models": {"type": "array", "items": {"type": "object"}},
                    "features": {"type": "array", "items": {"type": "string"}},
                    "coverage": {"type": ["number", "null"]},
                },
            },
        },
    },
}


def document(routes: Iterable[Route], settings: WorkerSettings, secured: bool) -> dict[str, Any]:
    """Return the description of those routes that have one; `secured`: a token is needed."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if route.described is not None:
            paths.setdefault(route.path, {})[route.method.lower()] = dict(route.described)
    schemes = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": VERSION,
        "info": {"title": f"Driftway, group {settings.group} on {settings.input}", "version": "1"},
        "paths": paths,
        **({"components": {"securitySchemes": schemes}, "security": [{"token": []}]} if secured else {}),
    }

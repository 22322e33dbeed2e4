"""`python -m tests.regenerate.asyncapi`: asyncapi.json, the topics of a group and what is in them.

Predictions have the schemas that workers register. The schemas of all else are read off records that the code writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from driftway.learners.metrics.calibrator import FORM
from driftway.learners.spec import Spec
from driftway.worker.settings.option_values import LabelWait, SharingOption
from driftway.worker.state.model import Model
from driftway.worker.state.model_sharing.exchange_record import ExchangeRecord
from driftway.worker.state.monitoring.confidence import NO_FORM
from driftway.worker.state.monitoring.monitors import StateForm
from driftway.worker.state.outputs import CONTENT_TYPES
from driftway.worker.state.plans.configuration import Configuration
from driftway.worker.state.plans.file_state import FileState
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.wire.codec import JSON, PACKED, encode_events, write_label
from driftway.worker.wire.events import RejectedEvent, Target
from driftway.worker.wire.headers import cloud_event_headers
from driftway.worker.wire.registered.avro_schema import KINDS, avro_schema
from driftway.worker.wire.registered.framing import AVRO, PROTOBUF
from driftway.worker.wire.registered.json_schema import json_schema
from driftway.worker.wire.registered.protobuf_schema import protobuf_schema
from driftway.worker.wire.rejections import KAFKA_STREAMS, RejectionRecord, record_of
from tests.unit.worker.rows import drifting, events, model_settings, records

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "asyncapi.json"
COMMAND = "python -m tests.regenerate.asyncapi"
JSON_FORMAT = "application/schema+json;version=draft-07"
AVRO_FORMAT = "application/vnd.apache.avro+json;version=1.9.0"
PROTOBUF_FORMAT = "application/vnd.google.protobuf;version=3"
NAMED_BY_DATA = {"experts", "drift", "at", "relearn_from", "consumed"}
"""Fields whose own fields are named by learners, detectors or partitions."""
OFFSETS_OR_TIMES = {"t", "better_since", "worse_since"}
"""Integers that may be null, whether a sample shows it or not."""
TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
ROWS = 160


def infer(values: Iterable[Any], name: str = "") -> dict[str, Any]:
    """Return the JSON schema of values, as far as they show it; fractional numbers may be null."""
    known = list(values)
    objects = [one for one in known if isinstance(one, dict)]
    lists = [one for one in known if isinstance(one, list)]
    types = {TYPES[type(one)] for one in known if type(one) in TYPES}
    if "number" in types:
        types = (types - {"integer"}) | {"null"}
    if None in known:
        types.add("null")
    if name in OFFSETS_OR_TIMES:
        types |= {"integer", "null"}
    found: dict[str, Any] = {}
    if lists:
        types.add("array")
        found["items"] = infer([item for one in lists for item in one])
    if objects and name in NAMED_BY_DATA:
        types.add("object")
        found["additionalProperties"] = infer([item for one in objects for item in one.values()])
    elif objects:
        types.add("object")
        keys = list(dict.fromkeys(key for one in objects for key in one))
        found["properties"] = {key: infer([one[key] for one in objects if key in one], key) for key in keys}
        found["required"] = [key for key in keys if all(key in one for one in objects)]
    if not types:
        return {}
    return {"type": types.pop() if len(types) == 1 else sorted(types), **found}


def advanced(*learners: str, form: int = FORM, number: int = 1, **more: Any) -> Any:
    """Return the outputs of a model of plan `number` after ROWS rows.

    With NO_FORM they have no probabilities, as of a group that an earlier version began.
    """
    settings = model_settings(*learners, **more)
    plan = ModelPlan(number, tuple(map(PlannedModel, settings.specs)))
    model = Model(settings, 0, "g", plan)
    model.continue_as(StateForm(True, form))
    return model.advance(records(events(ROWS, regression=more.get("task") == "regression")))


def delayed(**more: Any) -> Any:
    """Return the outputs of a model whose labels come ten rows later."""
    X, y = drifting(ROWS)
    late = encode_events(X, y * float("nan"), 0)
    known = [write_label(i, float(v)) for i, v in enumerate(y) if v == v]
    values = [value for pair in zip(late[10:], known, strict=False) for value in pair]
    learner = "rls" if "task" in more else "pa1"
    model = Model(model_settings(learner, wait=LabelWait(50), **more), 0, "g")
    return model.advance(records([*late[:10], *values]))


@cache
def points() -> tuple[list[Any], list[Any]]:
    """Return accuracy points of classes, and of numbers."""
    detector = (Spec.parse("ddm:min_n=5,warn=0.2,drift=0.5"),)
    of_classes = [
        advanced("pa1", "majority_class", coverage=0.9, detectors=detector),
        advanced("mc_pa1", target=Target(n_classes=3)),
        advanced("dwm", number=2),
        advanced("pa1", form=NO_FORM),
        delayed(accuracy_every=1),
    ]
    of_numbers = [
        advanced(
            "rls",
            "running_mean",
            task="regression",
            coverage=0.9,
            detectors=(Spec.parse("page_hinkley:delta=0,lam=1"),),
        ),
        advanced("rls", task="regression", number=2),
        delayed(accuracy_every=1, task="regression"),
    ]
    parsed = [[json.loads(value) for out in part for _, value in out.points] for part in (of_classes, of_numbers)]
    return parsed[0], parsed[1]


@cache
def alarms() -> list[Any]:
    """Return drift alarms."""
    detector = (Spec.parse("ddm:min_n=5,warn=0.2,drift=0.5"),)
    several = [advanced("pa1", detectors=detector, number=number) for number in (1, 2)]
    found = [json.loads(alarm.value) for out in several for alarm in out.alarms]
    return [{**one, "id": None} for one in found]  # an id is any JSON


@cache
def shares() -> list[Any]:
    """Return exchange records of two partitions, of learners with and without second order."""
    settings = model_settings("dfop:mu=0.01", "pa1", "majority_class", share=SharingOption("average", 20))
    models = [Model(settings, p) for p in range(2)]
    for model in models:
        model.exchange.replay([], 0)
        model.exchange.start(2, {})
    found = []
    for first in range(0, ROWS, 40):
        for p, model in enumerate(models):
            whole = records(events(ROWS, seed=p), partition=p)
            out = model.advance(whole.before(first + 40).after(first))
            found += [json.loads(record.value) for record in out.shares]
            for other in models:
                for record in out.shares:
                    other.exchange.receive(p, len(found), other.exchange.read(record.value), 1000)
    nothing = ExchangeRecord(0, 1, 7, 1, "digest", (None,), (None,))
    return [*found, json.loads(nothing.value)]


def plans() -> list[Any]:
    """Return plans as they are stored."""
    champion, file = PlannedModel(Spec("pa1")), FileState("a.driftway", "0" * 32, 1)
    other = PlannedModel(Spec("arow"), "champion", "warm", True, file, True)
    configuration = Configuration((Spec("ddm"),), 10, 5, 0.9, ("a", "b"))
    several = ModelPlan(2, (champion, other), {0: 7}, 1, "models add arow", configuration, {0: 1})
    return [json.loads(plan.write()) for plan in (several, ModelPlan(1, (champion,)))]


def rejections() -> list[RejectionRecord]:
    """Return a rejected event, a label of another topic that was set aside, an event that was cut, and one with the
    headers of Kafka Streams.
    """
    place = 7, b"?" * 2000, b"k" * 70_000, 1
    event = record_of(RejectedEvent("not JSON", *place, None, (("trace", b"1"),)), "EVENTS", 0)
    label = record_of(RejectedEvent("not JSON", *place, 3, (), True), "EVENTS", 0, "LABELS")
    streams = record_of(RejectedEvent("not JSON", *place, None, ()), "EVENTS", 0, form=KAFKA_STREAMS)
    return [event, label, event.beginning(), streams]


def headers_schema() -> dict[str, Any]:
    """Return the schema of a rejection's headers; those of the event have the prefix ``event.``."""
    found = infer([{name: "" for name, _ in one.headers if not name.startswith("event.")} for one in rejections()])
    return {**found, "patternProperties": {"^event\\.": {"type": "string"}}}


def cloud_event_schema() -> dict[str, Any]:
    """Return the schema of a prediction's headers; those of the event may follow."""
    place = 0, np.array([1]), np.array([1])
    (headers,) = cloud_event_headers("/source", CONTENT_TYPES[JSON], place)
    properties = {name: {"type": "string"} for name, _ in headers}
    return {"type": "object", "description": "With --cloudevents-source.", "properties": properties}


def any_prediction() -> dict[str, Any]:
    """Return the schema of predictions as JSON, for every target."""
    kinds = Target(), Target(n_classes=3), Target("regression", 0)
    label: dict[str, Any] = {"type": ["integer", "number", "string"]}
    parts = []
    for target in kinds:
        one = json_schema(target)
        if target.n_classes:
            one["properties"]["prediction"] = {**one["properties"]["prediction"], **label}
            one["properties"]["y"] = {
                "description": one["properties"]["y"]["description"],
                "type": [*label["type"], "null"],
            }
            one["properties"]["set"]["items"] = label
        parts.append({key: one[key] for key in one if key not in ("$schema", "title", "description")})
    return {"title": "Prediction", "anyOf": parts}


def schemas() -> dict[str, dict[str, Any]]:
    """Return name -> JSON schema of each message that is JSON."""
    of_classes, of_numbers = points()
    event = {
        "type": "object",
        "required": ["x"],
        "properties": {
            "x": {"oneOf": [{"type": "array", "items": {"type": ["number", "null"]}}, {"type": "object"}]},
            "y": {},
            "id": {},
            "t": {"type": ["integer", "null"]},
        },
    }
    alarm = infer(alarms())
    alarm["properties"]["id"] = {}
    return {
        "event": event,
        "label": {"type": "object", "required": ["id", "y"], "properties": {"id": {}, "y": {}}},
        "prediction": any_prediction(),
        "accuracyOfClasses": infer(of_classes),
        "accuracyOfNumbers": infer(of_numbers),
        "alarm": alarm,
        "share": infer(shares()),
        "plan": infer(plans()),
    }


KEYS_OF_EVENTS = "any", "that of the event"
"""What is said of keys that a record may be without."""


def message(name: str, title: str, key: str, payload: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a message; `key` says what the key of its record is."""
    kind = ["string", "null"] if key in KEYS_OF_EVENTS else "string"
    binding = {"kafka": {"key": {"type": kind, "description": key}, "bindingVersion": "0.5.0"}}
    return {"name": name, "title": title, "payload": dict(payload), "bindings": binding, **more}


def messages() -> dict[str, dict[str, Any]]:
    """Return name -> message."""
    json_kind, binary = ({"contentType": CONTENT_TYPES[form].decode()} for form in (JSON, PACKED))
    raw = {"type": "string", "format": "binary"}
    as_it_came = {**raw, "type": ["string", "null"]}

    def reference(name: str) -> dict[str, Any]:
        return {"schemaFormat": JSON_FORMAT, "schema": {"$ref": f"#/components/schemas/{name}"}}

    any_key, of_event = KEYS_OF_EVENTS
    as_cloud_event = {"headers": cloud_event_schema()}
    avro = {
        f"{kind}PredictionInAvro": message(
            "Prediction",
            f"a prediction, --output-format avro, {kind}",
            of_event,
            {"schemaFormat": AVRO_FORMAT, "schema": json.loads(avro_schema(kind))},
            contentType=CONTENT_TYPES[AVRO].decode(),
            **as_cloud_event,
        )
        for kind in KINDS
    }
    protobuf = {
        f"{kind}PredictionInProtobuf": message(
            "Prediction",
            f"a prediction, --output-format protobuf, {kind}",
            of_event,
            {"schemaFormat": PROTOBUF_FORMAT, "schema": protobuf_schema(kind)},
            contentType=CONTENT_TYPES[PROTOBUF].decode(),
            **as_cloud_event,
        )
        for kind in KINDS
    }
    return {
        "event": message("Event", "an event", any_key, reference("event"), **json_kind),
        "label": message("Label", "the label of an earlier event", of_event, reference("label"), **json_kind),
        "prediction": message(
            "Prediction", "a prediction", of_event, reference("prediction"), **json_kind, **as_cloud_event
        ),
        **avro,
        **protobuf,
        "packedPrediction": message(
            "Prediction", "a prediction, --output-format packed", of_event, raw, **binary, **as_cloud_event
        ),
        "accuracyOfClasses": message(
            "AccuracyPoint", "an accuracy point", "LEARNER/PARTITION", reference("accuracyOfClasses"), **json_kind
        ),
        "accuracyOfNumbers": message(
            "AccuracyPoint", "one in regression", "LEARNER/PARTITION", reference("accuracyOfNumbers"), **json_kind
        ),
        "rejection": message(
            "Rejection", "an event or label as it came", of_event, as_it_came, headers=headers_schema(), **binary
        ),
        "alarm": message("DriftAlarm", "a drift", "DETECTOR/PARTITION", reference("alarm"), **json_kind),
        "share": message("ExchangeRecord", "what partitions share", "PARTITION/SLOT", reference("share"), **json_kind),
        "plan": message("ModelPlan", "a plan of the group's models", "its number", reference("plan"), **json_kind),
        "snapshot": message("SnapshotChunk", "part of a state, or a commit", "of Driftway's own", raw, **binary),
    }


IN_FORMATS = tuple(f"{kind}PredictionIn{form}" for form in ("Avro", "Protobuf") for kind in KINDS)
PREDICTED = "prediction", *IN_FORMATS, "packedPrediction"
CHANNELS = {
    "events": ("{events}", "Events, and with --label-wait labels of earlier ones.", ("event", "label"), "receive"),
    "labels": ("{labels}", "With --label-topic: labels of the events.", ("label",), "receive"),
    "predictions": ("{prefix}.predictions", "One for each event.", PREDICTED, "send"),
    "challengers": ("{prefix}.challengers", "With --emit all.", PREDICTED, "send"),
    "accuracy": (
        "{prefix}.accuracy", "Every --accuracy-every rows.", ("accuracyOfClasses", "accuracyOfNumbers"), "send"
    ),
    "rejected": ("{prefix}.rejected", "What cannot be used, with the reason.", ("rejection",), "send"),
    "alarms": ("{prefix}.alarms", "With --detector.", ("alarm",), "send"),
    "shares": ("{prefix}.shares", "With --share-models.", ("share",), "send"),
    "models": ("{prefix}.models", "Plans of `driftway models`.", ("plan",), "receive"),
    "snapshots": ("{prefix}.snapshots", "States and commits; their form may change.", ("snapshot",), "send"),
}  # fmt: skip
"""Name -> address, description, messages, and what a worker does with them."""
PARAMETERS = {
    "events": "Value of --input.",
    "labels": "Value of --label-topic.",
    "prefix": "EVENTS.GROUP, or the value of --output-prefix.",
}


def document() -> dict[str, Any]:
    """Return the AsyncAPI document."""
    channels = {}
    for name, (address, description, parts, _) in CHANNELS.items():
        parameter = address.partition("}")[0].removeprefix("{")
        channels[name] = {
            "address": address,
            "description": description,
            "parameters": {parameter: {"description": PARAMETERS[parameter]}},
            "messages": {part: {"$ref": f"#/components/messages/{part}"} for part in parts},
        }
    operations = {
        f"{action}{name.capitalize()}": {"action": action, "channel": {"$ref": f"#/channels/{name}"}}
        for name, (_, _, _, action) in CHANNELS.items()
    }
    about = f"The topics of a group of `driftway worker`, see topics.md. Made from the code by `{COMMAND}`."
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Driftway", "version": "1", "description": about},
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages(), "schemas": schemas()},
    }


def page() -> str:
    """Return the document as text."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

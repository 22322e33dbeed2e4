"""asyncapi.json is what the code makes, and records of all topics fit it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from driftway.learners.spec import Spec
from driftway.worker.kafka.topics import Topics
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel
from driftway.worker.wire.events import Target
from driftway.worker.wire.rejections import REJECTED_HEADERS, record_of
from tests.regenerate.asyncapi import CHANNELS, COMMAND, PAGE, infer, page
from tests.support.examples import repetitions
from tests.unit.worker.rows import events, model_settings, records
from tests.unit.worker.state.test_model_exchange import GOSSIP, SETTINGS, Group

GOLDEN = Path(__file__).parent / "golden"


@cache
def described() -> dict[str, Any]:
    return json.loads(PAGE.read_text(encoding="utf-8"))


def check(name: str, value: bytes) -> None:
    Draft7Validator(described()["components"]["schemas"][name]).validate(json.loads(value))


def nodes(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from nodes(one)


def test_the_generated_document_is_up_to_date() -> None:
    assert PAGE.exists(), f"make it with: {COMMAND}"
    if PAGE.read_text(encoding="utf-8") != page():
        pytest.fail(f"asyncapi.json differs from the code; make it anew with: {COMMAND}", pytrace=False)


def test_every_reference_resolves_and_every_topic_is_described() -> None:
    whole = described()
    references = [node["$ref"] for node in nodes(whole) if "$ref" in node]
    assert references
    for reference in references:
        place: Any = whole
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]
    addresses = {channel["address"] for channel in whole["channels"].values()}
    topics = Topics("E", "g", "{prefix}").every_output()
    assert {"{events}", "{labels}", *topics} == addresses
    assert set(CHANNELS) == set(whole["channels"])
    for schema in whole["components"]["schemas"].values():
        Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_published_records_fit(path: Path) -> None:
    kind, _, more = path.stem.partition("_")
    of = "accuracyOfNumbers" if more in ("regression", "interval") else "accuracyOfClasses"
    check({"accuracy": of}.get(kind, kind), path.read_bytes())


@pytest.mark.random_cases
@pytest.mark.parametrize(
    ("learners", "more"),
    [
        (("arow", "pa1", "no_change"), {"coverage": 0.5, "target": Target("classification", 2, ("DOWN", "UP"))}),
        (("mc_arow",), {"target": Target(n_classes=4)}),
        (("weighted_majority",), {"detectors": (Spec("page_hinkley"), Spec("adwin"))}),
        (("rls", "no_change"), {"task": "regression", "coverage": 0.5}),
        (("pa1",), {"wait": LabelWait(5)}),
    ],
)
def test_records_of_other_settings_fit(learners: tuple[str, ...], more: dict[str, Any]) -> None:
    settings = model_settings(*learners, emit="all", accuracy_every=1, **more)
    labels, regression = settings.target.labels, "task" in more
    values = events(400, regression=regression)
    if labels:
        values = [value.replace(b'"y":1', b'"y":"UP"').replace(b'"y":0', b'"y":"DOWN"') for value in values]
    out = Model(settings, 3, "g").advance(records([*values, b'{"id":{"a":[1]},"x":[1,2,3,4]}', b"?"]))
    assert len(out.points) >= 300
    every = len(values) // repetitions(len(values), 80)
    for _, value in out.points[::every]:
        check("accuracyOfNumbers" if regression else "accuracyOfClasses", value)
    for found in (out.predictions, *(one.predictions for one in out.challengers)):
        for value in [*found][::every]:
            check("prediction", value or b"")
    for alarm in out.alarms:
        check("alarm", alarm.value)
    assert out.rejected
    said = Draft7Validator(described()["components"]["messages"]["rejection"]["headers"])
    for bad, form in product(out.rejected, REJECTED_HEADERS):
        said.validate({name: (value or b"").decode() for name, value in record_of(bad, "EVENTS", 3, "", form).headers})


def test_a_rejected_tombstone_and_an_event_without_a_key_are_as_described() -> None:
    said = described()["components"]["messages"]
    assert Draft7Validator(said["rejection"]["payload"]).is_valid(None)
    for name in ("event", "label", "prediction", "packedPrediction", "rejection"):
        assert Draft7Validator(said[name]["bindings"]["kafka"]["key"]).is_valid(None), name
    assert not Draft7Validator(said["plan"]["bindings"]["kafka"]["key"]).is_valid(None)


def test_records_of_shared_models_fit() -> None:
    found = [value for log in Group(replace(SETTINGS, share=GOSSIP), 3).run().topic for value in log]
    assert len(found) > 20
    for value in found:
        check("share", value)


def test_plans_fit() -> None:
    models = tuple(map(PlannedModel, (Spec("arow"), Spec("no_change"))))
    for plan in (ModelPlan(3, models, change="promote arow"), ModelPlan(4, models[:1], {0: 1, 1: 2}, 7)):
        check("plan", plan.write())


def test_schemas_are_inferred_from_records() -> None:
    found = infer([{"a": 1, "b": 1.5}, {"a": 2, "c": [{"d": None}, {"d": "x"}], "drift": {"ddm": 1, "adwin": 2}}])
    assert found == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": ["null", "number"]},
            "c": {"type": "array", "items": {"type": "object", "required": ["d"],
                                             "properties": {"d": {"type": ["null", "string"]}}}},
            "drift": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "required": ["a"],
    }  # fmt: skip
    assert not Draft7Validator(found).is_valid({"a": "1"})
    assert Draft7Validator(found).is_valid({"a": 1, "b": None, "drift": {"hddm_a": 7}})

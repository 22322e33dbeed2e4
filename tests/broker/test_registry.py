"""Events with schemas in a real registry: Apicurio, through its Confluent-compatible interface.

Confluent's registry is not in any package registry. Serialized Protobuf schemas as Confluent returns them are tested in
`tests/unit/worker/kafka/test_registry.py`, against a stub.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import Schema

from driftway.worker.errors import Failure, Unreachable, UsageFailure
from driftway.worker.kafka.registry.outputs import TYPES, OutputSchema, OutputSchemas
from driftway.worker.kafka.registry.parser import FORMS, make_parser
from driftway.worker.wire.events import Reject, Target
from tests.support import registered
from tests.support.fixtures import provided_or_skip
from tests.support.registered import QUICK, ROUND_TRIPS
from tests.support.registry import apicurio, client

pytestmark = pytest.mark.slow
"""Apicurio is downloaded once (158 MB)."""


@pytest.fixture(scope="module")
def registry(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from provided_or_skip(request, apicurio, "registry")


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_an_event_written_with_a_real_registry_is_read_unchanged(registry: str, name: str) -> None:
    value, expected = ROUND_TRIPS[name](registry)
    form = name.partition(" ")[0]
    found = make_parser(form, registry, QUICK)(value)
    assert found == expected
    assert repr(found) == repr(make_parser(form, registry, QUICK)(value))


@pytest.mark.parametrize("form", FORMS)
def test_an_unknown_schema_id_is_rejected(registry: str, form: str) -> None:
    with pytest.raises(Reject, match=f"^{form}: no schema 123456 in the registry$"):
        make_parser(form, registry, QUICK)(b"\0" + (123456).to_bytes(4, "big") + b"\0")


def test_a_later_version_changes_nothing_for_earlier_events(registry: str) -> None:
    one = '{"type": "record", "name": "V", "fields": [{"name": "a", "type": "int"}]}'
    two = '{"type": "record", "name": "V", "fields": [{"name": "b", "type": "string", "default": ""}]}'
    client(registry).register_schema("versions-value", Schema(one, "AVRO"))
    first = registered.write_avro(registry, one, {"a": 1}, "versions")
    second = registered.write_avro(registry, two, {"b": "x"}, "versions")
    parse = make_parser("avro", registry, QUICK)
    assert (parse(second), parse(first)) == ({"b": "x"}, {"a": 1})


def test_a_url_that_is_not_a_registry_is_reported(registry: str) -> None:
    with pytest.raises(Failure, match="refused: HTTP 404"):
        make_parser("avro", registry.replace("ccompat", "nothing"), QUICK)(b"\0\0\0\0\1\0")


def test_known_schemas_are_read_after_the_registry_has_ended() -> None:
    with apicurio() as url:
        value, expected = registered.json_schema(url)
        known = make_parser("json-schema", url, QUICK)
        known(value)
    assert known(value) == expected
    with pytest.raises(Unreachable, match="does not answer"):
        make_parser("json-schema", url, QUICK)(value)


def without_last_fields(schema: OutputSchema) -> str:
    """Return a schema of predictions without its last two fields."""
    if schema.form == "protobuf":
        lines = schema.text.splitlines()
        return "\n".join([*lines[:-3], lines[-1]]) + "\n"
    found = json.loads(schema.text)
    if schema.form == "avro":
        return json.dumps({**found, "fields": found["fields"][:-2]})
    found["properties"] = {name: one for name, one in found["properties"].items() if name not in ("low", "high")}
    return json.dumps(found)


@pytest.mark.parametrize("form", FORMS)
def test_schemas_of_predictions_are_registered_once_and_follow_older_ones(registry: str, form: str) -> None:
    topic, numbers = f"{form}.g.predictions", Target("regression", 0)
    ours, subject = OutputSchema.of(form, numbers), f"{form}.g.predictions-value"
    asking, writing = client(registry), OutputSchemas(registry, QUICK)
    first = asking.register_schema(subject, Schema(without_last_fields(ours), TYPES[form]))
    asking.set_compatibility(subject, "BACKWARD")
    assert writing.would_take(topic, ours)
    number = writing.id_of(topic, ours)
    assert number == writing.id_of(topic, ours) != first
    assert asking.get_versions(subject) == [1, 2]
    assert writing.recognises(number, ours)
    assert not writing.recognises(first, ours)
    other = OutputSchema.of(form, Target())
    assert not writing.would_take(topic, other)
    with pytest.raises(UsageFailure, match=f"not compatible with that of {subject}"):
        writing.id_of(topic, other)
    for target in (Target(), Target(n_classes=3), Target("classification", 2, ("UP", "1"))):
        one = OutputSchema.of(form, target)
        name = f"{form}.{target.n_classes}.{len(target.labels)}"
        assert writing.recognises(writing.id_of(name, one), one)

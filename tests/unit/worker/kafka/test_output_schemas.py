"""Registering the schema of predictions: found again, refused, or not possible; calls over HTTP, no real registry."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from confluent_kafka.schema_registry import Schema

from driftway.cli import main
from driftway.worker.errors import Failure, Unreachable, UsageFailure
from driftway.worker.kafka.registry.outputs import TYPES, OutputSchema, OutputSchemas
from driftway.worker.wire.events import Target
from driftway.worker.wire.registered.framing import REGISTERED_OUTPUTS as FORMS
from tests.support.registered import QUICK
from tests.support.registry import Stub, client

TOPIC, SUBJECT = "EVENTS.g.predictions", "EVENTS.g.predictions-value"
BINARY, NUMBERS = Target(), Target("regression", 0)


def id_of(stub: Stub, form: str = "avro", target: Target = BINARY, topic: str = TOPIC) -> int:
    return OutputSchemas(stub.url, QUICK).id_of(topic, OutputSchema.of(form, target))


@pytest.mark.parametrize("form", FORMS)
def test_a_schema_is_registered_once_and_has_the_same_id_at_every_start(stub: Stub, form: str) -> None:
    first = id_of(stub, form)
    assert [id_of(stub, form), id_of(stub, form, topic="EVENTS.g.challengers")] == [first, first]
    assert (len(stub.schemas), stub.versions[SUBJECT]) == (1, [first])
    assert id_of(stub, form, NUMBERS, "OTHER") != first
    kind = {"avro": None, "protobuf": "PROTOBUF", "json-schema": "JSON"}[form]
    assert stub.schemas[0].get("schemaType") == kind


@pytest.mark.parametrize("form", FORMS)
def test_a_read_only_registry_must_already_have_the_schema(stub: Stub, form: str) -> None:
    stub.refusal = 422, {"error_code": 42205, "message": "Subject is in READONLY mode"}
    with pytest.raises(Failure, match=f"does not let the schema of {SUBJECT} be registered: .*READONLY") as caught:
        id_of(stub, form)
    assert caught.value.exit_code == 1
    stub.refusal = None
    first = id_of(stub, form)
    stub.refusal = 403, {"error_code": 40301, "message": "no"}
    assert id_of(stub, form) == first


def test_an_incompatible_subject_is_refused(stub: Stub) -> None:
    stub.refusal = 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
    with pytest.raises(UsageFailure, match=f"not compatible with that of {SUBJECT} in the schema registry") as caught:
        id_of(stub)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_compatibility_is_checked_without_registering(stub: Stub) -> None:
    registry, ours = OutputSchemas(stub.url, QUICK), OutputSchema.of("avro", BINARY)
    assert registry.would_take(TOPIC, ours)
    assert (stub.schemas, stub.versions) == ([], {})
    id_of(stub)
    assert registry.would_take(TOPIC, OutputSchema.of("avro", NUMBERS))
    stub.refusal = 409, {}
    assert not registry.would_take(TOPIC, OutputSchema.of("avro", NUMBERS))
    assert registry.would_take(TOPIC, ours)
    assert len(stub.schemas) == 1


def test_a_missing_or_invalid_registry_is_refused(stub: Stub) -> None:
    with pytest.raises(Unreachable, match="does not answer"):
        OutputSchemas("http://127.0.0.1:9", QUICK).id_of(TOPIC, OutputSchema.of("avro", BINARY))
    stub.status, stub.body = 404, {"error_code": 404, "message": "HTTP 404 Not Found"}
    with pytest.raises(Failure, match="refused: HTTP 404"):
        id_of(stub)
    stub.status, stub.body = 200, {"id": "x", "version": 1, "schema": "{}", "subject": SUBJECT}
    with pytest.raises(Failure, match="not the id of a schema: 'x'"):
        id_of(stub)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("options", "target"),
    [
        ((), BINARY),
        (("--labels", "a,b,c"), Target("classification", 3, ("a", "b", "c"))),
        (("--task", "regression"), NUMBERS),
    ],
)
def test_the_printed_schema_equals_the_one_looked_up(
    stub: Stub, form: str, options: tuple[str, ...], target: Target
) -> None:
    printed = CliRunner().invoke(main, ["schema", "predictions", "--output-format", form, *options])
    assert printed.exit_code == 0, printed.output
    by_hand = Schema(printed.stdout.removesuffix("\n"), TYPES[form])
    number = client(stub.url).register_schema(SUBJECT, by_hand)
    stub.refusal = 422, {"error_code": 42205, "message": "read-only"}
    assert id_of(stub, form, target) == number


def test_a_schema_is_recognised_by_its_content(stub: Stub) -> None:
    number = id_of(stub)
    registry = OutputSchemas(stub.url, QUICK)
    assert registry.recognises(number, OutputSchema.of("avro", BINARY))
    assert not registry.recognises(number, OutputSchema.of("avro", NUMBERS))
    assert not registry.recognises(number, OutputSchema.of("json-schema", BINARY))
    assert not registry.recognises(99, OutputSchema.of("avro", BINARY))
    spaced = stub.add(schema=json.dumps(json.loads(stub.schemas[0]["schema"]), indent=1))
    assert registry.recognises(spaced, OutputSchema.of("avro", BINARY))
    assert not registry.recognises(stub.add(schema="{"), OutputSchema.of("avro", BINARY))
    message = OutputSchema.of("protobuf", BINARY)
    assert registry.recognises(stub.add(schema=message.text.replace("\n", "\n\n"), schemaType="PROTOBUF"), message)
    assert not registry.recognises(number, message)

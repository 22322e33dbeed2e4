"""Events with schemas in a real registry: Apicurio, through its Confluent-compatible interface.

Confluent's own registry is in no package registry. Serialized Protobuf schemas as Confluent returns them are tested in
`tests/unit/worker/kafka/test_registry.py`, against a stub.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import Schema

from driftway.worker.errors import Failure, Unreachable
from driftway.worker.kafka.registry.parser import FORMS, make_parser
from driftway.worker.wire.events import Reject
from tests.support import registered
from tests.support.fixtures import provided_or_skip
from tests.support.registered import QUICK, ROUND_TRIPS
from tests.support.registry import apicurio, client

pytestmark = pytest.mark.slow
"""Apicurio is a download of 158 MB, made once."""


@pytest.fixture(scope="module")
def registry(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from provided_or_skip(request, apicurio, "registry")


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_round_trip(registry: str, name: str) -> None:
    value, expected = ROUND_TRIPS[name](registry)
    form = name.partition(" ")[0]
    found = make_parser(form, registry, QUICK)(value)
    assert found == expected
    assert repr(found) == repr(make_parser(form, registry, QUICK)(value))


@pytest.mark.parametrize("form", FORMS)
def test_an_unknown_id(registry: str, form: str) -> None:
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


def test_a_path_that_is_no_registry(registry: str) -> None:
    with pytest.raises(Failure, match="refused: HTTP 404"):
        make_parser("avro", registry.replace("ccompat", "nothing"), QUICK)(b"\0\0\0\0\1\0")


def test_what_is_known_is_read_after_the_registry_has_gone() -> None:
    with apicurio() as url:
        value, expected = registered.json_schema(url)
        known = make_parser("json-schema", url, QUICK)
        known(value)
    assert known(value) == expected
    with pytest.raises(Unreachable, match="does not answer"):
        make_parser("json-schema", url, QUICK)(value)

"""Parses events in Confluent's wire format to plain objects: a zero byte, the schema's id in 4 bytes, the value.

Parsing is deterministic: an id always means the same schema, and only a definite answer of the registry rejects an
event. Producers register a schema before they use it, so an id that the registry does not know is invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.registry import avro, json_schema, protobuf
from driftway.worker.kafka.registry.schemas import FORMAT, INSTALL, Schemas, Unusable
from driftway.worker.wire.codec import parse_exactly
from driftway.worker.wire.events import Reject
from driftway.worker.wire.registered.framing import (
    AVRO,
    HEADER_BYTES,
    JSON_SCHEMA,
    MAGIC,
    PROTOBUF,
    REGISTERED_OUTPUTS,
    schema_id_of,
)

FORMS = REGISTERED_OUTPUTS
MAKERS: Mapping[str, Callable[[Schemas, int], Callable[[bytes], Any]]] = {
    AVRO: avro.make_reader,
    PROTOBUF: protobuf.make_reader,
    JSON_SCHEMA: json_schema.make_reader,
}
NEEDS = {AVRO: "fastavro", PROTOBUF: "confluent_kafka.schema_registry.protobuf", JSON_SCHEMA: "jsonschema"}
"""Module that decodes each format; imported at the start, so that no event waits for it or finds it missing."""
NO_PREFIX = "a zero byte and the schema's id of four bytes must come first, not in a header"
MAX_REFUSED = 10_000
"""Number of unusable schema ids to remember; a topic of arbitrary bytes has ever new ones."""


class Parser:
    """Parses events of one format.

    Parameters
    ----------
    form : str
        ``avro``, ``protobuf`` or ``json-schema``.
    schemas : Schemas
        The registry.
    """

    def __init__(self, form: str, schemas: Schemas) -> None:
        self._form, self._schemas = form, schemas
        self.exactly = (lambda value: parse_exactly(value[HEADER_BYTES:])) if form == JSON_SCHEMA else None
        """See `driftway.worker.wire.codec.parse_event`; only JSON holds numbers that `__call__` rounds."""
        self._readers: dict[int, Callable[[bytes], Any]] = {}
        self._refused: dict[int, str] = {}

    def __call__(self, value: bytes) -> Any:
        """Parse an event to a plain object: dict, list, str, int, float, bool and None.

        Raises
        ------
        Reject
            The event cannot be read.
        Unreachable
            The registry does not answer.
        Failure
            The registry refuses to answer, or is no registry.
        """
        if len(value) < HEADER_BYTES or value[0] != MAGIC:
            raise Reject(f"{self._form}: {FORMAT}: {NO_PREFIX}")
        number = schema_id_of(value)
        try:
            return self._reader(number)(value)
        except Unusable as bad:
            raise Reject(f"{self._form}: {bad}") from None

    def _reader(self, number: int) -> Callable[[bytes], Any]:
        known = self._readers.get(number)
        if known is not None:
            return known
        if number in self._refused:
            raise Unusable(self._refused[number])
        try:
            made = MAKERS[self._form](self._schemas, number)
        except Unusable as bad:
            if len(self._refused) >= MAX_REFUSED:
                self._refused.clear()
            self._refused[number] = str(bad)
            raise
        self._readers[number] = made
        return made


def make_parser(form: str, url: str, properties: Mapping[str, str]) -> Parser:
    """Create a parser of events of a format.

    Parameters
    ----------
    form : str
        ``avro``, ``protobuf`` or ``json-schema``.
    url : str
        URL of the registry.
    properties : mapping
        Further properties of confluent-kafka's SchemaRegistryClient, as text, and ``validate``.

    Raises
    ------
    UsageFailure
        There is no such format, or as `Schemas`.
    Failure
        The extra is not installed.
    """
    if form not in FORMS:
        raise UsageFailure(f"format {form} uses no schema registry: {', '.join(FORMS)} do")
    schemas = Schemas(url, properties)
    try:
        import_module(NEEDS[form])
    except ImportError:
        raise Failure(f"events in {form} need additional packages: {INSTALL}") from None
    return Parser(form, schemas)


@cache
def parser_of(form: str, url: str, properties: tuple[tuple[str, str], ...]) -> Parser:
    """Return one parser for all partitions of a process; see `make_parser`."""
    return make_parser(form, url, dict(properties))

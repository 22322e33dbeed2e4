"""Register the schema of a group's predictions, and recognise it."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any, NamedTuple

from driftway.worker.errors import Failure, UsageFailure
from driftway.worker.kafka.registry.schemas import Schemas, Unusable
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.events import Target
from driftway.worker.wire.registered.avro_schema import avro_schema, kind_of
from driftway.worker.wire.registered.framing import AVRO, JSON_SCHEMA, MAX_ID, PROTOBUF
from driftway.worker.wire.registered.json_schema import json_schema_text
from driftway.worker.wire.registered.protobuf_schema import protobuf_schema

TYPES = {AVRO: "AVRO", PROTOBUF: "PROTOBUF", JSON_SCHEMA: "JSON"}
"""Format of predictions -> type of the schema in the registry."""
NOT_ALLOWED, INCOMPATIBLE, NOT_ACCEPTED = (401, 403), 409, 422
"""HTTP statuses of a registry that does not register a schema; the last one also if it is read-only."""


class OutputSchema(NamedTuple):
    """A schema of predictions."""

    form: str
    text: str

    @classmethod
    def of(cls, form: str, target: Target) -> OutputSchema:
        """Return that of the predictions of a target in a format, one of REGISTERED_OUTPUTS."""
        if form == JSON_SCHEMA:
            return cls(form, json_schema_text(target))
        return cls(form, (avro_schema if form == AVRO else protobuf_schema)(kind_of(target)))

    def is_same(self, text: str) -> bool:
        """Whether a text is this schema, apart from white space."""
        if self.form == PROTOBUF:
            return text.split() == self.text.split()
        try:
            return bool(read_json(text.encode()) == read_json(self.text.encode()))
        except ValueError:
            return False


def subject_of(topic: str) -> str:
    """Return the subject of a topic's values, as TopicNameStrategy names it."""
    return f"{topic}-value"


class OutputSchemas(Schemas):
    """A registry in which schemas of predictions are registered; parameters and errors as `Schemas`."""

    def id_of(self, topic: str, schema: OutputSchema) -> int:
        """Return the id of a schema under a topic's subject, where it is registered unless it is already there.

        Raises
        ------
        UsageFailure
            It is not compatible with what is registered there.
        Unreachable, Failure
            The registry does not answer, or does not let it be registered.
        """
        from confluent_kafka.schema_registry import Schema

        subject, wanted = subject_of(topic), Schema(schema.text, TYPES[schema.form])
        try:
            found = self._ask(partial(self._look_up, subject, wanted), None, "")
        except Unusable:
            found = self._ask(partial(self._register, subject, wanted), None, "")
        if not isinstance(found, int) or not 0 < found <= MAX_ID:
            raise Failure(
                f"the answer of the schema registry at {self._where} is not the id of a schema: {found!r:.40}"
            )
        return found

    def would_take(self, topic: str, schema: OutputSchema) -> bool:
        """Whether a schema is under a topic's subject, or compatible with the newest one there; registers nothing.

        Raises
        ------
        Unreachable, Failure
            The registry does not answer, or refuses to.
        """
        from confluent_kafka.schema_registry import Schema

        subject, wanted = subject_of(topic), Schema(schema.text, TYPES[schema.form])
        with contextlib.suppress(Unusable):
            return bool(self._ask(partial(self._look_up, subject, wanted), None, ""))
        with contextlib.suppress(Unusable):
            return bool(self._ask(partial(self._test, subject, wanted), None, ""))
        return True  # there is no such subject

    def recognises(self, number: int, schema: OutputSchema) -> bool:
        """Whether the schema with an id is this one.

        Raises
        ------
        Unreachable, Failure
            The registry does not answer, or refuses to.
        """
        try:
            return schema.is_same(self.by_id(number).schema_str)
        except Unusable:
            return False

    def _look_up(self, subject: str, wanted: Any, fmt: None) -> Any:
        return self._client.lookup_schema(subject, wanted).schema_id

    def _test(self, subject: str, wanted: Any, fmt: None) -> Any:
        return self._client.test_compatibility(subject, wanted)

    def _register(self, subject: str, wanted: Any, fmt: None) -> Any:
        from confluent_kafka.schema_registry import SchemaRegistryError

        try:
            return self._client.register_schema(subject, wanted)
        except SchemaRegistryError as error:
            status = error.http_status_code
            if status not in (*NOT_ALLOWED, INCOMPATIBLE, NOT_ACCEPTED):
                raise
            said = self._scrubbed(error)
            if status == INCOMPATIBLE:
                raise UsageFailure(
                    f"the schema of the predictions is not compatible with that of {subject} in the schema registry at "
                    f"{self._where}: give another --output-prefix, or delete the subject ({said})"
                ) from None
            raise Failure(
                f"the schema registry at {self._where} does not let the schema of {subject} be registered: register it "
                f"otherwise, `driftway schema predictions` prints it ({said})"
            ) from None

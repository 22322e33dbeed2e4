"""Schemas as the registry has them, and what its answers mean.

An event is only to blame for what the registry knows for sure: that it has no such schema. Whatever else goes wrong
between here and the registry stops the worker, since after an outage the same event would have been read.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from driftway.worker.errors import Failure, Unreachable, UsageFailure
from driftway.worker.kafka.client_config import scrubbed, without_userinfo

HEADER_BYTES = 5
"""A zero and the schema's id, before a value."""
FORMAT, MISFIT = "not in the registry's format", "value does not fit its schema"
"""Why an event cannot be read, in all forms."""

INSTALL = "pip install 'driftway[registry]'"
TIMEOUT_SECONDS = 10.0
"""Of one request; the client itself would wait for ever. It asks four times before it gives up."""
NUMBERS = frozenset(
    ("timeout", "cache.capacity", "cache.latest.ttl.sec", "max.retries", "retries.wait.ms", "retries.max.wait.ms")
)
"""Properties that the client wants as numbers."""
USER_INFO, VALIDATE = "basic.auth.user.info", "validate"
SERIALIZED = "serialized"
"""How Protobuf schemas are asked for: as a FileDescriptorProto in base64."""
SECOND_ASKING_SECONDS = 0.5
"""A follower of several registries learns of a schema a little later than the producer who has registered it."""
PATIENCE_SECONDS = 60.0
"""Between two such second askings: a topic of nothing but unknown ids must not keep the worker from polling."""
BUSY = frozenset((408, 429, 500, 502, 503, 504))
"""HTTP statuses of a registry that may answer later; the client has already asked again."""
SERVER_ERROR = 500


class Unusable(Exception):
    """A schema, or a value under it, cannot be used; the message says why."""


class Schemas:
    """What a registry says of schemas.

    Parameters
    ----------
    url : str
        Of the registry, ``http://HOST:PORT`` or ``https://..``; several are separated by commas.
    properties : mapping
        Further properties of confluent-kafka's SchemaRegistryClient, as text, and ``validate``: whether JSON is held
        against its schema, ``true`` or ``false``.

    Raises
    ------
    UsageFailure
        The URL or a property is not valid.
    Failure
        The extra is not installed.
    """

    def __init__(self, url: str, properties: Mapping[str, str]) -> None:
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient
        except ImportError:
            raise Failure(f"a schema registry needs further packages: {INSTALL}") from None
        self._where = without_userinfo(url)
        self.validate, rest = _validate(properties)
        self._properties = client_properties(url, rest)
        self._patient_from = 0.0
        try:
            self._client = SchemaRegistryClient(self._properties)
        except Exception as error:  # of the client, of ssl and of files
            raise UsageFailure(f"registry property refused: {self._scrubbed(error)}") from None
        weakref.finalize(self, self._client.close)  # it keeps a connection

    def by_id(self, number: int, form: str | None = None) -> Any:
        """The schema of an id, which never changes.

        Raises
        ------
        Unusable
            The registry does not have it.
        Unreachable, Failure
            It does not answer, or refuses to.
        """
        missing, get = f"no schema {number} in the registry", partial(self._client.get_schema, number)
        try:
            return self._ask(get, form, missing)
        except Unusable:
            now = time.monotonic()
            if now < self._patient_from:
                raise
            self._patient_from = now + PATIENCE_SECONDS
        time.sleep(SECOND_ASKING_SECONDS)
        return self._ask(get, form, missing)

    def referred(self, schema: Any, form: str | None = None, found: dict[str, Any] | None = None) -> dict[str, Any]:
        """Name -> schema of all that a schema refers to, each behind what it refers to itself.

        Raises
        ------
        Unusable
            The registry does not have one of them.
        Unreachable, Failure
            As `by_id`.
        """
        found = {} if found is None else found
        for reference in schema.references or ():
            name, subject, version = reference.name, reference.subject, reference.version
            if name not in found:
                missing = f"no version {version} of {subject} in the registry"
                told = self._ask(partial(self._client.get_version, subject, version, True), form, missing)
                self.referred(told.schema, form, found)
                found[name] = told.schema
        return found

    def _ask(self, question: Callable[..., Any], form: str | None, missing: str) -> Any:
        """The answer to a question; `missing` is what to say if the registry does not have what is asked for."""
        from confluent_kafka.schema_registry import SchemaRegistryError

        try:
            try:
                return question(fmt=form)
            except SchemaRegistryError as error:
                if form is None or error.http_status_code != SERVER_ERROR:
                    raise
            # Apicurio cannot serialize what was registered serialized, as by the Python client; it gives it as it is.
            return question()
        except SchemaRegistryError as error:
            status, code = error.http_status_code, error.error_code or 0
            # 40401 to 40403 are the registry's own codes; a 404 without is of a server that is no registry.
            if status == 404 and code // 100 == 404:
                raise Unusable(missing) from None
            if status in BUSY:
                raise Unreachable(f"the schema registry at {self._where} does not answer: HTTP {status}") from None
            raise Failure(f"the schema registry at {self._where} refused: HTTP {status}") from None
        except Exception as error:  # of the network, of a token's issuer, of an answer that is no JSON
            raise Unreachable(
                f"the schema registry at {self._where} does not answer: {self._scrubbed(error)}"
            ) from None

    def text_only(self, number: int) -> Failure:
        """What to raise where a registry does not serialize Protobuf schemas."""
        return Failure(
            f"the schema registry at {self._where} gives schema {number} as text only: Protobuf needs one that answers "
            f"format={SERIALIZED}"
        )

    def _scrubbed(self, error: Exception) -> str:
        return scrubbed(" ".join(str(error).split()), self._properties)[:200] or type(error).__name__


def _validate(properties: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
    """Whether to validate, and the other properties."""
    said = properties.get(VALIDATE, "true")
    if said not in ("true", "false"):
        raise UsageFailure(f"registry property {VALIDATE}={said}: say true or false")
    return said == "true", {key: value for key, value in properties.items() if key != VALIDATE}


def client_properties(url: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """What the client is made of. User and password leave the URL, which others log.

    Raises
    ------
    UsageFailure
        The URL is none, or a number is none.
    """
    if "url" in properties:
        raise UsageFailure("registry property url cannot be set: use --registry")
    made: dict[str, Any] = {"timeout": TIMEOUT_SECONDS, **properties}
    for key in NUMBERS & properties.keys():
        try:
            made[key] = float(properties[key])
        except ValueError:
            raise UsageFailure(f"registry property {key}={properties[key]}: say a number") from None
    bare = []
    for one in url.split(","):
        try:
            parts = urlsplit(one.strip())
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # a port that is no number, brackets that are no address
            known = None
        if not known:
            raise UsageFailure(f"registry {without_userinfo(one.strip())!r}: say http://HOST:PORT or https://HOST:PORT")
        user, at, host = parts.netloc.rpartition("@")
        if at and USER_INFO in properties:
            raise UsageFailure(f"registry property {USER_INFO} contradicts the user in the URL")
        if at:
            made[USER_INFO] = unquote(user)
        bare.append(f"{parts.scheme}://{host}{parts.path}")
    return {**made, "url": ",".join(bare)}

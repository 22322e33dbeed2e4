"""Schemas from the registry, and the meaning of its answers.

An event is rejected only if the registry answers definitely that it has no such schema. Any other failure stops the
worker, because the same event could be read after an outage.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

from driftway.worker.errors import Failure, Unreachable, UsageFailure
from driftway.worker.kafka.client_config import scrubbed, without_userinfo
from driftway.worker.kafka.deadline import on_thread

FORMAT, MISFIT = "not in the registry's format", "value does not fit its schema"
"""Why an event cannot be read, common to all formats."""

INSTALL = "pip install 'driftway[registry]'"
TIMEOUT_SECONDS = 10.0
"""Timeout of one request; the client's default is none. It makes four attempts before it gives up."""
NUMBERS = frozenset(
    ("timeout", "cache.capacity", "cache.latest.ttl.sec", "max.retries", "retries.wait.ms", "retries.max.wait.ms")
)
"""Properties that the client requires as numbers."""
USER_INFO, VALIDATE = "basic.auth.user.info", "validate"
SERIALIZED = "serialized"
"""Format in which Protobuf schemas are requested: a FileDescriptorProto in base64."""
ATTEMPTS_SECONDS, LONGEST_SECONDS = 6.0, 3600.0
"""Bound of a whole answer with all attempts, for each second of a request's timeout, and in any case."""
MAX_CHARACTERS = 4_000_000
"""Maximum number of characters of a schema; decoding this many takes seconds."""
DEEPEST_REFERENCE, MAX_REFERENCES = 50, 500
"""Bounds of the schemas that one refers to, directly or through others."""
MAX_SHOWN = 60
"""Characters of a name in a message."""
SECOND_ASKING_SECONDS = 0.5
"""Pause before a retry: in a registry cluster a follower gets a new schema a little later than it is registered."""
PATIENCE_SECONDS = 60.0
"""Least time between two such retries: a topic of nothing but unknown ids must not keep the worker from polling."""
BUSY = frozenset((408, 429, 500, 502, 503, 504))
"""HTTP statuses of a registry that may answer later; the client has already retried."""
SERVER_ERROR = 500


class Unusable(Exception):
    """A schema, or a value under it, cannot be used; the message says why."""


class Schemas:
    """A client of a schema registry.

    Parameters
    ----------
    url : str
        URL of the registry, ``http://HOST:PORT`` or ``https://..``; several are separated by commas.
    properties : mapping
        Further properties of confluent-kafka's SchemaRegistryClient, as text, and ``validate``: whether to validate
        JSON against its schema, ``true`` or ``false``.

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
            raise Failure(f"a schema registry needs additional packages: {INSTALL}") from None
        self._where = without_userinfo(url)
        self.validate, rest = _validate(properties)
        self._properties = client_properties(url, rest)
        self._patient_from = 0.0
        urls = self._properties["url"].split(",")
        try:  # each URL has a client: one with several asks them in their order every time, even those that are dead
            self._clients = deque(SchemaRegistryClient(self._properties | {"url": one}) for one in urls)
        except Exception as error:  # from the client, ssl or files
            raise UsageFailure(f"registry property refused: {self._scrubbed(error)}") from None
        for client in self._clients:
            weakref.finalize(self, client.close)  # it keeps a connection open

    @property
    def _client(self) -> Any:
        """The client of the URL that answered last, of the first one to begin with."""
        return self._clients[0]

    def by_id(self, number: int, form: str | None = None) -> Any:
        """Return the schema with an id, which never changes.

        Raises
        ------
        Unusable
            The registry does not have it.
        Unreachable, Failure
            The registry does not answer, or refuses to.
        """
        missing, get = f"no schema {number} in the registry", partial(self._call, "get_schema", number)
        try:
            return self._sound(self._ask(get, form, missing))
        except Unusable:
            now = time.monotonic()
            if now < self._patient_from:
                raise
            self._patient_from = now + PATIENCE_SECONDS
        time.sleep(SECOND_ASKING_SECONDS)
        return self._sound(self._ask(get, form, missing))

    def referred(self, schema: Any, form: str | None = None) -> dict[str, Any]:
        """Return name -> schema of all that a schema refers to, each after those that it refers to itself.

        Raises
        ------
        Unusable
            The registry does not have one of them, or they are in a circle, or too many.
        Unreachable, Failure
            As `by_id`.
        """
        found: dict[str, Any] = {}
        self._add_referred(schema, form, found, ())
        return found

    def _add_referred(self, schema: Any, form: str | None, found: dict[str, Any], around: tuple[str, ...]) -> None:
        """Add what a schema refers to; `around` are the names through which it was found."""
        for reference in schema.references or ():
            name, subject, version = reference.name, reference.subject, reference.version
            if name in around:
                raise Unusable(f"schemas refer to {name[:MAX_SHOWN]} in a circle")
            if len(around) >= DEEPEST_REFERENCE or len(found) >= MAX_REFERENCES:
                raise Unusable(f"a schema refers to others more than {DEEPEST_REFERENCE} deep, or {MAX_REFERENCES}")
            if name not in found:
                missing = f"no version {version} of {subject} in the registry"
                get = partial(self._call, "get_version", subject, version, True)
                answer = self._sound(self._ask(get, form, missing).schema)
                self._add_referred(answer, form, found, (*around, name))
                found[name] = answer

    def _sound(self, schema: Any) -> Any:
        """Return a schema from an answer, once its types and sizes have been checked.

        Raises
        ------
        Unusable
            It is too large.
        Failure
            It has other types than a schema: the server is no registry.
        """
        references = schema.references or ()
        sound = (
            isinstance(schema.schema_str, str)
            and isinstance(schema.schema_type, str | None)
            and isinstance(references, list | tuple)
            and all(isinstance(one.name, str) and isinstance(one.subject, str) for one in references)
            and all(isinstance(one.version, int) for one in references)
        )
        if not sound:
            raise Failure(f"the answer of the schema registry at {self._where} is not a schema")
        if len(schema.schema_str) > MAX_CHARACTERS:
            raise Unusable(f"a schema has {len(schema.schema_str):,} characters, more than {MAX_CHARACTERS:,}")
        return schema

    def _call(self, method: str, *given: Any, fmt: str | None = None) -> Any:
        return getattr(self._client, method)(*given, fmt=fmt)

    def _ask(self, question: Callable[..., Any], form: str | None, missing: str) -> Any:
        """Return the registry's answer; `missing` is the message if it does not have what is requested."""
        for _ in range(len(self._clients) - 1):
            with suppress(Unreachable):
                return self._ask_one(question, form, missing)
            self._clients.rotate(-1)
        return self._ask_one(question, form, missing)

    def _ask_one(self, question: Callable[..., Any], form: str | None, missing: str) -> Any:
        """As `_ask`, of one URL."""
        from confluent_kafka.schema_registry import SchemaRegistryError

        question = partial(_in_time, question, min(ATTEMPTS_SECONDS * self._properties["timeout"], LONGEST_SECONDS))
        try:
            try:
                return question(fmt=form)
            except SchemaRegistryError as error:
                if form is None or error.http_status_code != SERVER_ERROR:
                    raise
            # Apicurio cannot serialize what was registered serialized, as by the Python client, but returns it as is.
            return question()
        except SchemaRegistryError as error:
            status, code = error.http_status_code, error.error_code or 0
            # 40401 to 40403 are the registry's own codes; a 404 without one comes from a server that is no registry.
            if status == 404 and code // 100 == 404:
                raise Unusable(missing) from None
            if status in BUSY:
                raise Unreachable(f"the schema registry at {self._where} does not answer: HTTP {status}") from None
            raise Failure(f"the schema registry at {self._where} refused: HTTP {status}") from None
        except Failure:
            raise
        except Exception as error:  # from the network, a token's issuer, or an answer that is not JSON
            raise Unreachable(
                f"the schema registry at {self._where} does not answer: {self._scrubbed(error)}"
            ) from None

    def text_only(self, number: int) -> Failure:
        """Return the error for a registry that does not serialize Protobuf schemas."""
        return Failure(
            f"the schema registry at {self._where} returns schema {number} as text only: Protobuf needs one with "
            f"format={SERIALIZED}"
        )

    def _scrubbed(self, error: Exception) -> str:
        return scrubbed(" ".join(str(error).split()), self._properties)[:200] or type(error).__name__


def _in_time(question: Callable[..., Any], seconds: float, **given: Any) -> Any:
    """Return the answer to a question, which may take so many seconds, all attempts together.

    The client's timeout is for each piece of an answer: a server that sends a byte now and then would never reach it.

    Raises
    ------
    TimeoutError
        It took longer; its thread is abandoned.
    """
    try:
        return on_thread(partial(question, **given), "driftway-registry").result(seconds)
    except TimeoutError:
        raise TimeoutError(f"no whole answer within {seconds:g} s") from None


def _validate(properties: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
    """Return whether to validate, and the other properties."""
    flag = properties.get(VALIDATE, "true")
    if flag not in ("true", "false"):
        raise UsageFailure(f"registry property {VALIDATE}={flag}: write true or false")
    return flag == "true", {key: value for key, value in properties.items() if key != VALIDATE}


def client_properties(url: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the properties of the registry's client. User and password are moved out of the URL, as URLs get logged.

    Raises
    ------
    UsageFailure
        The URL or a property is not valid.
    """
    if "url" in properties:
        raise UsageFailure("registry property url cannot be set: use --registry")
    made: dict[str, Any] = {"timeout": TIMEOUT_SECONDS, **properties}
    for key in NUMBERS & properties.keys():
        try:
            made[key] = float(properties[key])
        except ValueError:
            raise UsageFailure(f"registry property {key}={properties[key]}: write a number") from None
    bare = []
    for one in url.split(","):
        try:
            parts = urlsplit(one.strip())
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # a port that is not a number, brackets without an address
            known = None
        if not known:
            raise UsageFailure(
                f"registry {without_userinfo(one.strip())!r}: write http://HOST:PORT or https://HOST:PORT"
            )
        user, at, host = parts.netloc.rpartition("@")
        if at and USER_INFO in properties:
            raise UsageFailure(f"registry property {USER_INFO} contradicts the user in the URL")
        if at:
            made[USER_INFO] = unquote(user)
        bare.append(f"{parts.scheme}://{host}{parts.path}")
    return {**made, "url": ",".join(bare)}

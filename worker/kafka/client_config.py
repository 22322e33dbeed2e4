"""Client properties: what users may pass through, what Driftway owns, what is never shown. Leaf module."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import re
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from driftway.worker.errors import (
    Failure,
    Unreachable,
    UsageFailure,
    file_shortage,
    read_file,
    require_threads,
    with_file_shortage,
)

Properties = dict[str, Any]


class Throttling:
    """How long a broker has delayed its answers to this process because of a quota, as it said itself."""

    def __init__(self) -> None:
        self._until, self._seconds = float("-inf"), 0.0

    def note(self, event: Any) -> None:
        """A client's `throttle_cb`."""
        if event.throttle_time > 0:
            self._until, self._seconds = time.monotonic() + event.throttle_time, event.throttle_time

    @property
    def words(self) -> str:
        """For messages: that a broker has delayed its answers within the last minute; else nothing."""
        if time.monotonic() > self._until + RECENT_SECONDS:
            return ""
        return (
            f"; a quota delays the broker's answers, last by {self._seconds:.0f} s, and a batch larger than some ten "
            "seconds of consumer_byte_rate never arrives: raise it to 150,000 or more"
        )


RECENT_SECONDS = 60.0
THROTTLING = Throttling()


class ClientConfig(Protocol):
    """What a client needs to know: cluster, group and further properties. `WorkerSettings` is one."""

    @property
    def bootstrap(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def passthrough(self) -> Properties: ...


READER: Properties = {
    "group.id": "driftway-reader",  # the client requires one; assign() never joins a group
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
}
"""Properties of a reader of whole logs, which joins no group and commits nothing."""
CONSUMER_TUNING: Properties = {
    # With the default back-off of 1 s a consumer that drains its queue waits; see docs/kafka.md#fetch-settings.
    "fetch.queue.backoff.ms": 5,
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 16_384,  # more would only keep memory after a backlog
    "fetch.wait.max.ms": 10,
    "topic.metadata.refresh.interval.ms": 10_000,  # how late new partitions of the input are noticed
    "statistics.interval.ms": 5_000,  # how late it is noticed that the client has lost all brokers
}
QUEUE_MESSAGES = 200_000
"""Capacity of a producer's queue in records: several batches of the loop, some tens of MB."""
PRODUCER_TUNING: Properties = {
    # By default the client forgets all brokers when none is connected, and `send_offsets_to_transaction` then waits
    # forever for one of them (librdkafka 5511). If brokers have moved, the next producer finds them.
    "metadata.recovery.strategy": "none",
    # `send_offsets_to_transaction` returns when its request has ended, whatever its own timeout. With the client's 60 s
    # an abandoned commit keeps its threads and descriptors for one or two minutes. A commit that gets no answer for
    # this long is given up (docs/decisions/0011).
    "socket.timeout.ms": 20_000,
    # Nothing is visible before its commit, whose flush does not linger, so requests may as well be full. Only one per
    # partition is in flight at a time; while another is ready, the client's thread spins instead of waiting
    # (docs/decisions/0029).
    "linger.ms": 100,
    "compression.type": "none",
    "queue.buffering.max.messages": QUEUE_MESSAGES,
    # Never the limit that is reached first: a record refused in the middle of a batch would leave a gap.
    "queue.buffering.max.kbytes": 1_048_576,
}
REACH_SECONDS = 7.0
"""How long to try to reach a broker before giving up; below the promised 10 s."""
ONE_QUESTION = {"socket.connection.setup.timeout.ms": 3000, "metadata.recovery.strategy": "none"}
"""Properties for `require_broker`: an address that does not answer is an error before the time is over, after which the
client does not go back to that given."""
ANY_TOPIC = "__consumer_offsets"
"""Asked for second, when the client connects to the address that the broker advertises, and no longer to that given."""
ADVERTISED = re.compile(r"(?:\w+://)?(?P<address>\S+:\d+)/\d+: (?P<reason>.+?)(?: \(after|$)")
"""A client's error about an address that a broker advertises: it has the broker's id, others ``bootstrap``."""

LARGEST_BATCH = 1_000_000_000
"""Largest answer of a broker, and by this also the largest zstd batch that the client decompresses, in bytes. The
client's default of 100 MB refuses a record of 90 MB, however small the producer has compressed it."""
RECONNECT_MS = 1000
"""Longest pause between attempts to reconnect; within the client's default of 10 s a broker is long back."""

PROTOCOLS = "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"
"""Schemes that an address may have for the client."""

PYTHON, NATIVE, AUTO = CLIENTS = "python", "native", "auto"
"""Choices of a client, see `driftway.worker.kafka.client_factory`."""

LOG_PROPERTIES = frozenset(("log_level", "debug"))
"""Properties by which a user asks for the client's own log lines on stderr."""
NULL_LOGGER = logging.getLogger("driftway.nobody")
NULL_LOGGER.disabled = True

OWNED: Mapping[str, str] = {
    "bootstrap.servers": "use --bootstrap",
    "metadata.broker.list": "use --bootstrap",
    "group.id": "use --group",
    "enable.auto.commit": "offsets are committed inside the worker's transaction",
    "enable.auto.offset.store": "offsets are committed inside the worker's transaction",
    "auto.offset.reset": "use --start and --on-offset-out-of-range",
    "isolation.level": "aborted records must never be learned from",
    "transactional.id": "it consists of group, topic and partition, so that a new owner fences the previous one",
    "enable.idempotence": "retries must neither repeat nor reorder records",
    "enable.partition.eof": "restore relies on it",
    "error_cb": "it is a function",
    "throttle_cb": "it is a function",
    "stats_cb": "it is a function",
    "logger": "it is an object",
}
"""Properties that a user may not set -> why."""

MEMBER_ONLY = (
    "group.protocol", "group.instance.id", "partition.assignment.strategy", "group.remote.assignor",
    "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms",
)  # fmt: skip

SECRET = re.compile(
    r"pas|secret|\.key|token|jaas|credential|pem$|oauthbearer\.config|assertion|user\.info", re.IGNORECASE
)
PLAIN = re.compile(
    r"\.(location|mechanisms?|protocol|username|principal|service\.name|algorithm|suites|list|method|providers?|"
    r"stores|relogin)$"
)
"""Properties for security whose values may be shown. Any other name with their prefix may be that of a secret with a
typing mistake."""
PROPERTY = re.compile(r"[a-zA-Z_.\-]{1,64}")
"""Pattern of a property's name; anything else in its place may be part of a secret."""
NUMBER = re.compile(r"\.(ms|bytes|kbytes|messages|retries)$")
"""Properties that are numbers. The client takes 45 for ``45s``, and 10 for ``10,000``, without a word."""
USERINFO = re.compile(r"""(//|(?:^|[\s,])['"(]?(?!\w[\w+.-]*://)(?=[^\s@]*:))\S*@""")
"""``user:password@`` in a URL or a host list, and what is before it of either."""
CLIENT_THREADS = 8
"""About as many threads as a client starts in a small cluster."""
SHORTEST_SECRET = 4
"""Shorter values are not replaced in the client's messages: they would match everywhere."""


def parse_properties(pairs: Iterable[str], file: str | None = None) -> Properties:
    """Read ``key=value`` pairs, after those of a properties file; the pairs win.

    Raises
    ------
    UsageFailure
        A pair without ``=``, a file that cannot be read, a property that Driftway owns, or a number with a unit.
    """
    lines: list[tuple[str, str]] = []
    if file is not None:
        try:
            text = read_file(file, f"client properties {file}").decode("utf-8-sig")
        except UnicodeDecodeError:
            raise UsageFailure(f"client properties {file} are not UTF-8 text") from None
        numbered = ((raw.strip(), f" at {file}, line {n}") for n, raw in enumerate(text.splitlines(), 1))
        lines = [(line, where) for line, where in numbered if line and line[0] not in "#;!"]
    properties: Properties = {}
    before = ""
    for pair, where in [*lines, *((pair, "") for pair in pairs)]:
        key, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals or not PROPERTY.fullmatch(key):
            # DRIFTWAY_X is split at blanks, also within a value: this may be the rest of a secret.
            bare = "***" if is_secret(before) else redact(pair)
            raise UsageFailure(f"client property {bare!r}{where} is not key=value")
        if key in OWNED:
            raise UsageFailure(f"client property {key} cannot be set: {OWNED[key]}")
        if (name := NUMBER.search(key)) and re.match(r"\d", value) and not re.fullmatch(r"\d+(\.\d+)?", value):
            raise UsageFailure(f"client property {redact(pair)}{where}: write a number without a unit, in {name[1]}")
        properties[key], before = value, key
    return properties


def is_secret(key: str) -> bool:
    """Return whether the value of a client property may be secret."""
    if key.startswith(("sasl.", "ssl.")):
        return not PLAIN.search(key)
    return SECRET.search(key) is not None


def redact(text: str) -> str:
    """Return `text`, meant as ``key=value``, without what may be secret: a secret key's value, and what is no key."""
    key, equals, value = (piece.strip() for piece in text.partition("="))
    if key and not PROPERTY.fullmatch(key):
        return "***"
    if not equals:
        return key
    return f"{key}=***" if is_secret(key) else f"{key}={without_userinfo(value)}"


def without_userinfo(text: str) -> str:
    """Return `text` with user and password of a URL, or of a host in a list, hidden."""
    return USERINFO.sub(r"\1***@", text)


def scrubbed(text: str, properties: Mapping[str, Any]) -> str:
    """Return `text`, a message from the client, with the values of secret properties hidden, and pieces of them."""
    for key, value in properties.items():
        pieces = (str(value), *re.split(r"[\s=,]+", str(value))) if is_secret(key) else ()
        for piece in pieces:
            text = text.replace(piece, "***") if len(piece) >= SHORTEST_SECRET else text
    return without_userinfo(text)


@contextlib.contextmanager
def refused_properties(properties: Mapping[str, Any]) -> Iterator[None]:
    """Translate the error of creating a client with these properties.

    Raises
    ------
    UsageFailure
        A property is not valid.
    Failure
        No client can be created, because files are short.
    """
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        if cause := file_shortage():
            raise Failure(f"cannot create a Kafka client: {cause}") from None
        raise UsageFailure(f"client property refused: {scrubbed(error.args[0].str(), properties)}") from None


def base_properties(bootstrap: str, passthrough: Mapping[str, Any]) -> Properties:
    """Return the properties that every client of Driftway starts from; `passthrough` comes last and may override."""
    backoff = {} if "reconnect.backoff.ms" in passthrough else {"reconnect.backoff.max.ms": RECONNECT_MS}
    name = f"driftway-{socket.gethostname()}"
    # By default a producer lets the broker create a topic that is missing: an output that somebody has deleted would be
    # there again at once, with the broker's settings and without a word.
    own = {"receive.message.max.bytes": LARGEST_BATCH, "allow.auto.create.topics": False}
    return {"bootstrap.servers": bootstrap, "client.id": name, **own, **backoff, **passthrough}


def knows_brokers(statistics: str) -> bool:
    """Whether a client that reports these statistics, a JSON text, knows a broker.

    It forgets all brokers when the metadata names none, because the controller has just fenced every one, and may then
    wait forever (docs/kafka.md#client-facts).
    """
    brokers = json.loads(statistics).get("brokers", {}).values()
    return any(one["source"] in ("configured", "learned") for one in brokers)


def without_membership(properties: Mapping[str, Any]) -> Properties:
    """Return `properties` without those that only a group member may have."""
    return {key: value for key, value in properties.items() if key not in MEMBER_ONLY}


def admin_client(bootstrap: str, passthrough: Mapping[str, Any]) -> Any:
    """Return a client that asks the cluster about topics, groups and brokers, and changes them."""
    from confluent_kafka.admin import AdminClient

    return AdminClient(quiet(without_membership(base_properties(bootstrap, passthrough))))


def require_broker(bootstrap: str, passthrough: Mapping[str, Any], timeout: float = REACH_SECONDS) -> Any:
    """Return the cluster's metadata, or fail with one sentence.

    Raises
    ------
    Unreachable
        No broker answered in `timeout` seconds, or the addresses that the brokers advertise cannot be reached.
    Failure
        A client property is not valid, or the broker rejects our credentials.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    errors: list[Any] = []
    properties = quiet({**ONE_QUESTION, **base_properties(bootstrap, passthrough), "error_cb": errors.append})
    where = without_userinfo(bootstrap)
    with refused_properties(passthrough):
        admin = AdminClient(properties)
    try:
        cluster = admin.list_topics(timeout=timeout)
        admin.list_topics(ANY_TOPIC, timeout=timeout)
    except KafkaException:
        admin.poll(0)  # delivers pending errors to the callback
        for cause in errors:
            if is_refusal(cause):
                sentence = scrubbed(" ".join(cause.str().split()), passthrough)
                raise Failure(f"the broker at {where} refused this client: {sentence}") from None
        for one in filter(None, (ADVERTISED.match(cause.str()) for cause in errors)):
            raise Unreachable(
                f"the broker at {where} says that clients reach the cluster at {one['address']}, which fails here "
                f"({one['reason']}): the brokers' advertised.listeners must name addresses that this machine can reach"
            ) from None
        hint = "; a scheme must be the value of -X security.protocol" if "://" in where else ""
        silent = f"no Kafka broker answered at {where} within {timeout:.0f} s{hint}"
        raise Unreachable(with_file_shortage(silent)) from None
    return cluster


def is_refusal(error: Any) -> bool:
    """Return whether a client's error says that a broker refuses its login, or one of the two the other's certificate.

    There is no code for a certificate that the broker refuses: only the message of the lost connection says so.
    """
    from confluent_kafka import KafkaError

    return error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL) or "SSL" in error.str()


def quiet(properties: Mapping[str, Any]) -> Properties:
    """Return `properties` with the client's own log lines off, unless requested; calls still raise errors.

    A level of 0 is not enough: even then the client prints that it has been fenced.

    Raises
    ------
    Failure
        This process cannot start the threads of a client.
    """
    require_client_threads()
    if LOG_PROPERTIES.isdisjoint(properties):
        properties = {"log_level": 0, "logger": NULL_LOGGER, **properties}
    return {"error_cb": lambda _error: None, "throttle_cb": THROTTLING.note, **properties}


@functools.cache
def require_client_threads() -> None:
    """Fail, once, unless a client's threads can be started: without them the client ends the whole process.

    Raises
    ------
    Failure
        They cannot.
    """
    require_threads(CLIENT_THREADS)

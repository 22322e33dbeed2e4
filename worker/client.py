"""Client properties: what users may pass through, what Driftway owns, what is never shown. Leaf module."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from worker.errors import Failure, Unreachable, UsageFailure

Properties = dict[str, Any]

REACH_SECONDS = 8.0
"""How long to look for a broker before saying that there is none; below the promised 10 s."""

OWNED: Mapping[str, str] = {
    "bootstrap.servers": "use --bootstrap",
    "group.id": "use --group",
    "enable.auto.commit": "offsets are committed inside the worker's transaction",
    "enable.auto.offset.store": "offsets are committed inside the worker's transaction",
    "auto.offset.reset": "use --start and --if-offset-lost",
    "isolation.level": "aborted records must never be learned from",
    "transactional.id": "it is made of group, topic and partition, so that the next owner fences the last",
    "enable.idempotence": "retries must neither repeat nor reorder records",
    "enable.partition.eof": "restore relies on it",
}
"""Properties that a user may not set -> why."""

MEMBER_ONLY = ("group.protocol", "group.instance.id", "partition.assignment.strategy")

SECRET = re.compile(r"password|secret|\.key|token|jaas|credential|pem$", re.IGNORECASE)


def parse_properties(pairs: Iterable[str], file: str | None = None) -> Properties:
    """Read ``key=value`` pairs, after those of a properties file; the pairs win.

    Raises
    ------
    UsageFailure
        A pair without ``=``, a file that cannot be read, or a property that Driftway owns.
    """
    lines: list[str] = []
    if file is not None:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except OSError as error:
            raise UsageFailure(f"cannot read client properties {file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageFailure(f"client properties {file} are not UTF-8 text") from None
        lines = [line for line in (raw.strip() for raw in text.splitlines()) if line and line[0] not in "#;"]
    properties: Properties = {}
    for pair in [*lines, *pairs]:
        key, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals or not key:
            raise UsageFailure(f"client property {redact(pair)!r} is not key=value")
        if key in OWNED:
            raise UsageFailure(f"client property {key} cannot be set: {OWNED[key]}")
        properties[key] = value
    return properties


def redact(text: str) -> str:
    """`text` with the value of a secret ``key=value`` hidden."""
    key, equals, _ = text.partition("=")
    return f"{key}=***" if equals and SECRET.search(key) else text


def redacted(properties: Mapping[str, Any]) -> Properties:
    """`properties` fit for a log: secret values replaced by ``***``."""
    return {key: "***" if SECRET.search(key) else value for key, value in properties.items()}


def base_properties(bootstrap: str, passthrough: Mapping[str, Any]) -> Properties:
    """What every client of Driftway starts from; `passthrough` comes last and may override."""
    return {"bootstrap.servers": bootstrap, "client.id": f"driftway-{socket.gethostname()}", **passthrough}


def without_membership(properties: Mapping[str, Any]) -> Properties:
    """`properties` for a client that is no member of the group: what only a member may have is left out."""
    return {key: value for key, value in properties.items() if key not in MEMBER_ONLY}


def require_broker(bootstrap: str, passthrough: Mapping[str, Any], timeout: float = REACH_SECONDS) -> Any:
    """Return the cluster's metadata, or fail with one sentence.

    Raises
    ------
    Unreachable
        No broker answered in `timeout` seconds.
    Failure
        A client property is not valid.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        admin = AdminClient(quiet(base_properties(bootstrap, passthrough)))
    except KafkaException as error:
        raise UsageFailure(f"client property refused: {error.args[0].str()}") from None
    try:
        return admin.list_topics(timeout=timeout)
    except KafkaException:
        raise Unreachable(f"no Kafka broker answered at {bootstrap} within {timeout:.0f} s") from None


def quiet(properties: Mapping[str, Any]) -> Properties:
    """`properties` with the client's own stderr chatter off; errors still come back from calls."""
    return {"log_level": 0, **properties, "error_cb": lambda _error: None}


__all__ = [
    "Failure",
    "Properties",
    "base_properties",
    "parse_properties",
    "quiet",
    "redact",
    "redacted",
    "require_broker",
]

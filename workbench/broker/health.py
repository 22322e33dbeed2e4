"""When a broker is ready: it answers, it is the one that was started, and every partition has a leader."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any

from driftway.worker.errors import Unreachable
from driftway.worker.kafka.client_config import quiet
from driftway.worker.kafka.topics import partition_counts

POLL_SECONDS = 0.02
ATTEMPT_SECONDS = 1.0


def await_ready(bootstrap: str, seconds: float, alive: Callable[[], None], cluster: str | None = None) -> None:
    """Return when a produce to `bootstrap` would work.

    Parameters
    ----------
    bootstrap : str
        ``host:port``.
    seconds : float
        Deadline.
    alive : callable
        Called between attempts; raises when waiting has become pointless.
    cluster : str, optional
        Id that the answering cluster must have.

    Raises
    ------
    Unreachable
        The deadline passed; the message says what was seen last.
    """
    deadline = time.monotonic() + seconds
    seen = "nothing is listening"
    admin: Any = None
    while time.monotonic() < deadline:
        alive()
        if admin is None and _listens(bootstrap):
            admin = _admin(bootstrap)
        if admin is not None:
            seen = _unready(admin, cluster)
            if not seen:
                return
        time.sleep(POLL_SECONDS)
    raise Unreachable(f"Kafka at {bootstrap} was not ready within {seconds:.0f} s: {seen}")


def _listens(bootstrap: str) -> bool:
    host, _, port = bootstrap.rpartition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=ATTEMPT_SECONDS):
        return True
    return False


def _admin(bootstrap: str) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient(quiet({"bootstrap.servers": bootstrap, "reconnect.backoff.max.ms": 100}))


def _unready(admin: Any, cluster: str | None) -> str:
    """Why the cluster cannot be used yet; empty when it can."""
    from confluent_kafka import KafkaException

    try:
        metadata = admin.list_topics(timeout=ATTEMPT_SECONDS)
    except KafkaException as error:
        return f"metadata request failed: {error.args[0].str()}"
    if not metadata.brokers:
        return "no broker has registered"
    if cluster is not None and metadata.cluster_id != cluster:
        return f"another cluster {metadata.cluster_id} answers there"
    for name in partition_counts(metadata):
        for number, partition in metadata.topics[name].partitions.items():
            if partition.leader < 0:
                return f"partition {number} of {name} has no leader"
    return ""

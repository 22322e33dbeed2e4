"""Client properties of a replay's producer: those the replay sets, and those users may not set."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import base_properties, quiet

LIBRDKAFKA_MOST = 2_147_483_647
"""Largest `queue.buffering.max.messages` and `.kbytes`. The sink's own window is the bound: a full queue could refuse a
message in the middle of a batch and accept a shorter one after it, which would change their order."""

OWNED = {
    "queue.buffering.max.messages": "replay bounds the queue itself, so that rows keep their order",
    "queue.buffering.max.kbytes": "replay bounds the queue itself, so that rows keep their order",
    "delivery.report.only.error": "replay counts failed deliveries with it",
}


def check_owned(properties: Mapping[str, Any]) -> None:
    """Refuse client properties that the replay itself must set.

    Raises
    ------
    UsageFailure
        Names the property and the reason.
    """
    for name in properties:
        if name in OWNED:
            raise UsageFailure(f"client property {name} cannot be set: {OWNED[name]}")


def producer_properties(bootstrap: str, properties: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """All properties of the producer: defaults, then the user's, then those the replay requires.

    Parameters
    ----------
    bootstrap : str
        Address of a broker.
    properties : mapping
        The user's properties.
    own : mapping
        Further properties of the replay, which take precedence.
    """
    chosen = {
        # Chooses the same partition for a key as Kafka's Java clients.
        "partitioner": "murmur2_random",
        **quiet(base_properties(bootstrap, properties)),
        "enable.idempotence": True,
        "acks": properties.get("acks", "all"),
        "queue.buffering.max.messages": LIBRDKAFKA_MOST,
        "queue.buffering.max.kbytes": LIBRDKAFKA_MOST,
        **own,
    }
    if not properties.keys() & {"debug", "log_level"}:
        # A fatal error is raised from calls; the client would also log it, whatever the level.
        chosen["logger"] = _silent()
    return chosen


def _silent() -> logging.Logger:
    """A logger that drops everything."""
    logger = logging.getLogger("driftway.client")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger

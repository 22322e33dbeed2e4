"""What a worker asks the cluster before it joins the group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import admin as untyped

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import base_properties, quiet, without_membership

_admin: Any = untyped  # its stubs do not export everything
ASK_SECONDS = 10.0
BROKER_SESSION = "broker.session.timeout.ms"
BROKER_SESSION_MS = 9_000
"""Kafka's default of that setting."""
GUESS_SECONDS = 2.0
"""How long to wait for it: a broker that has just died does not answer, and the default is a good guess."""


def broker_session_ms(bootstrap: str, passthrough: Mapping[str, Any], brokers: Sequence[int]) -> int:
    """Return how long the cluster takes to notice that a broker is dead, in ms; 0 if there is only one.

    Kafka's default, if the brokers' settings are not told: reading them needs DESCRIBE_CONFIGS on the cluster.
    """
    if len(brokers) < 2:
        return 0
    resource = _admin.ConfigResource(_admin.ResourceType.BROKER, str(brokers[0]))
    try:
        found = _settings_of(bootstrap, passthrough, resource, GUESS_SECONDS)
        return int(found[BROKER_SESSION].value or BROKER_SESSION_MS)
    except (KafkaException, KeyError):
        return BROKER_SESSION_MS


def require_consumer_protocol(bootstrap: str, passthrough: Mapping[str, Any], group: str) -> None:
    """Fail if the brokers are too old for `group.protocol=consumer`.

    With such brokers the client (librdkafka 2.16) tries to join forever and reports no error. Groups have had settings
    and the protocol since Kafka 4.0: earlier brokers take the question for malformed. Any other refusal, such as a
    missing permission, tells nothing about the protocol.

    Parameters
    ----------
    bootstrap : str
        Brokers.
    passthrough : mapping
        Further client properties.
    group : str
        The worker's group.

    Raises
    ------
    Failure
        They are too old.
    """
    resource = _admin.ConfigResource(_admin.ResourceType.GROUP, group)
    try:
        _settings_of(bootstrap, passthrough, resource, ASK_SECONDS)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.INVALID_REQUEST:
            raise Failure(
                f"the brokers at {bootstrap} are too old for group.protocol=consumer, which needs Kafka 4.0: leave it "
                "out to join by the classic protocol"
            ) from None


def _settings_of(bootstrap: str, passthrough: Mapping[str, Any], resource: Any, seconds: float) -> Any:
    client = _admin.AdminClient(quiet(without_membership(base_properties(bootstrap, passthrough))))
    return client.describe_configs([resource], request_timeout=seconds)[resource].result()

"""The rebalance protocols of a group, as options of `driftway worker`."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support.fault_scenario import SESSION_MS, FaultScenario
from tests.support.kafka import END_SECONDS, admin

HEARTBEAT_MS = 500
"""The shortest heartbeat interval that the broker allows for groups of the new protocol."""


@dataclass(frozen=True)
class Protocol:
    """How members join, leave and are detected as dead.

    Parameters
    ----------
    properties : tuple of str
        Client properties, ``key=value``.
    static : bool
        Static membership: the successor of a member joins under its name at once.
    by_broker : bool
        Session timeout and heartbeat interval are set on the broker, not by the client.
    """

    properties: tuple[str, ...]
    static: bool = False
    by_broker: bool = False


PROTOCOLS = {
    "range": Protocol(("partition.assignment.strategy=range",)),
    "cooperative": Protocol(("partition.assignment.strategy=cooperative-sticky",)),
    "consumer": Protocol(("group.protocol=consumer",), by_broker=True),
    "static": Protocol(("partition.assignment.strategy=range",), static=True),
}


def member(scenario: FaultScenario, protocol: str, name: str, *more: str) -> list[str]:
    """Arguments of a member of the scenario's group; `name` is used by static members only.

    For the new protocol, also set the group's session timeout on the broker, to the same value as the scenario's.
    """
    kind = PROTOCOLS[protocol]
    properties = [*kind.properties, *([f"group.instance.id={name}"] if kind.static else [])]
    arguments = list(scenario.worker(*(word for pair in properties for word in ("-X", pair)), *more))
    if kind.by_broker:
        set_session(scenario.bootstrap, scenario.group, SESSION_MS)
        for owned in ("session.timeout.ms", "heartbeat.interval.ms"):
            at = next(i for i, word in enumerate(arguments) if word.startswith(owned))
            del arguments[at - 1 : at + 1]
    return arguments


def set_session(bootstrap: str, group: str, session_ms: int) -> None:
    """Set the session timeout of a group of the new protocol."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    settings = {"consumer.session.timeout.ms": session_ms, "consumer.heartbeat.interval.ms": HEARTBEAT_MS}
    entries = [
        ConfigEntry(key, str(value), incremental_operation=AlterConfigOpType.SET) for key, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=entries)
    client = admin(bootstrap)  # keep a reference: a collected client never answers
    client.incremental_alter_configs([resource])[resource].result(timeout=END_SECONDS)

"""Brokers, versions and the group's protocol."""

from __future__ import annotations

from collections.abc import Mapping

from driftway.worker.admin.check.commands import Commands
from driftway.worker.admin.check.facts import ClusterState
from driftway.worker.admin.check.finding import ERROR, OK, SKIPPED, WARNING, Finding, failed
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.cluster import BROKER_SESSION
from driftway.worker.settings import CONSUMER, WorkerSettings
from driftway.worker.stream.consumer.membership import (
    HEARTBEATS,
    SESSION_MS,
    require_heartbeats,
    session_and_heartbeat,
)

GROUP = "cluster"
OLDEST_BROKER = (3, 3)
OLDEST_CLIENT, LEAKS = (2, 13, 2), "which leaks memory when its queue is full"
INTER_BROKER, PROTOCOLS, ZOOKEEPER = (
    "inter.broker.protocol.version",
    "group.coordinator.rebalance.protocols",
    "zookeeper.connect",
)
"""Settings that tell a broker's version: the first was removed with Kafka 4, as the last; the second came with 3.7."""
NOT_TOLD = "this principal may not read the brokers' settings (DESCRIBE_CONFIGS on the cluster)"


def release(config: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the release that brokers have, at least, by one broker's settings; None if they do not tell."""
    written = config.get(INTER_BROKER, "").partition("-")[0].split(".")
    if len(written) > 1 and all(part.isdecimal() for part in written):
        return int(written[0]), int(written[1])
    return (4, 0) if PROTOCOLS in config and ZOOKEEPER not in config else None


def check_brokers(state: ClusterState) -> Finding:
    """Judge the brokers' version."""
    brokers = f"{len(state.brokers)} broker{'s'[: len(state.brokers) != 1]}"
    if state.broker_config is None:
        return Finding(GROUP, "broker version", SKIPPED, f"{brokers} answered; their version is not known: {NOT_TOLD}")
    found = release(state.broker_config)
    if found is None:
        return Finding(
            GROUP, "broker version", SKIPPED, f"{brokers} answered; their settings do not show their version"
        )
    version = ".".join(map(str, found)) + (" or newer" if INTER_BROKER not in state.broker_config else "")
    if found < OLDEST_BROKER:
        sentence = f"the brokers run Kafka {version}; Driftway was tried with 3.3.2 and newer: upgrade them"
        return Finding(GROUP, "broker version", WARNING, sentence)
    return Finding(GROUP, "broker version", OK, f"{brokers} answered, Kafka {version}")


def check_client(version: str, library: str) -> Finding:
    """Judge the version of confluent-kafka, and name that of librdkafka."""
    parts = tuple(int(part) for part in version.split(".")[:3] if part.isdecimal())
    if parts < OLDEST_CLIENT:
        needed = ".".join(map(str, OLDEST_CLIENT))
        sentence = f"confluent-kafka is {version}, older than {needed}, {LEAKS}"
        return Finding(GROUP, "client version", WARNING, sentence, f"pip install 'confluent-kafka>={needed}'")
    return Finding(GROUP, "client version", OK, f"confluent-kafka {version}, librdkafka {library}")


def check_protocol(state: ClusterState, settings: WorkerSettings, commands: Commands) -> Finding:
    """Judge the group's protocol and its session timeout against the brokers' settings."""
    config, check = state.broker_config, "group protocol"
    if config is None:
        return Finding(GROUP, check, SKIPPED, f"{settings.protocol}; {NOT_TOLD}, so its limits are not known")
    offered = [one.strip() for one in config.get(PROTOCOLS, "classic").split(",")]
    if settings.protocol not in offered:
        sentence = f"the brokers do not offer group.protocol={settings.protocol}, only {', '.join(offered)}"
        command = commands.worker("-X", f"group.protocol={offered[0]}")
        return Finding(GROUP, check, ERROR, sentence, command)
    if settings.protocol == CONSUMER:
        return Finding(GROUP, check, OK, "consumer: the broker sets the session timeout")
    broker_session = int(config.get(BROKER_SESSION, 0)) if len(state.brokers) > 1 else 0
    times = session_and_heartbeat(settings, broker_session)
    if times is None:
        return Finding(GROUP, check, SKIPPED, "classic; the session timeout is not known")
    session, heartbeat = times
    least = int(config.get("group.min.session.timeout.ms", 0))
    most = int(config.get("group.max.session.timeout.ms", 2**31))
    fitting = min(max(SESSION_MS, HEARTBEATS * heartbeat, least), most)
    command = commands.worker("-X", f"session.timeout.ms={fitting}")
    if not least <= session <= most:
        sentence = f"the worker asks for a session of {session} ms, the brokers allow {least} to {most}"
        return Finding(GROUP, check, ERROR, f"{sentence}: it cannot join", command)
    try:
        require_heartbeats(settings, broker_session)
    except UsageFailure as error:
        return failed(GROUP, check, error, command)
    return Finding(GROUP, check, OK, f"classic, with a session of {session} ms")

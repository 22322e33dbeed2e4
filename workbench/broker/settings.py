"""Configuration of the local Kafka: broker properties, logging and JVM options."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
HEAP = "512m"
"""Java's heap, unless another is asked for."""
PROTOCOLS = "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
"""Protocols of the listeners, where the brokers have one of their own."""

DEVELOPMENT: Mapping[str, str] = {
    # One node: every internal topic has one replica, and few partitions so that the first use is quick.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "5",
    "default.replication.factor": "1",
    # Groups: no wait for more members, a dead member noticed within seconds. Protocols are those of the version.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
    # An abandoned transaction ends when its own timeout says so, not up to 10 s later.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # Topics are created explicitly, never by a typing error in a client.
    "auto.create.topics.enable": "false",
    # Replayed streams carry old timestamps: retention by time would delete them at once.
    "log.retention.ms": "-1",
    # After a SIGKILL the broker can register again only when its old session has expired, by default after 9 s.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # An idle controller writes a record every 0.5 s, which takes a third of an idle broker's processor time.
    "metadata.max.idle.interval.ms": "10000",
    # Memory and threads for two cores: the cleaner alone takes 128 MB of heap by default.
    "log.cleaner.dedupe.buffer.size": str(16 << 20),
    "num.network.threads": "2",
    "num.io.threads": "4",
    "num.recovery.threads.per.data.dir": "2",
}
"""Settings that a caller's own properties may override."""

REPLICATED: Mapping[str, str] = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "metadata.max.idle.interval.ms": "500",
    # As in production, unlike a single broker's: it is how long a dead broker is not noticed.
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
}
"""Settings of a cluster of at least three brokers, over those of a single one."""

LOG4J2 = """\
status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %m (%c)%n
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
logger.groups.name = org.apache.kafka.coordinator
logger.groups.level = info
logger.transactions.name = kafka.coordinator.transaction
logger.transactions.level = info
"""
"""Logs warnings, and what the group and transaction coordinators do, to investigate doubtful offsets."""

LOG4J = """\
log4j.rootLogger=WARN, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={log}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d %p %m (%c)%n
log4j.logger.org.apache.kafka.coordinator=INFO
log4j.logger.kafka.coordinator=INFO
"""
"""The same for Kafka before 4."""


@dataclass(frozen=True)
class Membership:
    """A node's place in a cluster.

    Parameters
    ----------
    node : int
        The node's id, from 1.
    controller_ports : tuple of int
        Ports of the controllers of nodes 1, 2, ..; the nodes after them are brokers only.
    internal_port : int or None
        Port for the other brokers; None if they use the one for clients.
    advertised : mapping
        Port of a node -> port at which other nodes look for it, of a proxy for instance; by default the same.
    """

    node: int
    controller_ports: tuple[int, ...]
    internal_port: int | None = None
    advertised: Mapping[int, int] = field(default_factory=dict)

    @property
    def controller_port(self) -> int | None:
        """Port of this node's controller; None if it is a broker only."""
        return self.controller_ports[self.node - 1] if self.node <= len(self.controller_ports) else None

    def listeners(self) -> dict[str, int]:
        """Names and ports of this node's listeners that are not for clients."""
        ports = {"INTERNAL": self.internal_port, "CONTROLLER": self.controller_port}
        return {name: port for name, port in ports.items() if port is not None}

    def outside(self, port: int) -> int:
        """The port at which other nodes look for `port` of a node."""
        return self.advertised.get(port, port)


def server_properties(data: Path, port: int, member: Membership, own: Mapping[str, str]) -> str:
    """The text of ``server.properties`` for a node on loopback that is broker and, if it has a port for it, controller.

    The loopback ``listeners`` in `own` are added to the plain one. The brokers use the plain one too, unless the node
    has a port for them.
    """
    more = "".join(f",{one}" for one in own.get("listeners", "").split(",") if f"://{HOST}:" in one)
    inner = member.listeners()
    voters = enumerate(member.controller_ports, 1)
    fixed = {
        "process.roles": "broker,controller" if "CONTROLLER" in inner else "broker",
        "node.id": str(member.node),
        "controller.quorum.voters": ",".join(f"{node}@{HOST}:{member.outside(own_port)}" for node, own_port in voters),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "INTERNAL" if "INTERNAL" in inner else "PLAINTEXT",
        "listeners": f"PLAINTEXT://{HOST}:{port}"
        + "".join(f",{name}://{HOST}:{own_port}" for name, own_port in inner.items())
        + more,
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}"
        + "".join(
            f",{name}://{HOST}:{member.outside(own_port)}"
            for name, own_port in inner.items()
            if name == "INTERNAL" or own_port in member.advertised
        )
        + more,
        "log.dirs": str(data),
    }
    if "INTERNAL" in inner:  # a name that Kafka does not know needs a protocol
        own = {"listener.security.protocol.map": PROTOCOLS, **own}
    return "".join(f"{key}={in_properties(value)}\n" for key, value in {**DEVELOPMENT, **own, **fixed}.items())


def in_properties(text: str) -> str:
    """Return text as Java's properties files have it, which are ISO-8859-1: with its escapes, which JSON has, too."""
    return json.dumps(text)[1:-1]


def meta_properties(cluster: str, node: int) -> str:
    """The text of ``meta.properties``, which marks a node's data directory as formatted."""
    return f"cluster.id={cluster}\ndirectory.id={kafka_uuid()}\nnode.id={node}\nversion=1\n"


def kafka_uuid() -> str:
    """A random id as Kafka writes them: 22 characters, not starting with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def java_options(heap: str, logging: Path, steady: bool = False) -> list[str]:
    """JVM options, chosen by measurement.

    The first compiler stage and the serial collector halve start time (5.2 s to 2.5 s on two cores) and CPU
    (15.8 s to 7.5 s for a start and 4 million messages in and out). A `steady` broker also has Java's second
    compiler, as in production: it pays off from about ten million messages on.
    """
    return [
        f"-Xmx{heap}",
        f"-Xms{heap if _megabytes(heap) < 128 else '128m'}",
        "-XX:+UseSerialGC",
        *([] if steady else ["-XX:TieredStopAtLevel=1"]),
        "-XX:-UsePerfData",  # no file in the temporary directory that a SIGKILL would leave behind
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        f"-Dlog4j2.configurationFile={logging}",
        f"-Dlog4j.configuration=file:{logging}",  # Kafka before 4
    ]


def _megabytes(heap: str) -> float:
    units = {"k": 1 / 1024, "m": 1.0, "g": 1024.0}
    unit = units.get(heap[-1:].lower())
    digits = heap[:-1] if unit else heap
    return float(digits) * (unit or 1 / (1 << 20)) if digits.isdecimal() else 0.0

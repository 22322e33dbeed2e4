"""Configuration of a soak's group: its topics, its workers' arguments, and the matching arguments of the audit."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, TopicPartition

from driftway.worker.kafka.client_config import quiet
from driftway.worker.kafka.topics import Topics, create_topics, output_plan
from tests.soak.load import FEATURES
from tests.support.groups import PROTOCOLS, set_session

SESSION_MS = 2000
"""Session timeout, a third of the worker's default. Here a member dies every 19 s, and a death while the group waits
for another dead member makes it wait again: with 6 s, three in a row would take longer than is allowed some 14 times an
hour."""
LEARNING = ("--learner", "dfop:mu=0.01", "--learner", "arow", "--features", str(FEATURES))
SNAPSHOT_ROWS = 5_000
"""Small enough that at the usual rates snapshots are due by time as well as by count."""


@dataclass(frozen=True)
class Group:
    """One consumer group on one input topic.

    Parameters
    ----------
    bootstrap : str
        Bootstrap address of the broker.
    member_bootstrap : str
        Bootstrap address that the members use, that of the proxy.
    partitions : int
        Partitions of the input topic.
    protocol : str
        Key of `tests.support.groups.PROTOCOLS`.
    client : str
        Kafka client of the members (`--client`).
    session_ms : int or None
        Session timeout of the members; None: the worker's default.
    """

    bootstrap: str
    member_bootstrap: str
    partitions: int
    protocol: str
    client: str
    session_ms: int | None = SESSION_MS
    topics: Topics = field(default=Topics("events", "soak"))

    def create(self) -> None:
        """Create all topics; in the new group protocol, also set the session timeout on the broker."""
        plan = {self.topics.input: (self.partitions, {}), **output_plan(self.topics, self.partitions)}
        create_topics(self.bootstrap, {}, plan)
        if PROTOCOLS[self.protocol].by_broker and self.session_ms is not None:
            set_session(self.bootstrap, self.topics.group, self.session_ms)

    def answers(self) -> bool:
        """Return whether the group's coordinator has loaded its offsets."""
        topic_partition, properties = TopicPartition(self.topics.input, 0), {"group.id": self.topics.group}
        with contextlib.closing(Consumer(quiet({"bootstrap.servers": self.bootstrap, **properties}))) as one:
            try:
                return all(found.error is None for found in one.committed([topic_partition], timeout=1.0))
            except KafkaException:
                return False

    def worker(self, name: str) -> list[str]:
        """Return the command line of a member; `name` matters only with static membership."""
        kind = PROTOCOLS[self.protocol]
        properties = [*kind.properties, *([f"group.instance.id={name}"] if kind.static else [])]
        if not kind.by_broker and self.session_ms is not None:
            properties += [f"session.timeout.ms={self.session_ms}", f"heartbeat.interval.ms={self.session_ms // 4}"]
        own = [
            "--client",
            self.client,
            "--snapshot-rows",
            str(SNAPSHOT_ROWS),
            *(word for pair in properties for word in ("-X", pair)),
        ]
        return [sys.executable, "-P", "-m", "driftway", "worker", *self._options(self.member_bootstrap), *own]

    def audit(self) -> list[str]:
        """Return the arguments of `driftway` that audit the group."""
        return ["audit", *self._options(self.bootstrap)]

    def _options(self, bootstrap: str) -> list[str]:
        topics = self.topics
        return ["--bootstrap", bootstrap, "--input", topics.input, "--group", topics.group, *LEARNING]

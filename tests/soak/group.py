"""What a soak's group is told: its topics, its workers' arguments, and those of the audit that must fit them."""

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
"""A dead member is noticed after this long, a third of the worker's own default. Deaths come every 19 s here, and one
that happens while the group waits for another makes it wait again: three in a row, with 6 s more than is allowed, come
some 14 times an hour."""
LEARNING = ("--learner", "dfop:mu=0.01", "--learner", "arow", "--features", str(FEATURES))
SNAPSHOT_ROWS = 5_000
"""At the usual rates snapshots are then due by time as well as by count."""


@dataclass(frozen=True)
class Group:
    """One consumer group on one input.

    Parameters
    ----------
    bootstrap : str
        The broker.
    way : str
        How the members reach it.
    partitions : int
        Of the input.
    protocol : str
        Of `tests.support.groups.PROTOCOLS`.
    client : str
        How the members talk to Kafka.
    """

    bootstrap: str
    way: str
    partitions: int
    protocol: str
    client: str
    topics: Topics = field(default=Topics("events", "soak"))

    def create(self) -> None:
        """Make all topics; in the new protocol the session timeout is the broker's to know."""
        plan = {self.topics.input: (self.partitions, {}), **output_plan(self.topics, self.partitions)}
        create_topics(self.bootstrap, {}, plan)
        if PROTOCOLS[self.protocol].by_broker:
            set_session(self.bootstrap, self.topics.group, SESSION_MS)

    def answers(self) -> bool:
        """Whether the group's coordinator has loaded what it knows."""
        place, properties = TopicPartition(self.topics.input, 0), {"group.id": self.topics.group}
        with contextlib.closing(Consumer(quiet({"bootstrap.servers": self.bootstrap, **properties}))) as one:
            try:
                return all(found.error is None for found in one.committed([place], timeout=1.0))
            except KafkaException:
                return False

    def worker(self, name: str) -> list[str]:
        """The command line of a member; `name` matters only where members have one."""
        kind = PROTOCOLS[self.protocol]
        properties = [*kind.properties, *([f"group.instance.id={name}"] if kind.static else [])]
        if not kind.by_broker:
            properties += [f"session.timeout.ms={SESSION_MS}", f"heartbeat.interval.ms={SESSION_MS // 4}"]
        own = [
            "--client",
            self.client,
            "--snapshot-rows",
            str(SNAPSHOT_ROWS),
            *(word for pair in properties for word in ("-X", pair)),
        ]
        return [sys.executable, "-P", "-m", "driftway", "worker", *self._place(self.way), *own]

    def audit(self) -> list[str]:
        """The arguments of `driftway` that audit the group."""
        return ["audit", *self._place(self.bootstrap)]

    def _place(self, bootstrap: str) -> list[str]:
        topics = self.topics
        return ["--bootstrap", bootstrap, "--input", topics.input, "--group", topics.group, *LEARNING]

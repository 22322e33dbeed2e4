"""Facts about the cluster, requested once: brokers, topics with their settings, and the rights of this principal."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException

from driftway.worker.kafka.client_config import admin_client, require_broker
from driftway.worker.kafka.cluster import settings_of
from driftway.worker.kafka.topics import ASK_SECONDS, partition_counts, topic_configs, topic_operations
from driftway.worker.settings import WorkerSettings


@dataclass(frozen=True)
class TopicFacts:
    """A topic.

    Parameters
    ----------
    name : str
        Its name.
    replicas : tuple of tuples of int
        For each partition the brokers that have it.
    in_sync : tuple of int
        For each partition the number of replicas in sync; 0 if it has no leader.
    config : mapping or None
        Its settings as text; None: this principal may not read them.
    operations : frozenset of str or None
        What this principal may do, such as READ; None: the broker does not say.
    """

    name: str
    replicas: tuple[tuple[int, ...], ...] = ((1,),)
    in_sync: tuple[int, ...] = (1,)
    config: Mapping[str, str] | None = None
    operations: frozenset[str] | None = None

    @property
    def partitions(self) -> int:
        """Number of partitions."""
        return len(self.replicas)

    @property
    def fewest(self) -> int:
        """Fewest replicas of a partition."""
        return min(map(len, self.replicas), default=0)

    def number(self, key: str, default: int = -1) -> int:
        """Return a setting as a number; `default` if it is not known."""
        value = (self.config or {}).get(key)
        return default if value is None else int(value)


@dataclass(frozen=True)
class ClusterState:
    """A cluster, as far as a worker's principal can see it.

    Parameters
    ----------
    brokers : tuple of int
        Their ids.
    topics : mapping
        Facts of the topics that concern the worker, by name.
    partitions : mapping
        Number of partitions of every topic.
    broker_config : mapping or None
        Settings of one broker; None: this principal may not read them.
    """

    brokers: tuple[int, ...]
    topics: Mapping[str, TopicFacts] = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)
    broker_config: Mapping[str, str] | None = None


def ask_cluster(settings: WorkerSettings) -> ClusterState:
    """Ask for everything that the checks need; nothing is changed.

    Raises
    ------
    Unreachable
        No broker answered.
    Failure
        A client property is not valid, or the broker rejects our credentials.
    """
    metadata = require_broker(settings.bootstrap, settings.passthrough)
    counts = partition_counts(metadata)
    ours = (settings.input, settings.label_topic, *settings.topics.every_output())
    names = [name for name in dict.fromkeys(ours) if name in counts]
    client = admin_client(settings.bootstrap, settings.passthrough)
    configs, allowed = _configs(client, names), topic_operations(client, names)
    topics = {}
    for name in names:
        parts = [part for _, part in sorted(metadata.topics[name].partitions.items())]
        topics[name] = TopicFacts(
            name,
            tuple(tuple(part.replicas) for part in parts),
            tuple(len(part.isrs) if part.leader >= 0 else 0 for part in parts),
            configs.get(name),
            allowed.get(name),
        )
    brokers = tuple(sorted(metadata.brokers))
    return ClusterState(brokers, topics, counts, _broker_config(client, brokers))


def _configs(client: Any, names: Collection[str]) -> dict[str, dict[str, str]]:
    found = {}
    for name, future in topic_configs(client, names).items():
        try:
            found[name] = {key: str(entry.value) for key, entry in future.result().items() if entry.value is not None}
        except KafkaException:  # without the permission to describe them
            continue
    return found


def _broker_config(client: Any, brokers: Collection[int]) -> dict[str, str] | None:
    if not brokers:
        return None
    try:
        found = settings_of(client, "BROKER", str(min(brokers)), ASK_SECONDS)
    except KafkaException:
        return None
    return {key: str(entry.value) for key, entry in found.items() if entry.value is not None}

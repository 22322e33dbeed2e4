"""Brokers that a test may kill and restart, with the same port and data."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TypeVar

import pytest

from driftway.workbench.broker import LocalCluster, LocalKafka
from driftway.workbench.broker.local import LocalBrokers
from driftway.worker.errors import Failure
from tests.support.kafka import admin

Brokers = TypeVar("Brokers", bound=LocalBrokers)


@contextlib.contextmanager
def own_broker(config: pytest.Config, properties: Mapping[str, str] | None = None) -> Iterator[LocalKafka]:
    """A local Kafka for one test, with its own properties; skips the test if none can be started."""
    with started(config, LocalKafka(heap="256m", properties=properties)) as kafka:
        yield kafka


@contextlib.contextmanager
def own_cluster(config: pytest.Config) -> Iterator[LocalCluster]:
    """Three brokers, each of which a test may kill; skips the test if they cannot be started."""
    with started(config, LocalCluster(heap="256m")) as cluster:
        yield cluster


def leader_of(cluster: LocalCluster, topic: str, partition: int) -> LocalKafka:
    """The broker of a cluster that leads a partition."""
    client = admin(cluster.bootstrap)  # keep a reference: a collected client never answers
    return cluster.nodes[client.list_topics(topic, timeout=10).topics[topic].partitions[partition].leader - 1]


@contextlib.contextmanager
def started(config: pytest.Config, kafka: Brokers) -> Iterator[Brokers]:
    """Start brokers for the block; skip the test if they cannot be started."""
    if os.environ.get("DRIFTWAY_BOOTSTRAP"):
        pytest.skip("kills its broker, and DRIFTWAY_BOOTSTRAP's is not ours to kill")
    try:
        kafka.start()
    except Failure as failure:
        if config.getoption("--require-broker"):
            pytest.fail(f"no broker: {failure}", pytrace=False)
        pytest.skip(f"no broker: {failure}")
    try:
        yield kafka
    finally:
        kafka.stop()

"""A real Apache Kafka for development and tests: loopback only, no system Java, no Docker."""

from driftway.workbench.broker.cluster import LocalCluster
from driftway.workbench.broker.local import LocalKafka
from driftway.workbench.broker.provider import provide

__all__ = ["LocalCluster", "LocalKafka", "provide"]

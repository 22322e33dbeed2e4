"""A real Apache Kafka for development and tests: one node, loopback only, no system Java, no Docker."""

from driftway.workbench.broker.local import LocalKafka
from driftway.workbench.broker.provider import provide

__all__ = ["LocalKafka", "provide"]

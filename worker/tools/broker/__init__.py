"""A real Apache Kafka for development and tests: one node, loopback only, no system Java, no Docker."""

from worker.tools.broker.local import LocalKafka
from worker.tools.broker.provide import provide

__all__ = ["LocalKafka", "provide"]

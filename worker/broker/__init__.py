"""A real Apache Kafka for development and tests: one node, loopback only, no system Java, no Docker."""

from worker.broker.local import LocalKafka
from worker.broker.provide import provide

__all__ = ["LocalKafka", "provide"]

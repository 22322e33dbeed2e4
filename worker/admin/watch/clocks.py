"""How far the clocks of a group's producers differ, according to its newest commits."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

from confluent_kafka import KafkaException

from driftway.worker.kafka.client_config import base_properties
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.kafka.log_reader.reader import READER_TUNING, standalone_consumer
from driftway.worker.state.changelog.snapshot_scan import commit_records

INTERVAL_SECONDS, READ_SECONDS = 10.0, 5.0
"""How often the commits are read, and how long that may take; they are stored among the snapshots."""


class ClockReader:
    """Reads what the newest commits of some partitions say about clocks.

    Parameters
    ----------
    bootstrap, passthrough
        Broker address and further properties of the client.
    topic : str
        The group's snapshot topic.
    """

    def __init__(self, bootstrap: str, passthrough: Mapping[str, Any], topic: str) -> None:
        self._topic = topic
        self._reader = standalone_consumer(base_properties(bootstrap, passthrough), READER_TUNING)
        self._read_at = float("-inf")
        self._known: dict[int, Mapping[str, int]] = {}

    def of(self, partitions: Collection[int]) -> dict[int, Mapping[str, int]]:
        """Partition -> figures of `driftway.worker.stream.task.task.Task.clocks`, at most INTERVAL_SECONDS old."""
        if partitions and time.monotonic() - self._read_at >= INTERVAL_SECONDS:
            deadline = Deadline(READ_SECONDS)
            try:
                for partition in partitions:
                    found = commit_records(self._reader, self._topic, partition, deadline)
                    self._known[partition] = found[0].clocks if found else {}
            except (KafkaException, TimedOut):
                pass  # what was known is still shown, and the broker's silence is told by the end offsets
            self._read_at = time.monotonic()
        return self._known

    def close(self) -> None:
        """Close the client."""
        self._reader.close()

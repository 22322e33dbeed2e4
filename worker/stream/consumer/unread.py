"""Which partitions of other members the group has not read to their end."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

from confluent_kafka import Consumer, KafkaException

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TaskError
from driftway.worker.kafka.log_reader.reader import committed_offset, open_reader, partitions_of, watermarks
from driftway.worker.settings import WorkerSettings

REQUEST_SECONDS = 2.0
"""Budget for all questions: the loop waits meanwhile."""


def unread_partitions(settings: WorkerSettings, owned: Collection[int]) -> list[int] | None:
    """Return the partitions besides those that are owned whose committed offset is before the end; None: unknown."""
    deadline = Deadline(REQUEST_SECONDS)
    try:
        with closing(open_reader(settings)) as reader:
            partitions = range(partitions_of(reader, settings.input, deadline))
            return [p for p in partitions if p not in owned and _is_unread(reader, settings.input, p, deadline)]
    except (KafkaException, TaskError):
        return None


def _is_unread(reader: Consumer, topic: str, partition: int, deadline: Deadline) -> bool:
    low, end = watermarks(reader, topic, partition, deadline)
    committed, _ = committed_offset(reader, topic, partition, deadline)
    return (low if committed is None else committed) < end

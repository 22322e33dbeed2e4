"""At-least-once, for brokers without transactions: outputs may repeat after a crash, learning may not.

The offset commit carries the snapshot pointer here too, so a restored learner stands exactly at the committed
offset and learns every row once; only the outputs between the last commit and the crash appear twice. None is missing:
a commit whose outputs were not all delivered does not happen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from worker.kafka.deadline import Deadline
from worker.kafka.reports import Span
from worker.kafka.verdicts import insist
from worker.runtime.partition.checkpoint import Checkpoint, Probe
from worker.settings import WorkerSettings
from worker.state.position import Position
from worker.state.snapshot import PLAIN


class PlainCheckpoint(Checkpoint):
    """Produce, flush, then commit the offset through the consumer; same steps, no transaction.

    Parameters
    ----------
    settings, partition, probe
        As `worker.runtime.partition.checkpoint.Checkpoint`.
    consumer : Consumer
        The group member that commits the offsets.
    callbacks : mapping
        Properties of the client that are called.
    """

    every_report = True  # without a transaction nothing else tells of a record that was refused

    def __init__(
        self,
        settings: WorkerSettings,
        partition: int,
        consumer: Consumer,
        probe: Probe | None = None,
        callbacks: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(settings, partition, {"enable.idempotence": True, **(callbacks or {})}, probe)
        self._consumer = consumer
        self._place = TopicPartition(settings.input, partition)

    def acquire(self, deadline: Deadline) -> None:
        """Make a producer; there is nobody to fence."""
        self.renew()

    def _begin(self) -> None:
        """Nothing to open: outputs are visible as soon as the broker has them."""

    def _send_offsets(self, position: Position, membership: Any, deadline: Deadline) -> dict[str, Span]:
        """Nothing to join: the offset is committed on its own, as the last step."""
        text = None if position.pointer is None else position.pointer.text() + PLAIN
        self._place = TopicPartition(self.topics.input, self.partition, position.offset, text)
        return {}

    def _conclude(self, deadline: Deadline) -> None:
        def commit() -> None:
            (answer,) = self._consumer.commit(offsets=[self._place], asynchronous=False)
            if answer.error is not None:
                raise KafkaException(answer.error)

        insist(commit, deadline)

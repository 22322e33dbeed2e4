"""At-least-once, for brokers without transactions: outputs may repeat after a crash, learning may not.

The offset commit carries the snapshot pointer here too, so a restored learner stands exactly at the committed
offset and learns every row once; only the outputs between the last commit and the crash appear twice.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, TopicPartition

from worker.checkpoint import Checkpoint, Probe
from worker.deadline import Deadline
from worker.settings import WorkerSettings
from worker.verdicts import insist


class PlainCheckpoint(Checkpoint):
    """Produce, flush, then commit the offset through the consumer; same steps, no transaction.

    Parameters
    ----------
    settings, partition, probe
        As `worker.checkpoint.Checkpoint`.
    consumer : Consumer
        The group member that commits the offsets.
    """

    def __init__(
        self, settings: WorkerSettings, partition: int, consumer: Consumer, probe: Probe | None = None
    ) -> None:
        super().__init__(settings, partition, {"enable.idempotence": True}, probe)
        self._own["on_delivery"] = self._note_unwritten  # without a transaction nothing else tells of a refusal
        self._consumer = consumer

    def acquire(self, deadline: Deadline) -> None:
        """Make a producer; there is nobody to fence."""
        self.renew()

    def _begin(self) -> None:
        """Nothing to open: outputs are visible as soon as the broker has them."""

    def _send_offsets(self, place: TopicPartition, membership: Any, deadline: Deadline) -> None:
        """Nothing to join: the offset is committed on its own, as the last step."""

    def _conclude(self, place: TopicPartition, deadline: Deadline) -> None:
        insist(lambda: self._consumer.commit(offsets=[place], asynchronous=False), deadline)

    def abort(self, deadline: Deadline) -> None:
        """Nothing can be taken back: what was produced stays, and will be seen twice."""
        self.producer.flush(deadline.remaining())
        self.open = False

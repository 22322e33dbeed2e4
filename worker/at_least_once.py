"""At-least-once, for brokers without transactions: outputs may repeat after a crash, learning may not.

The offset commit carries the snapshot pointer here too, so a restored learner stands exactly at the committed
offset and learns every row once; only the outputs between the last commit and the crash appear twice.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, TopicPartition

from worker.checkpoint import Outlet, Probe, Step, insist
from worker.deadline import Deadline
from worker.model import Outputs
from worker.settings import WorkerSettings
from worker.snapshot import Pointer


class PlainCheckpoint(Outlet):
    """Produce, flush, then commit the offset through the consumer; same steps, no transaction.

    Parameters
    ----------
    settings, partition, probe
        As `worker.checkpoint.Outlet`.
    consumer : Consumer
        The group member that commits the offsets.
    """

    def __init__(
        self, settings: WorkerSettings, partition: int, consumer: Consumer, probe: Probe | None = None
    ) -> None:
        super().__init__(settings, partition, {"enable.idempotence": True}, probe)
        self._consumer = consumer

    def acquire(self, deadline: Deadline) -> None:
        """Make a producer; there is nobody to fence."""
        self.renew()

    def produce(self, outputs: Outputs) -> None:
        """Hand the outputs over."""
        if not self.open:
            self.open = True
            self.reached(Step.BEGUN)
        self.send(outputs)

    def commit(
        self,
        offset: int,
        snapshot: bytes | None,
        pointer: Pointer | None,
        membership: Any,
        deadline: Deadline,
    ) -> Pointer | None:
        """Flush outputs and snapshot, then commit offset and pointer in one record.

        Raises
        ------
        KafkaException, Unfinished
            To be judged by `worker.verdicts`.
        """
        self.reached(Step.OUTPUTS_PRODUCED)
        chunks = 0 if snapshot is None else self.send_snapshot(snapshot)
        self.reached(Step.SNAPSHOT_PRODUCED)
        self.flush(deadline)
        if chunks:
            pointer = self.pointer(chunks, offset)
        self.reached(Step.FLUSHED)
        place = TopicPartition(self.topics.input, self.partition, offset, pointer.text() if pointer else None)
        self.reached(Step.OFFSETS_SENT)
        insist(lambda: self._consumer.commit(offsets=[place], asynchronous=False), deadline)
        self.open = False
        self.reached(Step.COMMITTED)
        return pointer

    def abort(self, deadline: Deadline) -> None:
        """Nothing can be taken back: what was produced stays, and will be seen twice."""
        self.producer.flush(deadline.remaining())
        self.open = False

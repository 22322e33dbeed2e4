"""At-least-once, for brokers without transactions: outputs may repeat after a crash, learning may not.

Here, too, the metadata of the offset has the snapshot pointer. So a restored learner continues exactly at the committed
offset and learns every row once; only the outputs between the last commit and the crash appear twice. None is missing:
the offset is committed only after all outputs were delivered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import retry
from driftway.worker.kafka.interface import Member, OffsetRange
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.snapshot_pointer import AT_LEAST_ONCE_SUFFIX
from driftway.worker.stream.task.committing.checkpoint import Checkpoint, Probe

IDEMPOTENT = {"enable.idempotence": True}
"""Properties of the producer."""


class AtLeastOnceCheckpoint(Checkpoint):
    """Produce, flush, then commit the offset through the consumer; same steps, no transaction.

    Parameters
    ----------
    settings, partition, probe
        As `driftway.worker.stream.task.committing.checkpoint.Checkpoint`.
    member : Member
        Commits the offsets.
    callbacks : mapping
        Client properties that are callbacks, such as `error_cb`.
    """

    every_report = True  # without a transaction, only this shows that a record was refused

    def __init__(
        self,
        settings: WorkerSettings,
        partition: int,
        member: Member,
        probe: Probe | None,
        callbacks: Mapping[str, Any],
    ) -> None:
        super().__init__(settings, partition, {**IDEMPOTENT, **callbacks}, probe)
        self._member = member
        self._next_commit: tuple[int, str | None] = 0, None
        """Offset and metadata of the next commit."""

    def acquire(self, deadline: Deadline) -> None:
        """Create a producer; there is nobody to fence."""
        self.new_producer()

    def _begin(self) -> None:
        """Do nothing: outputs are visible as soon as the broker has them."""

    def _send_offsets(self, record: CommitRecord, group_metadata: Any, deadline: Deadline) -> dict[str, OffsetRange]:
        """Keep the offset; it is committed on its own, as the last step."""
        pointer, read = record.pointer, record.input_read
        text = None if pointer is None else pointer.text() + AT_LEAST_ONCE_SUFFIX + read.metadata()
        self._next_commit = record.offset, text
        return {}

    def _finish_commit(self, deadline: Deadline) -> None:
        retry(lambda: self._member.commit(self.partition, *self._next_commit), deadline)

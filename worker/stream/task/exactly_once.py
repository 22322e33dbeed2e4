"""Exactly-once: one transactional producer per partition, so that taking a partition over is one call.

Outputs, snapshot, position and offset are one transaction. The position is written twice: to the group's coordinator,
and into the partition's own log, which is believed (`driftway.worker.stream.task.restore`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import ErrorAction, classify, query, retry
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.snapshot import commit_record_key
from driftway.worker.stream.task.checkpoint import Checkpoint, Probe

TRANSACTION_TIMEOUT_MS = 60_000
"""How long the broker lets a transaction stay open; twice the commit interval where that is longer."""
CONNECT_SECONDS = 0.07
"""From making a producer to asking for its transactional id; see `_connect`."""
FIRST_TRY_SECONDS = 0.05
"""First wait for `init_transactions`, doubled each time; it takes 4 ms if the last owner left nothing open."""
UNDECIDED = (KafkaError.CONCURRENT_TRANSACTIONS, KafkaError._TIMED_OUT)
"""Answers to `init_transactions` that only mean: not yet."""


class ExactlyOnceCheckpoint(Checkpoint):
    """A partition's transactional producer; parameters as `AtLeastOnceCheckpoint`, which needs a consumer besides."""

    def __init__(
        self,
        settings: WorkerSettings,
        partition: int,
        probe: Probe | None = None,
        callbacks: Mapping[str, Any] | None = None,
    ) -> None:
        self._timeout_ms = max(TRANSACTION_TIMEOUT_MS, int(2000 * settings.commit_interval))
        own = {
            **(callbacks or {}),
            "transactional.id": settings.transactional_id(partition),
            "transaction.timeout.ms": self._timeout_ms,
        }
        super().__init__(settings, partition, own, probe)

    def acquire(self, deadline: Deadline) -> None:
        """New producer, `init_transactions`: fences the last owner and aborts what it left open; then begin.

        While the coordinator is aborting, the client asks it again only every 500 ms, a new client at once.
        """
        patience = FIRST_TRY_SECONDS
        self._connect(deadline)
        while (waits_for := self._try_init_transactions(min(patience, deadline.remaining()), deadline)) is not None:
            if waits_for == KafkaError.CONCURRENT_TRANSACTIONS:
                self._connect(deadline)
            patience *= 2  # a broker that is slow to answer must not be asked ever anew
        self._begin()

    def _try_init_transactions(self, seconds: float, deadline: Deadline) -> int | None:
        """Try once; None, or the error code for which to try again."""
        try:
            self.sender.init_transactions(seconds)
        except KafkaException as error:
            code = int(error.args[0].code())
            if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
                seconds = self._timeout_ms / 1000
                raise UsageFailure(
                    f"the broker lets no transaction stay open for {seconds:g} s, twice --commit-interval "
                    f"and at least {TRANSACTION_TIMEOUT_MS // 1000} s: its max.transaction.timeout.ms is less"
                ) from None
            if deadline.passed or not (code in UNDECIDED or classify(error.args[0]) is ErrorAction.RETRY):
                raise
            return code
        return None

    def _connect(self, deadline: Deadline) -> None:
        """A new producer that knows its broker.

        One that knows none yet looks for its coordinator again only after 500 ms. That is over when the metadata is
        there and the client has had time to settle: asked within 20 ms it still took 500, after 60 ms it takes 10.
        """
        made = time.monotonic()
        self.new_producer()
        query(lambda: self.sender.load_metadata(self.topics.input, deadline.remaining()), deadline)
        time.sleep(max(0.0, made + CONNECT_SECONDS - time.monotonic()))

    def abort(self, deadline: Deadline) -> None:
        """Abort, where nobody takes over soon who would do it; the producer ends with it."""
        retry(lambda: self.sender.abort_transaction(deadline.remaining()), deadline)
        self.close_producer()

    def abort_hanging(self, topic: str, deadline: Deadline) -> None:
        """Decide what a topic holds of an older transaction of ours that the coordinator no longer knows: it is void.

        A coordinator that has lost its memory sends no marker, and readers wait for one without end. The marker of any
        later transaction of the same producer settles the older one too: this one is for nothing else. Acquire again.
        """
        self.sender.send_one(topic, b"", commit_record_key(self.partition))
        self.flush(deadline)
        self.abort(deadline)

    def _begin(self) -> None:
        self.sender.begin_transaction()

    def _send_offsets(self, record: CommitRecord, group_metadata: Any, deadline: Deadline) -> dict[str, OffsetRange]:
        """The offset goes to the coordinator and, with everything else that it may forget, into the log."""
        snapshots, sender, pointer = self.topics.snapshots, self.sender, record.pointer
        sender.send_one(snapshots, record.write(), commit_record_key(self.partition))
        offsets: dict[str, tuple[int, str | None]] = {
            self.topics.input: (record.offset, None if pointer is None else pointer.text())
        }
        if record.labels is not None and record.order is not None:
            offsets[record.labels] = record.order.end.label, None  # for whoever looks at the group's lag
        retry(lambda: sender.send_offsets(offsets, group_metadata, deadline.remaining()), deadline)
        self.flush(deadline)
        behind = 0 if pointer is None else pointer.first + pointer.chunks
        return sender.ranges({snapshots: max(behind, self.ends.get(snapshots, 0))})

    def _finish_commit(self, deadline: Deadline) -> None:
        retry(lambda: self.sender.commit_transaction(deadline.remaining()), deadline)

"""Exactly-once: one transactional producer per partition, so that taking a partition over is one call.

Outputs, snapshot, commit record and offset are one transaction. The offset is written twice: to the group's coordinator
and, in the commit record, to the partition's own log, which decides (`driftway.worker.stream.task.restoring.restore`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import wait
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.deadline import Deadline, on_thread
from driftway.worker.kafka.error_handling import ErrorAction, classify, query, retry
from driftway.worker.kafka.interface import OffsetRange
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.hanging_transactions import EndingTransaction
from driftway.worker.state.changelog.record_keys import commit_record_key
from driftway.worker.stream.task.committing.checkpoint import Checkpoint, Probe

TRANSACTION_TIMEOUT_MS = 60_000
"""How long the broker lets a transaction stay open; twice the commit interval where that is longer."""
LOST_SECONDS = 0.5
"""How long offsets may be on their way once a broker has left the cluster, until the coordinator is taken for lost."""
CONNECT_SECONDS = 0.07
"""Time from creating a producer to initialising its transactional id; see `_connect`."""
METADATA_SECONDS = 5.0
"""Longest wait for metadata, after which the client's own errors are asked for."""
FIRST_TRY_SECONDS = 0.05
"""First wait for `init_transactions`, doubled each time; it takes 4 ms if the last owner left nothing open."""
UNDECIDED = (KafkaError.CONCURRENT_TRANSACTIONS, KafkaError._TIMED_OUT)
"""Errors of `init_transactions` that only mean "not yet"."""


def not_yet(error: KafkaError) -> bool:
    """Whether `init_transactions` may succeed when it is called again."""
    return error.code() in UNDECIDED or classify(error) is ErrorAction.RETRY


def transaction_timeout_ms(settings: WorkerSettings) -> int:
    """Return how long the broker is asked to let a transaction stay open, in ms."""
    return max(TRANSACTION_TIMEOUT_MS, int(2000 * settings.commit_interval))


def refused_timeout(timeout_ms: int) -> UsageFailure:
    """Return the failure of a broker that does not let a transaction stay open for so long."""
    return UsageFailure(
        f"the broker does not let a transaction stay open for {timeout_ms / 1000:g} s, twice --commit-interval "
        f"and at least {TRANSACTION_TIMEOUT_MS // 1000} s: its setting transaction.max.timeout.ms is lower"
    )


class ExactlyOnceCheckpoint(Checkpoint):
    """A partition's transactional producer; parameters as `AtLeastOnceCheckpoint`, without `member`."""

    def __init__(
        self,
        settings: WorkerSettings,
        partition: int,
        probe: Probe | None = None,
        callbacks: Mapping[str, Any] | None = None,
    ) -> None:
        self._timeout_ms = transaction_timeout_ms(settings)
        own = {
            **(callbacks or {}),
            "transactional.id": settings.transactional_id(partition),
            "transaction.timeout.ms": self._timeout_ms,
        }
        self._found_coordinator_at = 0.0
        """When the producer was made, or offsets were last sent, by `time.monotonic`."""
        self._sending_since: float | None = None
        """Since when offsets are being sent; None if none are."""
        super().__init__(settings, partition, own, probe)

    def acquire(self, deadline: Deadline) -> None:
        """Fence the last owner and abort its transaction by `init_transactions` of a new producer; then begin.

        While the coordinator is aborting, a client retries only every 500 ms, but a new client asks at once.
        """
        timeout = FIRST_TRY_SECONDS
        self._connect(deadline)
        while (code := self._try_init_transactions(min(timeout, deadline.remaining()), deadline)) is not None:
            if code == KafkaError.CONCURRENT_TRANSACTIONS:
                self._connect(deadline)
            timeout *= 2  # a slow broker needs time to answer
        self._begin()

    def _try_init_transactions(self, seconds: float, deadline: Deadline) -> int | None:
        """Try once; return None on success, or the code of an error to retry."""
        try:
            self.sender.init_transactions(seconds)
        except KafkaException as error:
            code = int(error.args[0].code())
            if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
                raise refused_timeout(self._timeout_ms) from None
            if deadline.passed or not not_yet(error.args[0]):
                raise
            return code
        return None

    def _connect(self, deadline: Deadline) -> None:
        """Create a producer and wait until it is connected.

        Without a broker, a client retries its coordinator lookup only after 500 ms. Loading the metadata and a short
        pause avoid that: a lookup within 20 ms still took 500 ms, one after 60 ms takes 10.
        """
        created_at = self._found_coordinator_at = time.monotonic()
        self._sending_since = None
        self.new_producer()
        query(partial(self._load_metadata, deadline), deadline)
        time.sleep(max(0.0, created_at + CONNECT_SECONDS - time.monotonic()))

    def _load_metadata(self, deadline: Deadline) -> None:
        """Load the metadata, and let the client report why it cannot: it does so only when it is polled."""
        try:
            self.sender.load_metadata(self.topics.input, min(METADATA_SECONDS, deadline.remaining()))
        finally:
            self.sender.poll(0.0)

    def abort(self, deadline: Deadline) -> None:
        """Abort the transaction, where no takeover will do so soon, and close the producer."""
        retry(lambda: self.sender.abort_transaction(deadline.remaining()), deadline)
        self.close_producer()

    def end_hanging(self, transaction: EndingTransaction, group_metadata: Any, deadline: Deadline) -> None:
        """Execute a transaction that ends earlier ones of ours too, and close the producer."""
        for topic, value in transaction.records.items():
            self.sender.send_one(topic, value, commit_record_key(self.partition))
        self.flush(deadline)
        offsets = {self.topics.input: transaction.offset}
        retry(lambda: self.sender.send_offsets(offsets, group_metadata, deadline.remaining()), deadline)
        if not transaction.commits:
            self.abort(deadline)
            return
        self._finish_commit(deadline)
        self.close_producer()

    def has_lost_coordinator(self, broker_left_at: float) -> bool:
        """Whether offsets wait for a coordinator that has left the cluster: they may wait forever (librdkafka 5511).

        A new producer finds the new coordinator.
        """
        since, now = self._sending_since, time.monotonic()
        if since is None or broker_left_at < self._found_coordinator_at:
            return False
        return now > max(since, broker_left_at) + LOST_SECONDS

    def _begin(self) -> None:
        self.sender.begin_transaction()

    def _send_offsets(self, record: CommitRecord, group_metadata: Any, deadline: Deadline) -> dict[str, OffsetRange]:
        """Send the offset to the coordinator, and write it to the log with all else that the coordinator may lose."""
        snapshots, sender, pointer = self.topics.snapshots, self.sender, record.pointer
        sender.send_one(snapshots, record.write(), commit_record_key(self.partition))
        offsets: dict[str, tuple[int, str | None]] = {
            self.topics.input: (record.offset, None if pointer is None else pointer.text())
        }
        if record.labels is not None and record.order is not None:
            offsets[record.labels] = record.order.end.label, None  # only for tools that show the group's lag
        self._sending_since = time.monotonic()
        # While nothing flushes, the commit record lingers.
        delivered = on_thread(partial(self.flush, deadline), f"commit record {self.partition}")
        try:
            retry(lambda: sender.send_offsets(offsets, group_metadata, deadline.remaining()), deadline)
            self._sending_since, self._found_coordinator_at = None, time.monotonic()
        finally:
            wait([delivered])  # whoever gets an error may drop the producer
        delivered.result()
        snapshot_end = 0 if pointer is None else pointer.first + pointer.chunks
        return sender.ranges({snapshots: max(snapshot_end, self.ends.get(snapshots, 0))})

    def _finish_commit(self, deadline: Deadline) -> None:
        retry(lambda: self.sender.commit_transaction(deadline.remaining()), deadline)

"""Transactions of other producers that stay open in the input: rows behind them cannot be read until they end.

A read_committed consumer, and so the worker's lag, ends at the last stable offset. If a producer has died during a
transaction, the rows after it wait, and the lag does not show them, until the broker aborts the transaction, or
forever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from confluent_kafka import OFFSET_END, Consumer, KafkaException, TopicPartition

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.kafka.log_reader.reader import ANY, MessageReader, open_reader
from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.observability.event_log import EventLog

PATIENCE_SECONDS = 10.0
"""How long a transaction stays open before it is reported: those of a sound producer end sooner."""
REPEAT_SECONDS = 60.0
"""Interval between two lines about the same transaction."""
READ_SECONDS = 3.0


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that holds rows back.

    Parameters
    ----------
    offset : int
        Its first record: the last stable offset.
    waiting : int
        Offsets from there to the end of the log.
    began : float
        When that record was written, in s since 1970; if it could not be read, when the transaction was noticed.
    """

    offset: int
    waiting: int
    began: float

    @property
    def seconds(self) -> int:
        """Seconds since it began."""
        return max(0, int(time.time() - self.began))


def ends_of(reader: Consumer, topic: str, partitions: Collection[int], timeout: float) -> dict[int, int]:
    """Return partition -> end of its log, as the reader sees it; those whose leader does not answer are left out.

    Raises
    ------
    KafkaException
        The broker did not answer within `timeout` seconds.
    """
    queries = [TopicPartition(topic, partition, OFFSET_END) for partition in partitions]
    found = reader.offsets_for_times(queries, timeout=timeout) if queries else []
    return {one.partition: one.offset for one in found if one.error is None}


class OpenTransactions:
    """Finds and reports open transactions in the input.

    Parameters
    ----------
    settings : WorkerSettings
        Where the cluster is, and the input.
    event_log : EventLog
        Where they are logged.
    clock : callable
        Monotonic time in seconds.
    """

    def __init__(self, settings: WorkerSettings, event_log: EventLog, clock: Callable[[], float]) -> None:
        self._settings, self._event_log, self._clock = settings, event_log, clock
        self.found: dict[int, OpenTransaction] = {}
        """Partition -> its oldest open transaction, once it has stayed open for PATIENCE_SECONDS."""
        self._noticed: dict[int, tuple[int, float]] = {}
        """Partition -> last stable offset below the log's end, and since when it has been that."""
        self._logged: dict[int, tuple[int, float]] = {}
        """Partition -> offset of the transaction that was logged last, and when."""
        self._reader: Consumer | None = None

    def ends(self, partitions: Collection[int], timeout: float) -> dict[int, int]:
        """Return the ends of the logs, open transactions included.

        To be asked before the last stable offsets: one that is still lower afterwards proves an open transaction.

        Raises
        ------
        KafkaException
            The broker did not answer.
        """
        return ends_of(self._uncommitted(), self._settings.input, partitions, timeout)

    def close(self) -> None:
        """Close the client; the next question makes another."""
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def check(self, ends: Mapping[int, int], stable: Mapping[int, int], patience: float = PATIENCE_SECONDS) -> None:
        """Compare ends of logs with last stable offsets; log transactions that have stayed open for `patience` s."""
        now, found = self._clock(), dict[int, OpenTransaction]()
        open_at = {p: offset for p, offset in stable.items() if offset < ends.get(p, offset)}
        self._noticed = {p: self._since(p, offset, now) for p, offset in open_at.items()}
        for partition, (offset, noticed_at) in self._noticed.items():
            if now - noticed_at < patience:
                continue
            before = self.found.get(partition)
            began = before.began if before is not None and before.offset == offset else self._began(partition, offset)
            found[partition] = OpenTransaction(offset, ends[partition] - offset, began)
        self.found = found
        for partition, one in found.items():
            self._log(partition, one, now)

    def summary(self) -> dict[str, object]:
        """Return the facts for the log's summary; none if nothing waits."""
        if not self.found:
            return {}
        waiting = sum(one.waiting for one in self.found.values())
        return {
            "behind_open_transactions": waiting,
            "open_seconds": max(one.seconds for one in self.found.values()),
            "open_at": ",".join(f"{self._settings.input}/{p}@{one.offset}" for p, one in sorted(self.found.items())),
        }

    def _since(self, partition: int, offset: int, now: float) -> tuple[int, float]:
        before = self._noticed.get(partition)
        return before if before is not None and before[0] == offset else (offset, now)

    def _log(self, partition: int, one: OpenTransaction, now: float) -> None:
        offset, logged_at = self._logged.get(partition, (-1, 0.0))
        if offset == one.offset and now - logged_at < REPEAT_SECONDS:
            return
        self._logged[partition] = one.offset, now
        self._event_log.warning(
            "rows wait behind an open transaction of another producer",
            at=f"{self._settings.input}/{partition}@{one.offset}",
            offsets=one.waiting,
            seconds=one.seconds,
        )

    def _began(self, partition: int, offset: int) -> float:
        """Return when the record at an offset was written; now if that cannot be read."""
        reading = MessageReader(self._uncommitted(), {(self._settings.input, partition): offset})
        try:
            message = reading.next(Deadline(READ_SECONDS), f"{self._settings.input}/{partition} was")
        except (KafkaException, TimedOut):
            return time.time()
        finally:
            self._uncommitted().unassign()
        return time.time() if message is None else message.timestamp()[1] / 1000

    def _uncommitted(self) -> Consumer:
        if self._reader is None:
            self._reader = open_reader(self._settings, ANY)
        return self._reader

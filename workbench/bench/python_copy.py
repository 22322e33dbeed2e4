"""A copier to compare the worker with: consume in batches, produce the same bytes in batches, commit.

Runs as a separate process, ``python -m driftway.workbench.bench.python_copy ERRAND`` (a JSON object, see `CopyJob`). It
has the worker's client settings, batch size, commit interval and guarantee, but none of its duties: no keys, no
timestamps, no decoding, no state, no metrics. Per message it does only what the client requires: take the value out of
a message and put it into a record. Its garbage collector is off: collections would traverse every message and record of
a batch, none of which is ever part of a cycle.

It is tuned as far as possible: poll for the first message and drain with timeout 0; one produce call per partition
and batch; one transactional producer for the process (one per partition was not faster with 2 partitions, and each
commit of each producer takes three requests).
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from driftway.worker.kafka.client_config import (
    CONSUMER_TUNING,
    PRODUCER_TUNING,
    QUEUE_MESSAGES,
    Properties,
    base_properties,
    quiet,
    without_membership,
)
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES, by_partition
from driftway.worker.settings import EXACTLY_ONCE
from driftway.worker.stream.task.committing.exactly_once import TRANSACTION_TIMEOUT_MS

IDLE_SECONDS = 0.1
CALL_SECONDS = 30.0


@dataclass(frozen=True)
class CopyJob:
    """What to copy.

    Parameters
    ----------
    bootstrap, input, output, group : str
        The broker's address, both topics, and the consumer group.
    commit_interval : float
        Seconds from the beginning of one commit to the next, as the worker counts them.
    guarantee : str
        ``exactly-once``: transactions; else flush, then commit.
    stop_at_end : bool
        Stop when every assigned partition has been read to its end and committed.
    passthrough : dict
        Further client properties.
    """

    bootstrap: str
    input: str
    output: str
    group: str
    commit_interval: float
    guarantee: str
    stop_at_end: bool
    passthrough: dict[str, Any] = field(default_factory=dict)


class Copier:
    """Copies until it is stopped; subclasses provide the client.

    Parameters
    ----------
    job : CopyJob
        What to copy.
    """

    def __init__(self, job: CopyJob) -> None:
        self.job = job
        self.stopped = False
        self.exactly_once = job.guarantee == EXACTLY_ONCE
        self.positions: dict[int, int] = {}
        """Partition -> next offset, for partitions with records since the last commit."""
        self.assigned: set[int] = set()
        self.at_end: set[int] = set()
        self._interval_began_at = 0.0

    def run(self) -> None:
        """Copy until stopped or finished; then commit and leave."""
        while not (self.stopped or self._finished()):
            self.copy(self._poll_timeout())
            if self.positions and time.monotonic() >= self._interval_began_at + self.job.commit_interval:
                self.commit()
        self.commit()
        self.leave()

    def copy(self, seconds: float) -> None:
        """Copy available messages, waiting up to `seconds` for the first; note positions and ends of partitions."""
        raise NotImplementedError

    def begin(self) -> None:
        """Open a transaction."""
        raise NotImplementedError

    def deliver_and_commit(self) -> None:
        """Deliver everything and commit `positions`."""
        raise NotImplementedError

    def leave(self) -> None:
        """Leave the group."""
        raise NotImplementedError

    def open(self) -> None:
        """Begin a transaction, if needed, before the first records since a commit."""
        if not self.positions and self.exactly_once:
            self.begin()

    def commit(self) -> None:
        """Commit what was copied, if anything."""
        if self.positions:
            self._interval_began_at = time.monotonic()
            self.deliver_and_commit()
            self.positions.clear()

    def on_assign(self, partitions: set[int]) -> None:
        """Handle an assignment."""
        self.assigned |= partitions

    def on_revoke(self, partitions: set[int]) -> None:
        """Commit before partitions are revoked."""
        self.commit()
        self.assigned -= partitions
        self.at_end -= partitions

    def producer_properties(self) -> Properties:
        """Return the worker's producer properties for the job's guarantee."""
        base = base_properties(self.job.bootstrap, self.job.passthrough)
        own: Properties = {"enable.idempotence": True}
        if self.exactly_once:
            transactional_id = f"{self.job.group}-{os.getpid()}"
            own = {"transactional.id": transactional_id, "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS}
        return quiet({**PRODUCER_TUNING, **without_membership(base), **own})

    def consumer_properties(self) -> Properties:
        """Return the worker's consumer properties."""
        own = {
            "group.id": self.job.group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": self.job.stop_at_end,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        return quiet({**CONSUMER_TUNING, **base_properties(self.job.bootstrap, self.job.passthrough), **own})

    def _poll_timeout(self) -> float:
        if not self.positions:
            return IDLE_SECONDS
        return max(0.0, min(IDLE_SECONDS, self._interval_began_at + self.job.commit_interval - time.monotonic()))

    def _finished(self) -> bool:
        return self.job.stop_at_end and bool(self.assigned) and self.assigned <= self.at_end and not self.positions


class PythonCopier(Copier):
    """Copies by the Python client."""

    def __init__(self, job: CopyJob) -> None:
        super().__init__(job)
        self._producer = Producer(self.producer_properties())
        if self.exactly_once:
            self._producer.init_transactions(CALL_SECONDS)
        self._consumer = Consumer(self.consumer_properties())
        self._consumer.subscribe(
            [job.input],
            on_assign=lambda _consumer, topic_partitions: self.on_assign({one.partition for one in topic_partitions}),
            on_revoke=lambda _consumer, topic_partitions: self.on_revoke({one.partition for one in topic_partitions}),
        )

    def copy(self, seconds: float) -> None:
        first = self._consumer.poll(seconds)
        if first is not None:
            self._copy([first, *self._consumer.consume(BATCH_MESSAGES - 1, timeout=0)])

    def begin(self) -> None:
        self._producer.begin_transaction()

    def deliver_and_commit(self) -> None:
        topic_partitions = [TopicPartition(self.job.input, p, offset) for p, offset in self.positions.items()]
        if self._producer.flush(CALL_SECONDS):
            raise RuntimeError(f"the broker did not accept the records within {CALL_SECONDS:.0f} s")
        if self.exactly_once:
            membership = self._consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction(topic_partitions, membership, CALL_SECONDS)
            self._producer.commit_transaction(CALL_SECONDS)
        else:
            self._consumer.commit(offsets=topic_partitions, asynchronous=False)

    def leave(self) -> None:
        self._consumer.close()

    def _copy(self, messages: list[Message]) -> None:
        try:
            shares = by_partition(messages)
        except TypeError:  # an error that belongs to no partition
            for message in messages:
                if message.partition() is None:
                    self._note(message.error(), None)
            shares = by_partition([message for message in messages if message.partition() is not None])
        for partition, share in shares.items():
            rows = share if _all_rows(share) else [message for message in share if message.error() is None]
            if rows:
                self.at_end.discard(partition)
                self._produce(partition, rows)
            if rows is not share:
                for message in share:
                    self._note(message.error(), partition)

    def _produce(self, partition: int, messages: list[Message]) -> None:
        self.open()
        producer = self._producer
        records = [{"value": message.value()} for message in messages]
        while len(producer) + len(records) > QUEUE_MESSAGES:
            producer.poll(0.01)
        if producer.produce_batch(self.job.output, records, partition=partition) != len(records):
            raise RuntimeError(f"records of partition {partition} were refused")
        producer.poll(0)
        self.positions[partition] = (messages[-1].offset() or 0) + 1

    def _note(self, error: KafkaError | None, partition: int | None) -> None:
        if error is None:
            return
        if error.code() == KafkaError._PARTITION_EOF and partition is not None:
            self.at_end.add(partition)
        elif error.fatal() or not error.retriable():
            raise KafkaException(error)


def _all_rows(share: list[Message]) -> bool:
    """Whether one partition's messages contain no error, without checking each.

    An error takes the place of a message but has no offset of its own, so the number of messages then does not match
    their offsets. The bench's inputs have no gaps: they are written without transactions and not compacted.
    """
    first, last = share[0].offset(), share[-1].offset()
    return share[-1].error() is None and first is not None and last is not None and last - first == len(share) - 1


def run(copier: Callable[[CopyJob], Copier], argument: str) -> None:
    """Run one job until it is finished, or until SIGTERM or SIGINT."""
    gc.disable()
    running = copier(CopyJob(**json.loads(argument)))
    stop: Callable[[int, object], None] = lambda *_: setattr(running, "stopped", True)  # noqa: E731
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, stop)
    running.run()


if __name__ == "__main__":
    run(PythonCopier, sys.argv[1])

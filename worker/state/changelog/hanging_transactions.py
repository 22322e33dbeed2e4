"""End transactions of a partition that have no end marker and will not get one, before its logs are read.

Kafka 4.3.1 and 4.4.0 write no marker to a partition without a leader, and so to none of a lone broker that is starting
(KAFKA-20734); a coordinator that lost its state writes none either. The records then hang: the next marker of the same
producer decides about them too, whatever their own transaction came to. A worker that went on would commit outputs of
rows that it writes again, or abort outputs that it does not. So after a takeover, when no transaction of the partition
can be open, what still hangs is ended on purpose:

1. If a commit record hangs, its transaction was complete: it is committed in the snapshot topic and in the group's
   offsets, by a transaction that repeats the record.
2. All else is aborted. What committed transactions lose by that is written again
   (`driftway.worker.stream.task.output_repair`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from driftway.worker.kafka.client_config import base_properties, quiet, without_membership
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut, query, retry
from driftway.worker.kafka.log_reader.reader import MessageReader, committed_offset, ignore_out_of_range, watermarks
from driftway.worker.kafka.log_reader.visibility import await_stable
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.snapshot import commit_record_key

UNDECIDED_SECONDS = 2.0
"""How long to wait for an end marker: a takeover returns once the coordinator has all of them written."""


class HangingTransactions:
    """What hangs in a partition's outputs and in the group's offsets, right after a takeover.

    Parameters
    ----------
    settings : WorkerSettings
        Topics, group and client properties.
    partition : int
        The partition.
    readers : tuple of Consumer
        A read_committed and a read_uncommitted reader, both with the group's id.
    deadline : Deadline
        For all calls together.

    Raises
    ------
    KafkaException, TimedOut
        By all methods: the broker did not answer in time.
    """

    def __init__(
        self, settings: WorkerSettings, partition: int, readers: tuple[Consumer, Consumer], deadline: Deadline
    ) -> None:
        self._settings, self._partition, self._deadline = settings, partition, deadline
        self._reader, self._uncommitted_reader = readers

    def find(self, ends: Mapping[str, int]) -> dict[str, int]:
        """Return topic -> offset of its first hanging record; `ends` are the topics' log ends."""
        patience, found = Deadline(UNDECIDED_SECONDS), dict[str, int]()
        for topic, end in ends.items():
            if not self._is_stable(topic, end, patience):
                found[topic] = watermarks(self._reader, topic, self._partition, self._deadline)[1]
        return found

    def offset_hangs(self) -> bool:
        """Return whether the group's offset of the partition stays undecided; readers get none until then."""
        place = self._settings.input, self._partition
        for _ in range(2):
            try:
                committed_offset(self._reader, *place, Deadline(min(UNDECIDED_SECONDS, self._deadline.left)))
            except KafkaException:  # undecided, or the coordinator does not answer; it answers the other reader at once
                pass
            else:
                return False
            committed_offset(self._uncommitted_reader, *place, self._deadline)
        return True

    def end(self, hanging: Mapping[str, int]) -> None:
        """End what hangs in these topics and in the group's offsets.

        It fences the partition's producer, which must be acquired again.
        """
        snapshots = self._settings.topics.snapshots
        record = self._hanging_record(hanging[snapshots]) if snapshots in hanging else None
        left = set(hanging)
        if record is not None:
            left.discard(snapshots)
            pointer = None if record.pointer is None else record.pointer.text()
            with self._transaction({snapshots: record.write()}, (record.offset, pointer)) as producer:
                retry(lambda: producer.commit_transaction(self._deadline.remaining()), self._deadline)
        if left or record is None:
            offset, pointer = committed_offset(
                self._uncommitted_reader, self._settings.input, self._partition, self._deadline
            )
            with self._transaction(dict.fromkeys(left, b""), (offset or 0, pointer)) as producer:
                retry(lambda: producer.abort_transaction(self._deadline.remaining()), self._deadline)
        patience = Deadline(UNDECIDED_SECONDS)
        for topic in hanging:
            end = watermarks(self._uncommitted_reader, topic, self._partition, self._deadline)[1]
            if not self._is_stable(topic, end, patience):
                raise TimedOut(f"an open transaction hides the end of {topic}/{self._partition}")

    def _is_stable(self, topic: str, end: int, patience: Deadline) -> bool:
        return await_stable(self._reader, topic, self._partition, end, self._deadline, patience.left)

    def _hanging_record(self, first: int) -> CommitRecord | None:
        """Return the last commit record that hangs, None if there is none."""
        found, snapshots = None, self._settings.topics.snapshots
        reading = MessageReader(
            self._uncommitted_reader, {(snapshots, self._partition): first}, on_error=ignore_out_of_range
        )
        while (message := reading.next(self._deadline, f"{snapshots}/{self._partition} was")) is not None:
            if message.key() == commit_record_key(self._partition):
                found = CommitRecord.read(message.value()) or found
        return found

    @contextlib.contextmanager
    def _transaction(self, records: Mapping[str, bytes], offset: tuple[int, str | None]) -> Iterator[Producer]:
        """Take the partition over once more, and write a record to each topic, and the offset; the caller ends it."""
        settings, deadline = self._settings, self._deadline
        properties = without_membership(base_properties(settings.bootstrap, settings.passthrough))
        producer = Producer(quiet({**properties, "transactional.id": settings.transactional_id(self._partition)}))
        query(lambda: producer.list_topics(settings.input, deadline.remaining()), deadline)
        retry(lambda: producer.init_transactions(deadline.remaining()), deadline)
        producer.begin_transaction()
        for topic, value in records.items():
            producer.produce(topic, value, key=commit_record_key(self._partition), partition=self._partition)
        if producer.flush(deadline.remaining()) > 0:
            raise TimedOut(f"the broker did not take records for {', '.join(sorted(records))} in time")
        given: Any = {} if offset[1] is None else {"metadata": offset[1]}  # must not be None
        place = TopicPartition(settings.input, partition=self._partition, offset=offset[0], **given)
        member = self._reader.consumer_group_metadata()
        retry(lambda: producer.send_offsets_to_transaction([place], member, deadline.remaining()), deadline)
        yield producer

"""End transactions of a partition that have no end marker and will not get one, before its logs are read.

Kafka 4.3.1 and 4.4.0 write no marker to a partition without a leader, so a single broker writes none at its start
(KAFKA-20734). A coordinator that lost its state writes none either. The records then remain open: the next marker of
the same producer decides about them too, whatever the result of their own transaction was. A worker that continued
would commit outputs of rows that it writes again, or abort outputs that it does not. So after a takeover, when no
transaction of the partition can be in use, open ones are ended:

1. If a commit record hangs, its transaction was complete: it is committed in the snapshot topic and in the group's
   offsets, by a transaction that repeats the record.
2. All else is aborted. What committed transactions lose by that is written again
   (`driftway.worker.stream.task.restoring.output_repair`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.kafka.log_reader.reader import MessageReader, committed_offset, ignore_out_of_range, watermarks
from driftway.worker.kafka.log_reader.visibility import await_stable, log_ends
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.record_keys import commit_record_key

UNDECIDED_SECONDS = 2.0
"""How long to wait for an end marker: a takeover returns once the coordinator has all of them written."""


@dataclass(frozen=True)
class EndingTransaction:
    """A transaction whose end marker also ends what hangs of earlier ones in its topics.

    Parameters
    ----------
    records : mapping
        Topic -> value of a record to write to the partition.
    offset : tuple
        The group's offset of the partition and its metadata, sent to the transaction.
    commits : bool
        Whether it is committed; otherwise it is aborted, its records and offset with it.
    """

    records: Mapping[str, bytes]
    offset: tuple[int, str | None]
    commits: bool


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
        topic_partition = self._settings.input, self._partition
        for _ in range(2):
            try:
                committed_offset(self._reader, *topic_partition, Deadline(min(UNDECIDED_SECONDS, self._deadline.left)))
            except KafkaException:  # undecided, or the coordinator does not answer; it answers the other reader at once
                pass
            else:
                return False
            committed_offset(self._uncommitted_reader, *topic_partition, self._deadline)
        return True

    def endings(self, hanging: Mapping[str, int]) -> Iterator[EndingTransaction]:
        """Yield the transactions that end what hangs in these topics and in the group's offset, each after the other.

        Parameters
        ----------
        hanging : mapping
            Topic -> offset of its first hanging record.
        """
        snapshots, left = self._settings.topics.snapshots, set(hanging)
        record = self._hanging_record(hanging[snapshots]) if snapshots in hanging else None
        if record is not None:
            left.discard(snapshots)
            pointer = None if record.pointer is None else record.pointer.text()
            yield EndingTransaction({snapshots: record.write()}, (record.offset, pointer), commits=True)
        if left or record is None:
            topic_partition = self._settings.input, self._partition
            offset, pointer = committed_offset(self._uncommitted_reader, *topic_partition, self._deadline)
            yield EndingTransaction(dict.fromkeys(left, b""), (offset or 0, pointer), commits=False)

    def require_ended(self, topics: Iterable[str]) -> None:
        """Fail with `TimedOut` if a transaction still hides the end of one of the topics."""
        ends = log_ends(self._uncommitted_reader, topics, self._partition, self._deadline)
        for topic in self.find(ends):
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

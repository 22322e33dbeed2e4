"""Where messages enter: the group's consumer, and what it delivers as columns per partition.

Of a partition that was sent to an offset nothing is believed but rows from that offset on: a seek that the client has
lost would leave a hole. And nothing here waits for the client without end.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import CannotRestore, Failure, Fenced
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES
from driftway.worker.kafka.error_handling import is_permanent
from driftway.worker.kafka.interface import ClientError, Partitions, PollResult
from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.background.call import call_with_timeout
from driftway.worker.stream.consumer.membership import NAME_TAKEN, GroupMembership
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.wire.events import Records

FIRST_BATCH = 32
"""Rows of the first batch, for the slowest learners there are; doubled while turns stay short."""
TURN_SECONDS = 1.0
"""What a batch should take at most: a slow learner gets smaller ones, so that the group hears from its worker."""

SEEK_SECONDS = 10.0
"""A seek, pause or resume is a message to the client's own thread, and its answer; it knows no time limit."""


class PartitionConsumer:
    """The worker's membership in the consumer group, and its messages.

    Parameters
    ----------
    settings : WorkerSettings
        Topic, group, client properties.
    event_log : EventLog
        Where errors that pass by themselves are logged.
    assigned, revoked, lost : Partitions
        Rebalances. Assigned partitions are paused until `seek_and_resume`.
    callbacks : mapping
        Properties of the client that are called.

    Raises
    ------
    UsageFailure
        A client property is not valid.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        event_log: EventLog,
        assigned: Partitions,
        revoked: Partitions,
        lost: Partitions,
        callbacks: Mapping[str, Callable[[Any], None]] | None = None,
    ) -> None:
        self.settings = settings
        self.event_log = event_log
        self.at_end: set[int] = set()
        """Partitions read to their end; filled with `stop_at_end` only."""
        self.misplaced: dict[int, tuple[int, int]] = {}
        """Partition -> where it was sent to, and the offset of the row that came from elsewhere; paused since."""
        self.skipped_offsets: Counter[int] = Counter()
        """Partition -> offsets of which no row came: markers, what transactions aborted, what compaction has taken."""
        self._batch = FIRST_BATCH
        self._in_poll = False
        """Whether this is inside a call of the client: what it calls back may not call it from another thread."""
        self._deferred: dict[int, Callable[[int], None]] = {}
        """Partition -> what is to be done with it once the client has come back."""
        self._owned: set[int] = set()
        """Partitions that the group has assigned."""
        self._moved: set[int] = set()
        """Partitions that `seek_and_resume` has sent somewhere since the last `poll` began."""
        self._seek_offsets: dict[int, int] = {}
        """Partition -> the offset from which its next row has to come, until it has."""
        self._next_offsets: dict[int, int] = {}
        """Partition -> the offset behind its last row."""
        self._assigned, self._revoked, self._lost = assigned, revoked, lost
        listeners = self._on_assign, self._on_revoke, self._on_lost
        self._membership = GroupMembership(settings, event_log, listeners, callbacks or {})
        self.member = self._membership.join()

    @property
    def poll_interval_seconds(self) -> float:
        """How long the group waits for this member to poll."""
        return self._membership.poll_interval_seconds

    def poll(self, wait: float) -> list[Records]:
        """What the client has, at most a batch, after waiting up to `wait` seconds for the first.

        Raises
        ------
        Fenced, CannotRestore, Failure
            The broker refuses this consumer for good.
        """
        self._moved.clear()
        member = self.member
        records, problems = self._drain(wait)
        self.at_end.difference_update(share.partition for share in records)
        for problem in problems:  # after the rows: an end of partition comes behind its last row
            if self.member is member:
                self._handle_error(problem)
        return [share for share in self._drop_moved(records) if self._starts_at_seek(share)]

    def adapt_batch_size(self, seconds: float, rows: int) -> None:
        """Choose the size of the next batch by how long the last one took, of so many rows."""
        if seconds > TURN_SECONDS:
            self._batch = max(1, int(rows * TURN_SECONDS / seconds))
        elif rows >= self._batch and seconds < TURN_SECONDS / 2:
            self._batch = min(2 * self._batch, BATCH_MESSAGES)

    def _drain(self, wait: float) -> PollResult:
        """What the client has; then do what must not be done while it calls back."""
        self._in_poll = True
        taken = self.member.poll(self._batch, wait)
        self._in_poll = False
        later, self._deferred = self._deferred, {}
        for partition, do in later.items():
            do(partition)
        return taken

    def _drop_moved(self, arrived: list[Records]) -> list[Records]:
        """What was taken, without partitions that a callback has moved meanwhile.

        The client may have collected rows of theirs before it called back: they would be taken for the next ones.
        """
        for partition in self._moved & self._seek_offsets.keys():
            self._seek(partition, self._seek_offsets[partition])
        return [records for records in arrived if records.partition not in self._moved]

    def _starts_at_seek(self, records: Records) -> bool:
        """Whether rows come from where their partition was sent; if not, it is paused, and `misplaced` says so."""
        partition, first, last = records.partition, int(records.offsets[0]), int(records.offsets[-1])
        if partition in self.misplaced:
            return False
        asked = self._seek_offsets.pop(partition, first)
        if first != asked:
            self.misplaced[partition] = asked, first
            self.pause(partition)
            return False
        before = self._next_offsets.get(partition, first)
        self.skipped_offsets[partition] += max(0, first - before) + (last - first + 1 - len(records))
        self._next_offsets[partition] = last + 1
        return True

    def group_metadata(self) -> Any:
        """The group metadata that fences a commit by a member whom the group has left behind."""
        return self.member.metadata()

    def seek_and_resume(self, partition: int, offset: int) -> bool:
        """Seek to an offset and let the partition flow; whether it is at its end is to be seen anew.

        Parameters
        ----------
        partition : int
            Which; paused until now.
        offset : int
            That of the next row, or the log's end: the next row has to come from there.

        Returns
        -------
        bool
            Whether the client does. If not, the partition is about to be taken away, or has to be restored.
        """
        self.at_end.discard(partition)
        self.misplaced.pop(partition, None)
        self._next_offsets.pop(partition, None)
        self._moved.add(partition)
        self._seek_offsets[partition] = offset
        return self._seek(partition, offset)

    def _seek(self, partition: int, offset: int) -> bool:
        def seek_and_resume() -> None:
            self.member.seek(partition, offset)
            self.member.resume(partition)

        try:
            call_with_timeout(seek_and_resume, SEEK_SECONDS, f"a seek of {self.settings.input}/{partition}")
        except KafkaException as error:
            self.event_log.event("seek refused", partition=partition, error=error.args[0].str())
            return False
        return True

    def pause(self, partition: int) -> None:
        """Hold a partition back; one that has just been taken away has nothing to be held."""
        self._pause_or_resume(partition, self.pause, self.member.pause, "pause")

    def resume(self, partition: int) -> None:
        """Let a partition flow again from where it was held back."""
        self._pause_or_resume(partition, self.resume, self.member.resume, "resume")

    def _pause_or_resume(
        self, partition: int, deferred: Callable[[int], None], call: Callable[[int], None], name: str
    ) -> None:
        if self._in_poll:
            self._deferred[partition] = deferred
            return
        with contextlib.suppress(KafkaException):
            call_with_timeout(lambda: call(partition), SEEK_SECONDS, f"a {name} of {self.settings.input}/{partition}")

    def close(self) -> None:
        """Leave the group."""
        self._in_poll = True
        self.member.close()

    def _handle_error(self, problem: ClientError) -> None:
        """Sort an error that came in a message's place."""
        error, partition, offset = problem
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            self._record_end(partition, offset)
        elif code == KafkaError._AUTO_OFFSET_RESET:
            raise CannotRestore(
                f"{self.settings.input}/{partition}: the log no longer holds the next offset; "
                "--if-offset-lost earliest or latest chooses where to go on"
            )
        elif self._membership.may_rejoin(error.str()):
            self._rejoin()
        elif code == KafkaError._FATAL or is_permanent(error):
            # A fenced static member is told as a fatal error that names what it was fenced by in its text only.
            named = "group.instance.id" in error.str() or NAME_TAKEN in error.str()
            kind = Fenced if named or code in (KafkaError.FENCED_INSTANCE_ID, KafkaError._FENCED) else Failure
            raise kind(f"the broker refused this consumer: {error.str()}")
        elif code == KafkaError.INCONSISTENT_GROUP_PROTOCOL and self._membership.join_timed_out():
            raise Failure(
                f"the members of group {self.settings.group} share out partitions in another way: start with the same "
                "-X partition.assignment.strategy, or when they have left"
            )
        else:
            self.event_log.event("consumer error", error=error.str())

    def _rejoin(self) -> None:
        """Be another member: the client has ended this one, and does not say what it had."""
        ours = sorted(self._owned)
        if ours:
            self._lost(ours)
            self._forget(ours)
        self.member = self._membership.rejoin()

    def _record_end(self, partition: int, offset: int | None) -> None:
        """The end of a partition was reached; of one that was sent elsewhere it is not its own."""
        asked = self._seek_offsets.get(partition, offset)
        if asked is not None and offset is not None and asked != offset:
            self.misplaced[partition] = asked, offset
            self.pause(partition)
            return
        self.at_end.add(partition)

    def _on_assign(self, partitions: list[int]) -> None:
        self._membership.joined()
        self._owned.update(partitions)
        self.member.assign_paused(partitions)
        self._assigned(partitions)

    def _on_revoke(self, partitions: list[int]) -> None:
        self._revoked(partitions)
        self._release(partitions)

    def _on_lost(self, partitions: list[int]) -> None:
        self._lost(partitions)
        self._release(partitions)

    def _release(self, partitions: list[int]) -> None:
        self._forget(partitions)
        self.member.unassign(partitions)

    def _forget(self, partitions: list[int]) -> None:
        self._owned.difference_update(partitions)
        for partition in partitions:
            self.at_end.discard(partition)
            self._deferred.pop(partition, None)
            self.misplaced.pop(partition, None)
            self._seek_offsets.pop(partition, None)
            self._next_offsets.pop(partition, None)

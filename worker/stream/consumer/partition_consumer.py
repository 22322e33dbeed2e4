"""The group's consumer, which delivers messages as columns per partition.

After a seek, a partition's rows are accepted only from that offset on, because a seek that the client lost would leave
a gap. No call waits for the client forever.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import Failure, Fenced
from driftway.worker.kafka.error_handling import MISSING, UNREADABLE, explained, is_permanent, with_right
from driftway.worker.kafka.interface import ClientError, Partitions, PollResult
from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.background.call import call_with_timeout
from driftway.worker.stream.consumer.batch_size import BatchSize
from driftway.worker.stream.consumer.membership import NAME_TAKEN, GroupMembership
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.wire.events import Records

INSTANCE_ID = "group.instance.id"
GATHER_SECONDS, FEW_ROWS = 0.01, 1000
"""How long rows gather after a poll that has returned fewer than these, which were all there were: see `_gather`."""
SEEK_SECONDS = 10.0
"""Timeout of a seek, pause or resume: each waits for the client's own thread, and has no timeout by itself."""


class PartitionConsumer:
    """The worker's membership in the consumer group, and its messages.

    Parameters
    ----------
    settings : WorkerSettings
        Topic, group, client properties.
    event_log : EventLog
        Where transient errors are logged.
    assigned, revoked, lost : Partitions
        Rebalance callbacks. Assigned partitions are paused until `seek_and_resume`.
    callbacks : mapping
        Client properties that are callbacks, such as `error_cb`.
    broker_session_ms : int
        See `driftway.worker.stream.startup.ClusterFacts`.

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
        broker_session_ms: int = 0,
    ) -> None:
        self.settings = settings
        self.event_log = event_log
        self.at_end: set[int] = set()
        """Partitions read to their end; filled with `stop_at_end` only."""
        self.misplaced: dict[int, tuple[int, int]] = {}
        """Partition -> sought offset, and offset of the row that came instead; paused since then."""
        self.unreadable: dict[int, str] = {}
        """Partition -> why the batch at its position cannot be read; since its last seek."""
        self.out_of_range: dict[int, str] = {}
        """Partition -> why it must be restored: a log does not hold the next offset; paused since then."""
        self.skipped_offsets: Counter[int] = Counter()
        """Partition -> number of offsets without a row: markers, and aborted or compacted records."""
        self.batch_size = BatchSize()
        self._few = False
        """Whether the last poll returned few rows, and all there were."""
        self._in_poll = False
        """Whether a call of the client is running: its callbacks may not call it from another thread."""
        self._deferred: dict[int, Callable[[int], None]] = {}
        """Partition -> what to do with it once the client's call has returned."""
        self._owned: set[int] = set()
        """Partitions that the group has assigned."""
        self._moved: set[int] = set()
        """Partitions that `seek_and_resume` has moved since the last `poll` began."""
        self._seek_offsets: dict[int, int] = {}
        """Partition -> the offset that its next row must have, until it has come."""
        self._next_offsets: dict[int, int] = {}
        """Partition -> the offset after its last row."""
        self._assigned, self._revoked, self._lost = assigned, revoked, lost
        listeners = self._on_assign, self._on_revoke, self._on_lost
        self._membership = GroupMembership(settings, event_log, listeners, callbacks or {}, broker_session_ms)
        self.member = self._membership.join()

    @property
    def poll_interval_seconds(self) -> float:
        """How long the group waits for this member to poll."""
        return self._membership.poll_interval_seconds

    def poll(self, wait: float) -> list[Records]:
        """Return what the client has, at most a batch, waiting up to `wait` seconds for the first message.

        Raises
        ------
        Fenced, Failure
            The topic is gone, or the broker refuses this consumer for good.
        """
        self._moved.clear()
        member = self.member
        records, problems = self._drain(wait)
        self.at_end.difference_update(batch.partition for batch in records)
        records = [batch for batch in self._drop_moved(records) if self._starts_at_seek(batch)]
        for problem in problems:  # after the rows: an end of partition follows its last row
            if self.member is member:
                self._handle_error(problem)
        self._membership.report_wait()
        return records

    def _drain(self, wait: float) -> PollResult:
        """Poll the client, then do what its callbacks had to defer."""
        wait -= self._gather(wait)
        self._in_poll = True
        polled = self.member.poll(self.batch_size.rows, wait)
        self._in_poll = False
        self._few = 0 < sum(map(len, polled.records)) < min(FEW_ROWS, self.batch_size.rows)
        deferred, self._deferred = self._deferred, {}
        for partition, action in deferred.items():
            action(partition)
        return polled

    def _gather(self, most: float) -> float:
        """Wait for more rows after a few, at most so many seconds; return how long.

        The client returns at the first row, and a turn of the loop takes as long for ten rows as for hundreds. Nobody
        sees its outputs before the next commit, and the loop asks for no wait beyond that.
        """
        if not self._few:
            return 0.0
        seconds = min(GATHER_SECONDS, most)
        time.sleep(seconds)
        return seconds

    def _drop_moved(self, arrived: list[Records]) -> list[Records]:
        """Drop records of partitions that a callback has moved meanwhile, and seek these again.

        The client may have collected their rows before the callback; they would be mistaken for the next ones.
        """
        for partition in self._moved & self._seek_offsets.keys():
            self._seek(partition, self._seek_offsets[partition])
        return [records for records in arrived if records.partition not in self._moved]

    def _starts_at_seek(self, records: Records) -> bool:
        """Whether rows start at their partition's sought offset; if not, pause it and record that in `misplaced`."""
        partition, first, last = records.partition, int(records.offsets[0]), int(records.offsets[-1])
        if partition in self.misplaced:
            return False
        expected = self._seek_offsets.pop(partition, first)
        if first != expected:
            self.misplaced[partition] = expected, first
            self.pause(partition)
            return False
        next_offset = self._next_offsets.get(partition, first)
        self.skipped_offsets[partition] += max(0, first - next_offset) + (last - first + 1 - len(records))
        self._next_offsets[partition] = last + 1
        return True

    def group_metadata(self) -> Any:
        """The group metadata, which fences a commit by a stale member."""
        return self.member.metadata()

    def seek_and_resume(self, partition: int, offset: int) -> bool:
        """Seek to an offset and resume the partition, which no longer counts as at its end.

        Parameters
        ----------
        partition : int
            A paused partition.
        offset : int
            Offset of the next row, or the log's end; the next row must have this offset.

        Returns
        -------
        bool
            Whether the client did so. If not, the partition is about to be revoked, or must be restored.
        """
        self._start_over(partition)
        self._moved.add(partition)
        self._seek_offsets[partition] = offset
        return self._seek(partition, offset)

    def _seek(self, partition: int, offset: int) -> bool:
        try:
            call = partial(self._resume_at, partition, offset)
            call_with_timeout(call, SEEK_SECONDS, f"a seek of {self.settings.input}/{partition}")
        except KafkaException as error:
            self.event_log.warning("seek refused", partition=partition, error=error.args[0].str())
            return False
        return True

    def _resume_at(self, partition: int, offset: int | None) -> None:
        """Resume a partition, and seek an offset last.

        The client's thread that fetches sleeps for up to a second while all its partitions are paused; a seek wakes it,
        resuming does not (docs/upstream/librdkafka-sleeping-fetcher.md).
        """
        self.member.resume(partition)
        if offset is not None:
            self.member.seek(partition, offset)

    def pause(self, partition: int) -> None:
        """Pause a partition; does nothing if it was just revoked."""
        self._pause_or_resume(partition, self.pause, self.member.pause, "pause")

    def resume(self, partition: int) -> None:
        """Resume a partition from where it was paused."""
        offset = self._seek_offsets.get(partition, self._next_offsets.get(partition))
        self._pause_or_resume(partition, self.resume, lambda partition: self._resume_at(partition, offset), "resume")

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
        """Handle an error that the client returned in place of a message."""
        error, partition, offset = problem
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            self._record_end(partition, offset)
        elif code == KafkaError._AUTO_OFFSET_RESET:
            self._restart(partition)
        elif code in UNREADABLE and partition in self._owned:
            self._record_unreadable(partition, error)
        elif code in MISSING:
            raise Failure(f"topic {self.settings.input} no longer exists: it was deleted")
        elif self._membership.may_rejoin(error.str()):
            self._rejoin()
        elif code == KafkaError.INVALID_SESSION_TIMEOUT:
            raise Failure(
                "the brokers do not allow the session timeout: give -X session.timeout.ms between their "
                "group.min.session.timeout.ms and group.max.session.timeout.ms, as `driftway check` names it"
            )
        elif code == KafkaError._FATAL or is_permanent(error):
            # For a fenced static member the client gives a fatal error, whose text alone names the cause.
            named = INSTANCE_ID in error.str() or NAME_TAKEN in error.str()
            if named or code in (KafkaError.FENCED_INSTANCE_ID, KafkaError._FENCED):
                name = self.settings.passthrough.get(INSTANCE_ID)
                raise Fenced(
                    f"another consumer of group {self.settings.group} has this worker's {INSTANCE_ID}, {name}: give "
                    "each worker its own"
                )
            sentence = f"the broker refused this consumer: {error.str()}"
            raise Failure(with_right(sentence, KafkaException(error), self.settings.group, self.settings.input))
        elif code == KafkaError.INCONSISTENT_GROUP_PROTOCOL and self._membership.join_timed_out():
            raise Failure(
                f"the other members of group {self.settings.group} have another partition.assignment.strategy: start "
                "with the same -X partition.assignment.strategy, or after they have left"
            )
        else:
            self._membership.report(error)

    def _record_unreadable(self, partition: int, error: KafkaError) -> None:
        """Record that a batch cannot be read; the client asks for it again and again."""
        if partition not in self.unreadable:
            self.unreadable[partition] = f"a batch cannot be read: {explained(error)}"
            self.event_log.warning("unreadable batch", partition=partition, error=error.str())

    def _restart(self, partition: int) -> None:
        """Assign a partition again: after an offset out of range the client does not read on by itself.

        Where partitions are assigned together, all of them stop.
        """
        stopped = [partition] if self._membership.incremental else sorted(self._owned)

        def assign() -> None:
            if self._membership.incremental:
                self.member.unassign(stopped)
            self.member.assign_paused(stopped)

        with contextlib.suppress(KafkaException):  # a rebalance will assign it
            call_with_timeout(assign, SEEK_SECONDS, f"an assignment of {self.settings.input}/{partition}")
        reason = f"the log of {self.settings.input}/{partition} does not hold the next offset"
        self.out_of_range |= dict.fromkeys(stopped, reason)

    def _rejoin(self) -> None:
        """Join as a new member: the client has ended this one, and does not report its partitions as lost."""
        ours = sorted(self._owned)
        if ours:
            self._lost(ours)
            self._forget(ours)
        self.member = self._membership.rejoin()

    def _record_end(self, partition: int, offset: int | None) -> None:
        """Record that a partition is at its end; until the first row after a seek, that is the sought offset."""
        if partition in self._moved or partition in self.misplaced:  # the client will report the end again
            return
        expected = self._seek_offsets.get(partition, offset)
        if expected is not None and offset is not None and expected != offset:
            self.misplaced[partition] = expected, offset
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
        self._await_partitions()

    def _on_lost(self, partitions: list[int]) -> None:
        self._lost(partitions)
        self._release(partitions)
        self._await_partitions()

    def _await_partitions(self) -> None:
        """Begin to wait, if partitions are assigned together: then all of them are revoked before."""
        if not self._membership.incremental:
            self._membership.waits()

    def _release(self, partitions: list[int]) -> None:
        self._forget(partitions)
        self.member.unassign(partitions)

    def _forget(self, partitions: list[int]) -> None:
        self._owned.difference_update(partitions)
        for partition in partitions:
            self._start_over(partition)
            self._deferred.pop(partition, None)
            self._seek_offsets.pop(partition, None)

    def _start_over(self, partition: int) -> None:
        """Forget what was found in a partition so far."""
        self.at_end.discard(partition)
        for found in (self.misplaced, self.unreadable, self.out_of_range, self._next_offsets):
            found.pop(partition, None)

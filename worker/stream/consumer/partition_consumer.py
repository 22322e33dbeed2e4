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
from driftway.worker.kafka.error_handling import hopeless
from driftway.worker.kafka.interface import Partitions, Problem, Taken
from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.background.call import bounded
from driftway.worker.stream.consumer.membership import NAME_TAKEN, Membership
from driftway.worker.stream.observability.event_log import Journal
from driftway.worker.wire.events import Records

FIRST_BATCH = 32
"""Rows of the first batch, for the slowest learners there are; doubled while turns stay short."""
TURN_SECONDS = 1.0
"""What a batch should take at most: a slow learner gets smaller ones, so that the group hears from its worker."""

SEEK_SECONDS = 10.0
"""A seek, pause or resume is a message to the client's own thread, and its answer; it knows no time limit."""


class Intake:
    """The worker's membership in the consumer group, and its messages.

    Parameters
    ----------
    settings : WorkerSettings
        Topic, group, client properties.
    journal : Journal
        Where errors that pass by themselves are logged.
    assigned, revoked, lost : Partitions
        Rebalances. Assigned partitions are paused until `go_on_at`.
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
        journal: Journal,
        assigned: Partitions,
        revoked: Partitions,
        lost: Partitions,
        callbacks: Mapping[str, Callable[[Any], None]] | None = None,
    ) -> None:
        self.settings = settings
        self.journal = journal
        self.at_end: set[int] = set()
        """Partitions read to their end; filled with `stop_at_end` only."""
        self.strayed: dict[int, tuple[int, int]] = {}
        """Partition -> where it was sent to, and the offset of the row that came from elsewhere; paused since."""
        self.passed: Counter[int] = Counter()
        """Partition -> offsets of which no row came: markers, what transactions aborted, what compaction has taken."""
        self._batch = FIRST_BATCH
        self._inside = False
        """Whether this is inside a call of the client: what it calls back may not call it from another thread."""
        self._later: dict[int, Callable[[int], None]] = {}
        """Partition -> what is to be done with it once the client has come back."""
        self._ours: set[int] = set()
        """Partitions that the group has assigned."""
        self._moved: set[int] = set()
        """Partitions that `go_on_at` has sent somewhere since the last `take` began."""
        self._asked: dict[int, int] = {}
        """Partition -> the offset from which its next row has to come, until it has."""
        self._next: dict[int, int] = {}
        """Partition -> the offset behind its last row."""
        self._assigned, self._revoked, self._lost = assigned, revoked, lost
        listeners = self._on_assign, self._on_revoke, self._on_lost
        self._membership = Membership(settings, journal, listeners, callbacks or {})
        self.member = self._membership.join()

    @property
    def poll_interval_seconds(self) -> float:
        """How long the group waits for this member to poll."""
        return self._membership.poll_interval_seconds

    def take(self, wait: float) -> list[Records]:
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
                self._complain(problem)
        return [share for share in self._still_valid(records) if self._as_asked(share)]

    def adapt(self, seconds: float, rows: int) -> None:
        """Choose the size of the next batch by how long the last one took, of so many rows."""
        if seconds > TURN_SECONDS:
            self._batch = max(1, int(rows * TURN_SECONDS / seconds))
        elif rows >= self._batch and seconds < TURN_SECONDS / 2:
            self._batch = min(2 * self._batch, BATCH_MESSAGES)

    def _drain(self, wait: float) -> Taken:
        """What the client has; then do what must not be done while it calls back."""
        self._inside = True
        taken = self.member.take(self._batch, wait)
        self._inside = False
        later, self._later = self._later, {}
        for partition, do in later.items():
            do(partition)
        return taken

    def _still_valid(self, arrived: list[Records]) -> list[Records]:
        """What was taken, without partitions that a callback has moved meanwhile.

        The client may have collected rows of theirs before it called back: they would be taken for the next ones.
        """
        for partition in self._moved & self._asked.keys():
            self._seek(partition, self._asked[partition])
        return [records for records in arrived if records.partition not in self._moved]

    def _as_asked(self, records: Records) -> bool:
        """Whether rows come from where their partition was sent; if not, it is paused, and `strayed` says so."""
        partition, first, last = records.partition, int(records.offsets[0]), int(records.offsets[-1])
        if partition in self.strayed:
            return False
        asked = self._asked.pop(partition, first)
        if first != asked:
            self.strayed[partition] = asked, first
            self.pause(partition)
            return False
        before = self._next.get(partition, first)
        self.passed[partition] += max(0, first - before) + (last - first + 1 - len(records))
        self._next[partition] = last + 1
        return True

    def membership(self) -> Any:
        """The group metadata that fences a commit by a member whom the group has left behind."""
        return self.member.metadata()

    def go_on_at(self, partition: int, offset: int) -> bool:
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
        self.strayed.pop(partition, None)
        self._next.pop(partition, None)
        self._moved.add(partition)
        self._asked[partition] = offset
        return self._seek(partition, offset)

    def _seek(self, partition: int, offset: int) -> bool:
        def seek_and_resume() -> None:
            self.member.seek(partition, offset)
            self.member.resume(partition)

        try:
            bounded(seek_and_resume, SEEK_SECONDS, f"a seek of {self.settings.input}/{partition}")
        except KafkaException as error:
            self.journal.event("seek refused", partition=partition, error=error.args[0].str())
            return False
        return True

    def pause(self, partition: int) -> None:
        """Hold a partition back; one that has just been taken away has nothing to be held."""
        self._turn(partition, self.pause, self.member.pause, "pause")

    def resume(self, partition: int) -> None:
        """Let a partition flow again from where it was held back."""
        self._turn(partition, self.resume, self.member.resume, "resume")

    def _turn(self, partition: int, later: Callable[[int], None], turn: Callable[[int], None], name: str) -> None:
        if self._inside:
            self._later[partition] = later
            return
        with contextlib.suppress(KafkaException):
            bounded(lambda: turn(partition), SEEK_SECONDS, f"a {name} of {self.settings.input}/{partition}")

    def close(self) -> None:
        """Leave the group."""
        self._inside = True
        self.member.close()

    def _complain(self, problem: Problem) -> None:
        """Sort an error that came in a message's place."""
        error, partition, offset = problem
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            self._note_end(partition, offset)
        elif code == KafkaError._AUTO_OFFSET_RESET:
            raise CannotRestore(
                f"{self.settings.input}/{partition}: the log no longer holds the next offset; "
                "--if-offset-lost earliest or latest chooses where to go on"
            )
        elif self._membership.may_join_anew(error.str()):
            self._join_anew()
        elif code == KafkaError._FATAL or hopeless(error):
            # A fenced static member is told as a fatal error that names what it was fenced by in its text only.
            named = "group.instance.id" in error.str() or NAME_TAKEN in error.str()
            kind = Fenced if named or code in (KafkaError.FENCED_INSTANCE_ID, KafkaError._FENCED) else Failure
            raise kind(f"the broker refused this consumer: {error.str()}")
        elif code == KafkaError.INCONSISTENT_GROUP_PROTOCOL and self._membership.out_of_patience():
            raise Failure(
                f"the members of group {self.settings.group} share out partitions in another way: start with the same "
                "-X partition.assignment.strategy, or when they have left"
            )
        else:
            self.journal.event("consumer error", error=error.str())

    def _join_anew(self) -> None:
        """Be another member: the client has ended this one, and does not say what it had."""
        ours = sorted(self._ours)
        if ours:
            self._lost(ours)
            self._forget(ours)
        self.member = self._membership.join_anew()

    def _note_end(self, partition: int, offset: int | None) -> None:
        """The end of a partition was reached; of one that was sent elsewhere it is not its own."""
        asked = self._asked.get(partition, offset)
        if asked is not None and offset is not None and asked != offset:
            self.strayed[partition] = asked, offset
            self.pause(partition)
            return
        self.at_end.add(partition)

    def _on_assign(self, partitions: list[int]) -> None:
        self._membership.let_in()
        self._ours.update(partitions)
        self.member.accept(partitions)
        self._assigned(partitions)

    def _on_revoke(self, partitions: list[int]) -> None:
        self._revoked(partitions)
        self._release(partitions)

    def _on_lost(self, partitions: list[int]) -> None:
        self._lost(partitions)
        self._release(partitions)

    def _release(self, partitions: list[int]) -> None:
        self._forget(partitions)
        self.member.release(partitions)

    def _forget(self, partitions: list[int]) -> None:
        self._ours.difference_update(partitions)
        for partition in partitions:
            self.at_end.discard(partition)
            self._later.pop(partition, None)
            self.strayed.pop(partition, None)
            self._asked.pop(partition, None)
            self._next.pop(partition, None)

"""Where messages enter: the group's consumer, and what it delivers as columns per partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from worker.client import Properties, base_properties, quiet
from worker.errors import CannotRestore, Failure, Fenced, UsageFailure
from worker.events import Records
from worker.journal import Journal
from worker.settings import WorkerSettings
from worker.verdicts import Verdict, judge

if TYPE_CHECKING:
    from worker.scanner import Integers

BATCH_MESSAGES = 10_000

CONSUMER_TUNING = {
    # With the default back-off of 1 s a consumer that drains its queue waits; see KAFKA.md 3o.
    "fetch.queue.backoff.ms": 5,
    "queued.min.messages": 100_000,
    "queued.max.messages.kbytes": 65_536,
    "fetch.wait.max.ms": 10,
}

POLL_INTERVAL_MS = 60_000
"""`max.poll.interval.ms` unless somebody sets it: how long a group waits for members that do not rejoin (see
docs/decisions/0013), 5 minutes by the client's default. The longest turn of the loop, a revocation, is below."""

Callback = Callable[[list[int]], None]
"""Called inside `take` with the partitions that a rebalance hands over or takes away."""


def by_partition(messages: list[Message]) -> dict[int, list[Message]]:
    """Messages of each partition, in the order of first appearance.

    The client hands over runs of one partition, as it fetched them: cutting there is cheaper than going one by one.
    """
    shares: dict[int, list[Message]] = {}
    places = np.fromiter(map(Message.partition, messages), np.int64, len(messages))
    cuts = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), len(messages)]
    for start, end in pairwise(cuts):
        if start < end:
            shares.setdefault(int(places[start]), []).extend(messages[start:end])
    return shares


def _offsets(share: list[Message]) -> Integers:
    """Offsets of a partition's messages: they rise, so a first and a last as far apart as their number tell all."""
    first, last, n = share[0].offset() or 0, share[-1].offset() or 0, len(share)
    if last - first == n - 1:
        return np.arange(first, last + 1, dtype=np.int64)
    return np.fromiter(map(Message.offset, share), np.int64, n)


def records_of(partition: int, messages: list[Message]) -> Records:
    """Messages of one partition, in their order, as columns."""
    return Records(
        partition,
        _offsets(messages),
        list(map(Message.value, messages)),
        list(map(Message.key, messages)),
        Timestamps(messages),
    )


def _poll_interval(given: Properties) -> int:
    """Our default, or the session's length where that is longer: the client refuses less."""
    try:
        return max(POLL_INTERVAL_MS, int(given.get("session.timeout.ms", 0)))
    except ValueError:
        return POLL_INTERVAL_MS  # the client says what is wrong with the session's length


class Timestamps(Sequence[int]):
    """The records' timestamps in ms, asked from the client when somebody looks: hardly anybody does."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Timestamps: ...
    def __getitem__(self, place: int | slice) -> int | Timestamps:
        if isinstance(place, slice):
            return Timestamps(self._messages[place])
        return int(self._messages[place].timestamp()[1])


class Intake:
    """The worker's membership in the consumer group, and its messages.

    Parameters
    ----------
    settings : WorkerSettings
        Topic, group, client properties.
    journal : Journal
        Where errors that pass by themselves are logged.
    assigned, revoked, lost : Callback
        Rebalances. Assigned partitions are paused until `go_on_at`.

    Raises
    ------
    UsageFailure
        A client property is not valid.
    """

    def __init__(
        self, settings: WorkerSettings, journal: Journal, assigned: Callback, revoked: Callback, lost: Callback
    ) -> None:
        self.settings = settings
        self.journal = journal
        self.at_end: set[int] = set()
        """Partitions read to their end; filled with `stop_at_end` only."""
        self._moved: dict[int, int] = {}
        """Partition -> where `go_on_at` has sent it since the last `take` began."""
        own = {
            "group.id": settings.group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": settings.stop_at_end,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
        }
        given = base_properties(settings.bootstrap, settings.passthrough)
        properties = {**CONSUMER_TUNING, "max.poll.interval.ms": _poll_interval(given), **given, **own}
        try:
            self.consumer = Consumer(quiet(properties))
        except KafkaException as error:
            raise UsageFailure(f"client property refused: {error.args[0].str()}") from None
        self._assigned, self._revoked, self._lost = assigned, revoked, lost
        self.consumer.subscribe(
            [settings.input], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def take(self, wait: float) -> list[Records]:
        """What the client has, at most BATCH_MESSAGES, after waiting up to `wait` seconds for the first.

        Raises
        ------
        Fenced, CannotRestore, Failure
            The broker refuses this consumer for good.
        """
        self._moved.clear()
        # Poll, then drain: one timed call for a whole batch would wait for it to fill up (KAFKA.md 3r).
        first = self.consumer.poll(wait)
        if first is None:
            return []
        messages = [first, *self.consumer.consume(BATCH_MESSAGES - 1, timeout=0)]
        # map over the client's own methods, here and below: no bytecode runs per message.
        bad = list(compress(messages, map(Message.error, messages)))
        arrived = self._columns([message for message in messages if message.error() is None] if bad else messages)
        self.at_end.difference_update(records.partition for records in arrived)
        for message in bad:  # after the rows: an end of partition comes behind its last row
            self._complain(message)
        return self._still_valid(arrived)

    def _still_valid(self, arrived: list[Records]) -> list[Records]:
        """What was taken, without partitions that a callback has moved meanwhile.

        The client may have collected rows of theirs before it called back: they would be taken for the next ones.
        """
        moved = dict(self._moved)
        for partition, offset in moved.items():
            self.go_on_at(partition, offset)
        return [records for records in arrived if records.partition not in moved]

    def membership(self) -> Any:
        """The group metadata that fences a commit by a member whom the group has left behind."""
        return self.consumer.consumer_group_metadata()

    def go_on_at(self, partition: int, offset: int) -> None:
        """Seek to an offset and let the partition flow; whether it is at its end is to be seen anew."""
        self.at_end.discard(partition)
        self._moved[partition] = offset
        place = TopicPartition(self.settings.input, partition, offset)
        try:
            self.consumer.seek(place)
            self.consumer.resume([place])
        except KafkaException as error:
            # The partition has just been taken away: the callback that says so is on its way.
            self.journal.event("seek refused", partition=partition, error=error.args[0].str())

    def pause(self, partition: int) -> None:
        """Hold a partition back."""
        self.consumer.pause([TopicPartition(self.settings.input, partition)])

    def close(self) -> None:
        """Leave the group."""
        self.consumer.close()

    def _columns(self, messages: list[Message]) -> list[Records]:
        """Columns per partition, in the order of first appearance."""
        return [records_of(partition, share) for partition, share in by_partition(messages).items()]

    def _complain(self, message: Message) -> None:
        """Sort an error that came in a message's place."""
        error, partition = message.error(), message.partition()
        if error is None:
            return
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            self.at_end.add(partition or 0)
        elif code == KafkaError._AUTO_OFFSET_RESET:
            raise CannotRestore(
                f"{self.settings.input}/{partition}: the log no longer holds the next offset; "
                "--if-offset-lost earliest or latest chooses where to go on"
            )
        elif error.fatal() or code == KafkaError._FATAL or judge(error) is Verdict.FATAL:
            # A fenced static member is told as a fatal error that names what it was fenced by in its text only.
            named = "group.instance.id" in error.str()
            kind = Fenced if named or code in (KafkaError.FENCED_INSTANCE_ID, KafkaError._FENCED) else Failure
            raise kind(f"the broker refused this consumer: {error.str()}")
        else:
            self.journal.event("consumer error", error=error.str())

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # The real position is known after the restore; until then nothing may be fetched.
        places = [TopicPartition(p.topic, p.partition, OFFSET_BEGINNING) for p in partitions]
        if self.settings.incremental:
            consumer.incremental_assign(places)
        else:
            consumer.assign(places)
        if places:
            consumer.pause(places)
        self._assigned([p.partition for p in partitions])

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._revoked([p.partition for p in partitions])
        self._release(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._lost([p.partition for p in partitions])
        self._release(partitions)

    def _release(self, partitions: list[TopicPartition]) -> None:
        self.at_end.difference_update(p.partition for p in partitions)
        if self.settings.incremental:
            self.consumer.incremental_unassign(partitions)
        else:
            self.consumer.unassign()

"""The Kafka client interface: a consumer group member and a fetcher to consume with, and a sender to produce with.

Each has two implementations: `driftway.worker.kafka.confluent` uses confluent-kafka's objects,
`driftway.worker.kafka.librdkafka` calls the C library under them. Records are passed as columns; errors are
confluent-kafka's. `driftway.worker.kafka.client_factory` chooses the implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from confluent_kafka import KafkaError

from driftway.worker.errors import plural
from driftway.worker.kafka.error_handling import UnconfirmedDelivery
from driftway.worker.wire.columns import BytesColumn
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import Headers

Partitions = Callable[[list[int]], None]
"""Called inside `Member.poll` and `Member.close` with the partitions that a rebalance assigns or revokes."""


Offsets = Mapping[str, tuple[int, str | None]]
"""Topic -> the offset to commit for a partition, and its commit metadata."""


UNKNOWN_END = -1
"""End of a log of which nothing has been fetched; the client may give another negative number."""


NO_BROKERS = "the client has lost all brokers"
"""Text of an error, `_ALL_BROKERS_DOWN`, after which a consumer gets nothing any more and has to be replaced."""


class ClientError(NamedTuple):
    """An error that the client delivered in place of a message."""

    error: KafkaError
    partition: int
    offset: int | None


class PollResult(NamedTuple):
    """The result of a poll: columns of each partition, and the errors delivered in place of messages."""

    records: list[Records]
    errors: list[ClientError]


@dataclass(frozen=True)
class OffsetRange:
    """The offset range of a commit's records in one topic.

    Parameters
    ----------
    first, last : int
        Offsets of the first and the last record.
    count : int
        Number of records, >= 1.
    """

    first: int
    last: int
    count: int

    @classmethod
    def confirmed(cls, topic: str, first: int | None, last: int | None, count: int, end: int) -> OffsetRange:
        """Build the range of `count` records from the first and the last delivery report, after checking them.

        Parameters
        ----------
        topic : str
            Named in the error message.
        first, last : int or None
            Reported offsets; None if there was no report.
        count : int
            Number of records produced.
        end : int
            Log end before the first of them was produced: lower offsets belong to earlier records.

        Raises
        ------
        UnconfirmedDelivery
            A report cannot be true: the broker took a batch for a duplicate of an earlier one and did not write it.
        """
        if first is None or last is None or first < end or last - first < count - 1:
            raise UnconfirmedDelivery(
                f"{plural(count, 'record')} of {topic} are reported at offsets {first} to {last}, but were produced "
                f"when its log ended at {end} or later"
            )
        return cls(first, last, count)


class Member(Protocol):
    """A member of a consumer group, subscribed to one topic. All calls but `commit` come from one thread."""

    def subscribe(self, assigned: Partitions, revoked: Partitions, lost: Partitions) -> None:
        """Join the group; the callbacks must call `assign_paused` or `unassign`."""

    def assign_paused(self, partitions: list[int]) -> None:
        """Assign partitions and pause them."""

    def unassign(self, partitions: list[int]) -> None:
        """Remove partitions from the assignment."""

    def poll(self, max_messages: int, wait: float) -> PollResult:
        """Return up to `max_messages` messages that have arrived, after waiting up to `wait` seconds for the first.

        The next call may overwrite the columns' buffers, except those of keys and offsets.
        """

    def seek(self, partition: int, offset: int) -> None:
        """Continue at an offset; has no timeout."""

    def pause(self, partition: int) -> None:
        """Stop delivering messages of a partition."""

    def resume(self, partition: int) -> None:
        """Deliver messages of a paused partition again."""

    def fetched_end(self, partition: int) -> int:
        """Return the end of an assigned partition's log as of its last fetch; negative if it is not known."""

    def metadata(self) -> Any:
        """Return the group metadata by which the broker fences a stale member's commit; for `Sender.send_offsets`."""

    def commit(self, partition: int, offset: int, metadata: str | None) -> None:
        """Commit an offset outside any transaction, synchronously."""

    def close(self) -> None:
        """Leave the group and close the client."""


class Fetcher(Protocol):
    """A reader of one topic outside any group."""

    def assign(self, begins: Mapping[int, int]) -> None:
        """Read these partitions and no others, starting at the given offsets."""

    def poll(self, max_messages: int, wait: float) -> PollResult:
        """As `Member.poll`, but later calls do not overwrite the columns."""

    def close(self) -> None:
        """Close the client."""


class Sender(Protocol):
    """A producer of one partition's outputs that tracks their delivery reports. Calls raise KafkaException."""

    def __len__(self) -> int:
        """Return the number of records that are not yet delivered, or whose reports are not yet processed."""

    def load_metadata(self, topic: str, seconds: float) -> None:
        """Fetch a topic's metadata, and with it the leaders of its partitions."""

    def send(self, topic: str, values: BytesColumn, keys: BytesColumn, headers: Headers | None = None) -> None:
        """Queue records, which are copied; the queue must have room for them. With headers, each takes its own call."""

    def send_one(self, topic: str, value: bytes | None, key: bytes | None) -> None:
        """Queue one record."""

    def ranges(self, ends: Mapping[str, int]) -> dict[str, OffsetRange]:
        """Return the offset ranges of all records sent since `start_ranges`; none may be in flight any more.

        Parameters
        ----------
        ends : mapping
            Topic -> log end before these records: lower offsets belong to earlier ones.

        Raises
        ------
        DeliveryFailed
            A record was refused.
        UnconfirmedDelivery
            As `OffsetRange.confirmed`.
        """

    def start_ranges(self) -> None:
        """Start new ranges for the records sent from here on; none may be in flight."""

    def poll(self, seconds: float) -> None:
        """Process delivery reports."""

    def flush(self, seconds: float) -> int:
        """Wait until all records are delivered and reported; return the number that are not."""

    def init_transactions(self, seconds: float) -> None:
        """Take over the transactional id, fencing its previous owner."""

    def begin_transaction(self) -> None:
        """Begin a transaction."""

    def send_offsets(self, offsets: Offsets, member: Any, seconds: float) -> None:
        """Add offsets of the partition in several topics to the transaction; `member` is from `Member.metadata`."""

    def commit_transaction(self, seconds: float) -> None:
        """Commit the transaction."""

    def abort_transaction(self, seconds: float) -> None:
        """Abort the transaction."""

    def drop(self) -> None:
        """Discard undelivered records without waiting for their reports."""

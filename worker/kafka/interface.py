"""What is needed of a Kafka client: a member of a group, and a fetcher, from whom to take, a sender, to whom to give.

There are two of each: `driftway.worker.kafka.confluent` goes through confluent-kafka's objects,
`driftway.worker.kafka.librdkafka` through the C library under them. Columns go in and out; errors are
confluent-kafka's. `driftway.worker.kafka.client_factory` says which is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from confluent_kafka import KafkaError

from driftway.worker.kafka.error_handling import UnconfirmedDelivery
from driftway.worker.wire.columns import BytesColumn
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import Headers

Partitions = Callable[[list[int]], None]
"""Called inside `Member.poll`, and `Member.close`, with the partitions that a rebalance hands over or takes away."""


Offsets = Mapping[str, tuple[int, str | None]]
"""Topic -> an offset of a partition, and its metadata."""


class ClientError(NamedTuple):
    """An error that came in a message's place."""

    error: KafkaError
    partition: int
    offset: int | None


class PollResult(NamedTuple):
    """What a client has handed over: columns of each partition, then what came in messages' places."""

    records: list[Records]
    errors: list[ClientError]


@dataclass(frozen=True)
class OffsetRange:
    """Where a commit's records of one topic lie.

    Parameters
    ----------
    first, last : int
        Offsets of the first and the last one.
    count : int
        How many, >= 1.
    """

    first: int
    last: int
    count: int

    @classmethod
    def confirmed(cls, topic: str, first: int | None, last: int | None, count: int, end: int) -> OffsetRange:
        """The span of `count` records whose first and last reports name these offsets.

        Parameters
        ----------
        topic : str
            For the sentence.
        first, last : int or None
            None: there was no report.
        count : int
            How many were handed over.
        end : int
            Below this everything was written before.

        Raises
        ------
        UnconfirmedDelivery
            A report cannot be true: the broker took a batch for the repetition of an older one, and did not write it.
        """
        if first is None or last is None or first < end or last - first < count - 1:
            raise UnconfirmedDelivery(
                f"{count} records of {topic} are said to be at offsets {first} to {last}, but were handed over when "
                f"its log ended at {end} or later"
            )
        return cls(first, last, count)


class Member(Protocol):
    """A member of a consumer group, subscribed to one topic. One thread calls it, but for `commit`."""

    def subscribe(self, assigned: Partitions, revoked: Partitions, lost: Partitions) -> None:
        """Join; whoever is called back says `assign_paused` or `unassign`."""

    def assign_paused(self, partitions: list[int]) -> None:
        """Have partitions, paused."""

    def unassign(self, partitions: list[int]) -> None:
        """Have them no longer."""

    def poll(self, most: int, wait: float) -> PollResult:
        """What has arrived, at most so many messages, after waiting up to `wait` seconds for the first.

        Buffers of the columns are written anew by the next call, but those of keys and offsets.
        """

    def seek(self, partition: int, offset: int) -> None:
        """Go on at an offset; knows no time limit."""

    def pause(self, partition: int) -> None:
        """Hand over nothing of a partition any more."""

    def resume(self, partition: int) -> None:
        """Hand its messages over again."""

    def metadata(self) -> Any:
        """The group metadata that fences a commit by a member whom the group has left behind; for a `KafkaSink`."""

    def commit(self, partition: int, offset: int, metadata: str | None) -> None:
        """Commit an offset outside of any transaction, and wait for it."""

    def close(self) -> None:
        """Leave the group and end the client."""


class Fetcher(Protocol):
    """A reader of one topic that is of no group."""

    def assign(self, begins: Mapping[int, int]) -> None:
        """Read these partitions, and no others, from offsets on."""

    def poll(self, most: int, wait: float) -> PollResult:
        """As `Member.poll`, but the columns stay as they are."""

    def close(self) -> None:
        """End the client."""


class Sender(Protocol):
    """A producer of one partition's outputs, with the reports of where they are. Calls raise KafkaException."""

    def __len__(self) -> int:
        """Records that are not yet delivered, or whose reports were not looked at."""

    def load_metadata(self, topic: str, seconds: float) -> None:
        """Learn who leads the partitions of a topic."""

    def send(self, topic: str, values: BytesColumn, keys: BytesColumn, headers: Headers | None = None) -> None:
        """Hand records over, as many as there is room for; they are copied. With headers each is a call by itself."""

    def send_one(self, topic: str, value: bytes | None, key: bytes | None) -> None:
        """Hand one record over."""

    def ranges(self, ends: Mapping[str, int]) -> dict[str, OffsetRange]:
        """Where everything sent since `start_ranges` is, once nothing is on its way any more.

        Parameters
        ----------
        ends : mapping
            Topic -> offset below which everything was written before.

        Raises
        ------
        DeliveryFailed
            Something was refused.
        UnconfirmedDelivery
            As `OffsetRange.confirmed`.
        """

    def start_ranges(self) -> None:
        """What is sent from here on is counted anew; nothing may be on its way."""

    def poll(self, seconds: float) -> None:
        """Look at reports."""

    def flush(self, seconds: float) -> int:
        """Wait until everything is delivered and reported; how many records are not."""

    def init_transactions(self, seconds: float) -> None:
        """Take the transactional id over."""

    def begin_transaction(self) -> None:
        """Open one."""

    def send_offsets(self, offsets: Offsets, member: Any, seconds: float) -> None:
        """Let offsets of the partition, in several topics, join the transaction; `member`: from `Member.metadata`."""

    def commit_transaction(self, seconds: float) -> None:
        """Make it visible."""

    def abort_transaction(self, seconds: float) -> None:
        """Make it void."""

    def drop(self) -> None:
        """Forget what was not delivered, without a report."""

"""Read a topic of rejections, and group it by kind with samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from driftway.worker.admin.watch.topic_tail import LogEnds, TopicTail
from driftway.worker.errors import Failure
from driftway.worker.kafka.topics import Topics
from driftway.worker.wire.headers import Header
from driftway.worker.wire.rejections import is_set_aside, keeps_headers, kind_of, lost_part, own_headers


@dataclass(frozen=True)
class RejectedRecord:
    """A record of the rejections topic.

    Parameters
    ----------
    position : tuple of int
        Its partition and offset in the rejections topic.
    topic, partition, offset : str, int, int
        Where the event stands: in the input or in the label topic.
    reason : str
        Why it was rejected.
    value, key : bytes or None
        The event, unchanged.
    timestamp : int
        The event's timestamp in ms.
    headers : tuple of Header
        The event's own headers.
    keeps_headers : bool
        Whether the event's headers are known: earlier versions did not keep them.
    lost : str
        Which part of the event is not in the rejection, in words; empty if it is whole.
    set_aside : bool
        Whether this is only a label that was set aside.
    """

    position: tuple[int, int]
    topic: str
    partition: int
    offset: int
    reason: str
    value: bytes | None
    key: bytes | None
    timestamp: int
    headers: tuple[Header, ...] = ()
    keeps_headers: bool = True
    lost: str = ""
    set_aside: bool = False

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}@{self.offset}"

    @property
    def kind(self) -> str:
        """The kind of the reason."""
        return kind_of(self.reason, self.set_aside)


@dataclass
class RejectionGroup:
    """Rejections of one kind.

    Parameters
    ----------
    max_samples : int
        Maximum number of samples to keep.
    """

    max_samples: int
    count: int = 0
    set_aside: int = 0
    """How many of them are labels that were set aside."""
    samples: list[RejectedRecord] = field(default_factory=list)

    def add(self, one: RejectedRecord) -> None:
        """Count a rejection."""
        self.count += 1
        self.set_aside += one.set_aside
        if len(self.samples) < self.max_samples:
            self.samples.append(one)


def read(bootstrap: str, passthrough: Mapping[str, Any], topics: Topics, partitions: int) -> Iterator[RejectedRecord]:
    """Read all rejections up to the present end of the topic.

    Raises
    ------
    Failure
        The broker refuses, or a record is no rejection.
    """
    topic = {topics.rejected: partitions}
    ends = LogEnds(bootstrap, passthrough).of(topic)  # records that arrive later may be events sent again
    with closing(TopicTail(bootstrap, passthrough, topic, ends=ends)) as tail:
        while not tail.at_end:
            yield from map(_read, tail.poll(0.2))


def group_by_kind(found: Iterator[RejectedRecord], samples: int) -> dict[str, RejectionGroup]:
    """Kind -> its rejections, the most frequent kind first."""
    groups: dict[str, RejectionGroup] = {}
    for one in found:
        groups.setdefault(one.kind, RejectionGroup(samples)).add(one)
    return dict(sorted(groups.items(), key=lambda item: -item[1].count))


def _read(message: Any) -> RejectedRecord:
    headers = tuple(message.headers() or ())
    named = dict(headers)
    try:
        event = named["topic"].decode(), int(named["partition"]), int(named["offset"]), named["reason"].decode()
        timestamp = int(named["timestamp"])
    except (KeyError, ValueError, TypeError, AttributeError):
        where = f"{message.topic()}/{message.partition()} at {message.offset()}"
        raise Failure(f"{where} is not a rejection: it does not have the headers of a rejection") from None
    return RejectedRecord(
        (message.partition(), message.offset()),
        *event,
        message.value(),
        message.key(),
        timestamp,
        own_headers(headers),
        keeps_headers(headers),
        lost_part(headers),
        is_set_aside(named),
    )

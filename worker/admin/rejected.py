"""Read a topic of rejections, group it by kind with samples, and send the events again to where they came from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from driftway.worker.admin.watch.topic_tail import LogEnds, TopicTail
from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import base_properties, quiet
from driftway.worker.kafka.topics import Topics
from driftway.worker.wire.rejections import is_set_aside, kind_of

AGAIN = "driftway-again"
"""Header of an event that was sent again: names the rejected event."""
SEND_SECONDS = 60.0


@dataclass(frozen=True)
class RejectedRecord:
    """A record of the rejections topic.

    Parameters
    ----------
    topic, partition, offset : str, int, int
        Where the event stands: in the input or in the label topic.
    reason : str
        Why it was rejected.
    value, key : bytes or None
        The event, unchanged.
    set_aside : bool
        Whether this is only a label that was set aside.
    """

    topic: str
    partition: int
    offset: int
    reason: str
    value: bytes | None
    key: bytes | None
    set_aside: bool = False

    @property
    def kind(self) -> str:
        """The kind of the reason."""
        return kind_of(self.reason, self.set_aside)


@dataclass
class RejectionGroup:
    """Rejections of one kind.

    Parameters
    ----------
    most : int
        Maximum number of samples to keep.
    """

    most: int
    count: int = 0
    set_aside: int = 0
    """How many of them are labels that were set aside."""
    samples: list[RejectedRecord] = field(default_factory=list)

    def add(self, one: RejectedRecord) -> None:
        """Count a rejection."""
        self.count += 1
        self.set_aside += one.set_aside
        if len(self.samples) < self.most:
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


def resend(
    bootstrap: str,
    passthrough: Mapping[str, Any],
    found: Iterator[RejectedRecord],
    kinds: Collection[str],
) -> int:
    """Send the events of some kinds again to the topic and partition that they came from; return how many.

    Raises
    ------
    Failure
        The broker did not accept an event; those before it have been sent.
    """
    producer = Producer(quiet({**base_properties(bootstrap, passthrough), "enable.idempotence": True}))
    failed: list[str] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failed.append(error.str())

    sent = 0
    for one in found:
        if one.kind not in kinds:
            continue
        header: dict[str, Any] = {AGAIN: f"{one.topic}/{one.partition}@{one.offset}".encode()}
        while True:
            try:
                producer.produce(one.topic, one.value, one.key, one.partition, on_delivery=delivered, headers=header)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
        if failed:
            break
        sent += 1
    left = producer.flush(SEND_SECONDS)
    if failed or left:
        raise Failure(
            f"{left + len(failed)} of {sent} events were not delivered: {failed[0] if failed else 'no answer'}"
        )
    return sent


def _read(message: Any) -> RejectedRecord:
    headers = dict(message.headers() or ())
    try:
        place = headers["topic"].decode(), int(headers["partition"]), int(headers["offset"])
        reason = headers["reason"].decode()
    except (KeyError, ValueError, TypeError):
        where = f"{message.topic()}/{message.partition()} at {message.offset()}"
        raise Failure(f"{where} is not a rejection: it lacks the headers of one") from None
    return RejectedRecord(*place, reason, message.value(), message.key(), is_set_aside(headers))

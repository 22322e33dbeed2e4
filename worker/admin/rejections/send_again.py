"""Send rejected events to their topic again, each exactly once, however often the command is run.

A transaction contains up to BATCH_EVENTS events. It also records up to which offset the rejections of each kind have
been sent, in the compacted topic `Topics.sent_again`, with a record for each partition of rejections. So if the process
is killed, a batch has been both sent and recorded, or neither. The next process, on any machine, continues after it
(docs/decisions/0045).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicCollection

from driftway.worker.admin.rejections.rejected import RejectedRecord
from driftway.worker.admin.watch.topic_tail import LogEnds, TopicTail
from driftway.worker.errors import Failure, Fenced, Unreachable, plural
from driftway.worker.kafka.client_config import (
    admin_client,
    base_properties,
    quiet,
    refused_properties,
    without_membership,
)
from driftway.worker.kafka.error_handling import FENCED, TimedOut, refusal, reported_fatal_error
from driftway.worker.kafka.topics import LARGEST_RECORD, Topics, create_topics
from driftway.worker.state.stored_fields import StoredFields, whole_number
from driftway.worker.wire.codec import write_json

AGAIN = "driftway-again"
"""Header of an event that was sent again: names the rejected event."""
BATCH_EVENTS, BATCH_BYTES = 1_000, 32 * 2**20
"""A transaction is committed when it holds this much."""
TRANSACTION_MS = 30_000
"""How long the broker lets a transaction of a process that was killed stay open: until then, or until this is asked for
again, readers of the input wait behind it."""
SEND_SECONDS, ABORT_SECONDS = 60.0, 5.0
SHOWN = 3
"""Refused events that are named."""

Marks = dict[str, int]
"""Kind -> offset in a partition of rejections before which all of this kind have been sent."""


@dataclass
class SentAgain:
    """What was done: numbers of events, and why some were refused."""

    sent: int = 0
    before: int = 0
    """Had been sent before."""
    without_headers: int = 0
    """Were sent without headers, because an earlier version rejected them, which kept none."""
    refused: list[str] = field(default_factory=list)
    """A sentence for each event that cannot be sent as it came."""

    def __str__(self) -> str:
        parts = [f"sent {plural(self.sent, 'event back to the topic it', 'events back to the topics they')} came from"]
        if self.before:
            parts.append(f"{self.before:,} had been sent before")
        if self.without_headers:
            parts.append(
                f"{self.without_headers:,} were rejected by an earlier version, which did not keep headers: whether "
                "they had any is not known, and they were sent without"
            )
        return "; ".join(parts)

    def require_all(self) -> None:
        """Check that no event was refused.

        Raises
        ------
        Failure
            Some were.
        """
        if self.refused:
            more = f"; and {len(self.refused) - SHOWN:,} more" if len(self.refused) > SHOWN else ""
            left = plural(len(self.refused), "event was not sent", "events were not sent")
            raise Failure(f"{left}: {'; '.join(self.refused[:SHOWN])}{more}")


class Resender:
    """Sends rejected events again; for one `send`.

    Parameters
    ----------
    bootstrap, passthrough
        Broker address and further properties of the clients.
    topics : Topics
        The group's topics.

    Raises
    ------
    Failure
        The broker refuses.
    UsageFailure
        A client property is not valid.
    """

    def __init__(self, bootstrap: str, passthrough: Mapping[str, Any], topics: Topics) -> None:
        self._cluster, self._topics = (bootstrap, passthrough), topics
        create_topics(bootstrap, passthrough, {topics.sent_again: (1, {"cleanup.policy": "compact"})})
        properties = {
            "message.max.bytes": LARGEST_RECORD,
            **without_membership(base_properties(bootstrap, passthrough)),
            "transactional.id": topics.sent_again,
            "transaction.timeout.ms": TRANSACTION_MS,
            "message.timeout.ms": TRANSACTION_MS,
        }
        with refused_properties(properties):
            self._producer = Producer(quiet(properties))
        self._failed: list[str] = []
        with self._explained("nothing was sent"):
            self._producer.init_transactions(SEND_SECONDS)  # ends the transaction of a process that was killed
            self._rejections_id = self._topic_id()
        self._marks = self._read_marks()

    def send(self, found: Iterator[RejectedRecord], kinds: Collection[str]) -> SentAgain:
        """Send the events of some kinds that were not sent yet; return what was done.

        Raises
        ------
        Failure
            The broker did not accept an event; those of earlier transactions have been sent.
        Fenced
            The same was asked for elsewhere meanwhile, and goes on there.
        """
        done, batch, size = SentAgain(), list[RejectedRecord](), 0
        for one in found:
            if one.kind not in kinds:
                continue
            if why := _refusal(one):
                done.refused.append(f"{one}: {why}")
            elif one.position[1] < self._marks[one.position[0]].get(one.kind, 0):
                done.before += 1
            else:
                batch.append(one)
                size += len(one.value or b"")
                done.without_headers += not one.keeps_headers
                if len(batch) == BATCH_EVENTS or size > BATCH_BYTES:
                    self._commit(batch)
                    done.sent += len(batch)
                    batch, size = [], 0
        if batch:
            self._commit(batch)
        done.sent += len(batch)
        return done

    def _commit(self, batch: list[RejectedRecord]) -> None:
        """Send events in a transaction that also marks them as sent."""
        with self._explained(f"{batch[0]} and those behind it were not sent"):
            self._producer.begin_transaction()
            for one in batch:
                headers = [*(header for header in one.headers if header[0] != AGAIN), (AGAIN, str(one).encode())]
                self._produce(str(one), one.topic, one.value, one.key, one.partition, one.timestamp, headers)
                self._marks[one.position[0]][one.kind] = one.position[1] + 1
            for partition in sorted({one.position[0] for one in batch}):
                mark = write_json({"topic_id": self._rejections_id, "sent": self._marks[partition]})
                self._produce("the mark", self._topics.sent_again, mark, b"%d" % partition, 0)
            if self._producer.flush(SEND_SECONDS):
                raise TimedOut(f"the broker did not confirm them within {SEND_SECONDS:.0f} s")
            self._producer.commit_transaction(SEND_SECONDS)

    def _produce(
        self,
        what: str,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        timestamp: int = 0,
        headers: list[Any] | None = None,
    ) -> None:
        def delivered(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                self._failed.append(f"{what} was not accepted: {refusal(error)}")

        while True:
            try:
                self._producer.produce(topic, value, key, partition, delivered, None, timestamp, headers or [])
                break
            except BufferError:
                self._producer.poll(0.1)
        self._producer.poll(0)

    def _topic_id(self) -> str:
        """The id of the topic of rejections: the marks of one that was deleted say nothing about it."""
        name, admin = self._topics.rejected, admin_client(*self._cluster)
        return str(admin.describe_topics(TopicCollection([name]))[name].result(timeout=SEND_SECONDS).topic_id)

    def _read_marks(self) -> defaultdict[int, Marks]:
        """Partition of rejections -> its mark.

        Raises
        ------
        Failure
            A record is no mark.
        """
        topic, marks = {self._topics.sent_again: 1}, defaultdict[int, Marks](dict)
        ends = LogEnds(*self._cluster).of(topic)
        with closing(TopicTail(*self._cluster, topic, ends=ends)) as tail:
            while not tail.at_end:
                for message in tail.poll(0.2):
                    partition, topic_id, sent = _parsed(message)
                    marks[partition] = sent if topic_id == self._rejections_id else {}
        return marks

    @contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        """Abort the transaction after an error, and say why."""
        try:
            with reported_fatal_error(self._producer):
                yield
        except (KafkaException, TimedOut) as error:
            with suppress(KafkaException):
                self._producer.abort_transaction(ABORT_SECONDS)
            if isinstance(error, TimedOut):
                raise Unreachable(f"{what}: {error}") from None
            if error.args[0].code() in FENCED:
                raise Fenced(f"{what}: another command is already sending the same events again") from None
            raise Failure(f"{what}: {next(iter(self._failed), error.args[0].str())}") from None


def _parsed(message: Message) -> tuple[int, str, Marks]:
    """Parse a mark: the partition of rejections, the id of their topic, and up to where they were sent.

    Raises
    ------
    Failure
        It is no mark.
    """
    try:
        mark = StoredFields.parse(message.value(), "it")
        sent = {kind: whole_number(until, kind) for kind, until in mark.object("sent").plain.items()}
        return int(message.key() or b""), mark.text("topic_id"), sent
    except ValueError:  # `Malformed` is one
        where = f"{message.topic()}/{message.partition()}@{message.offset()}"
        raise Failure(f"{where} does not say what was sent again: another program has written to this topic") from None


def _refusal(one: RejectedRecord) -> str:
    """Why an event cannot be sent as it came; empty if it can."""
    if one.lost:
        return f"the rejection does not hold the whole event: {one.lost}"
    if one.timestamp <= 0:
        return f"its timestamp, {one.timestamp} ms, is not one that a client can send"
    return ""

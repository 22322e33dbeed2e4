"""The commit: outputs, snapshot, input offset and snapshot pointer become visible together, or not at all.

The six steps, in this order and under these names in logs, code and fault tests:

    BEGUN              a transaction is open on the partition's producer
    OUTPUTS_PRODUCED   predictions, accuracy points and rejections are handed to the client
    SNAPSHOT_PRODUCED  so are the chunks of a snapshot, when one is due
    FLUSHED            the broker has all of them; the snapshot's offset is known
    OFFSETS_SENT       the input offset, with the pointer as its metadata, has joined the transaction; exactly-once also
                       writes it beside the snapshots
    COMMITTED          the broker has committed

A worker that dies before COMMITTED leaves nothing that a read_committed reader sees: the next owner of the
partition initialises the same transactional id, which fences the dead one and aborts what it left open.
"""

from __future__ import annotations

import contextlib
import enum
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from worker.client import Properties, base_properties, quiet, without_membership
from worker.deadline import Deadline
from worker.errors import Failure, UsageFailure
from worker.model import Outputs
from worker.refusals import explained
from worker.settings import WorkerSettings
from worker.snapshot import Pointer, chunk_key, cut, position_key
from worker.topics import LARGEST_RECORD
from worker.verdicts import Verdict, insist, judge

QUEUE_MESSAGES = 200_000
"""Records that a producer may hold; about two batches of the loop, some tens of MB."""
MOST_UNREPORTED = 20_000
"""Delivered records whose reports may wait for the commit: its flush goes through them beside the loop."""
TRANSACTION_TIMEOUT_MS = 60_000
"""How long the broker lets a transaction stay open; twice the commit interval where that is longer."""
SETTLE_SECONDS = 0.07
"""From making a producer to asking for its transactional id; see `_meet_coordinator`."""
FIRST_TRY_SECONDS = 0.05
"""First wait for `init_transactions`, doubled each time; it takes 4 ms if the last owner left nothing open."""
UNDECIDED = (KafkaError.CONCURRENT_TRANSACTIONS, KafkaError._TIMED_OUT)
"""Answers to `init_transactions` that only mean: not yet."""

PRODUCER_TUNING = {
    "linger.ms": 5,
    "compression.type": "none",
    "queue.buffering.max.messages": QUEUE_MESSAGES,
    # Never the limit that is met first: a record refused in the middle of a batch would leave a hole.
    "queue.buffering.max.kbytes": 1_048_576,
}


class Step(enum.Enum):
    """Where a commit stands."""

    BEGUN = "begun"
    OUTPUTS_PRODUCED = "outputs produced"
    SNAPSHOT_PRODUCED = "snapshot produced"
    FLUSHED = "flushed"
    OFFSETS_SENT = "offsets sent"
    COMMITTED = "committed"


Probe = Callable[[Step, int], None]
"""Called after each step with the partition; the fault tests kill the process there."""


class Unfinished(Exception):
    """A call did not finish inside its deadline: whether it took effect is not known."""


class Checkpoint:
    """One partition's way out: a producer, and the steps that make what it wrote visible.

    What differs between the guarantees (`TransactionalCheckpoint`, `worker.at_least_once`) is how a partition is
    acquired, and what beginning, sending offsets, concluding and aborting mean.

    Parameters
    ----------
    settings : WorkerSettings
        Topics and client properties.
    partition : int
        Outputs go to the same partition number as the input.
    own : dict
        Client properties of the guarantee.
    probe : Probe or None
        See `Probe`.
    """

    def __init__(self, settings: WorkerSettings, partition: int, own: Properties, probe: Probe | None = None) -> None:
        self.settings = settings
        self.partition = partition
        self.topics = settings.topics
        self.open = False
        """Whether outputs have been produced since the last commit."""
        self.bytes_since_snapshot = 0
        self._probe = probe
        self._own = own
        self._producer: Producer | None = None
        self._first_chunk: int | None = None
        self._unwritten = ""

    @property
    def producer(self) -> Producer:
        """The client; made by `renew`."""
        if self._producer is None:
            raise RuntimeError("the checkpoint has not been acquired")
        return self._producer

    def renew(self) -> None:
        """Throw the producer away and make a new one.

        Raises
        ------
        UsageFailure
            A client property is not valid, or does not go with a transaction.
        """
        self.discard()
        ours = {**PRODUCER_TUNING, "message.max.bytes": LARGEST_RECORD}
        theirs = without_membership(base_properties(self.settings.bootstrap, self.settings.passthrough))
        properties = {**ours, **theirs, **self._own}
        try:
            self._producer = Producer(quiet(properties))
        except KafkaException as error:
            raise UsageFailure(f"client property refused: {error.args[0].str()}") from None

    def discard(self) -> None:
        """Let go of the producer; what it had not delivered is dropped."""
        producer, self._producer = self._producer, None
        self.open = False
        if producer is not None:
            with contextlib.suppress(KafkaException, SystemError):  # a fenced producer complains even now
                producer.purge()
                producer.flush(0)

    def reached(self, step: Step) -> None:
        """Tell the probe."""
        if self._probe is not None:
            self._probe(step, self.partition)

    def produce(self, outputs: Outputs) -> None:
        """Begin if nothing is open, then hand the outputs over."""
        if not self.open:
            self._begin()
            self.open = True
            self.reached(Step.BEGUN)
        with explained(self):
            self.send(outputs)

    def commit(
        self,
        offset: int,
        snapshot: bytes | None,
        pointer: Pointer | None,
        membership: Any,
        deadline: Deadline,
    ) -> Pointer | None:
        """Take what was produced since the last commit through the remaining steps.

        Parameters
        ----------
        offset : int
            The next input offset to read.
        snapshot : bytes or None
            A snapshot standing at `offset`, if one is due.
        pointer : Pointer or None
            The newest committed snapshot; kept if `snapshot` is None.
        membership : object
            The consumer's group metadata: a second, independent fence.
        deadline : Deadline
            For all calls together.

        Raises
        ------
        KafkaException, Unfinished
            To be judged by `worker.verdicts`.
        """
        self.reached(Step.OUTPUTS_PRODUCED)
        with explained(self):
            chunks = 0 if snapshot is None else self.send_snapshot(snapshot)
            self.reached(Step.SNAPSHOT_PRODUCED)
            self.flush(deadline)
            if chunks:
                pointer = self.pointer(chunks, offset)
        self.reached(Step.FLUSHED)
        place = TopicPartition(self.topics.input, self.partition, offset, pointer.text() if pointer else None)
        self._send_offsets(place, membership, deadline)
        self.reached(Step.OFFSETS_SENT)
        self._conclude(place, deadline)
        self.open = False
        self.reached(Step.COMMITTED)
        return pointer

    def acquire(self, deadline: Deadline) -> None:
        """Take the partition over from whoever owned it; may block."""
        raise NotImplementedError

    def abort(self, deadline: Deadline) -> None:
        """Make everything produced since the last commit vanish, as far as the guarantee can."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Open what the outputs go into."""
        raise NotImplementedError

    def _send_offsets(self, place: TopicPartition, membership: Any, deadline: Deadline) -> None:
        """Let the input offset join the outputs."""
        raise NotImplementedError

    def _conclude(self, place: TopicPartition, deadline: Deadline) -> None:
        """Make outputs and offset visible."""
        raise NotImplementedError

    def send(self, outputs: Outputs) -> None:
        """Hand predictions, accuracy points and rejections to the client."""
        topics = self.topics
        records: list[dict[str, Any]]
        if outputs.keys.count(None) == len(outputs.keys):
            records = [{"value": value} for value in outputs.predictions]
        else:
            pairs = zip(outputs.predictions, outputs.keys, strict=True)
            records = [{"value": value} if key is None else {"value": value, "key": key} for value, key in pairs]
        self._send(topics.predictions, records)
        self._send(topics.accuracy, [{"key": key, "value": value} for key, value in outputs.points])
        for bad in outputs.rejected:
            self._room(1)
            self.producer.produce(
                topics.rejected,
                bad.value,
                key=bad.key,
                partition=self.partition,
                on_delivery=self._note_unwritten,
                headers={
                    "reason": bad.reason.encode(),
                    "topic": topics.input.encode(),
                    "partition": str(self.partition).encode(),
                    "offset": str(bad.offset).encode(),
                    "timestamp": str(bad.timestamp).encode(),
                },
            )
        if outputs.predictions:  # about: they differ by some digits
            self.bytes_since_snapshot += len(outputs.predictions) * len(outputs.predictions[0])
        if len(self.producer) > MOST_UNREPORTED:
            self.producer.poll(0)

    def _send(self, topic: str, records: list[dict[str, Any]]) -> None:
        """Hand records to the client in order, never more than its queue has room for."""
        start = 0
        while start < len(records):
            part = records[start : start + self._room(1)]
            if self.producer.produce_batch(topic, part, partition=self.partition) != len(part):
                # The call itself does not fail, e.g. where the topic has fewer partitions than the input.
                raise KafkaException(next(record["_error"] for record in part if "_error" in record))
            start += len(part)

    def _room(self, wanted: int) -> int:
        """Free places in the client's queue, after waiting until `wanted` are free."""
        while (free := QUEUE_MESSAGES - len(self.producer)) < wanted:
            self.producer.poll(0.01)
        return free

    def send_snapshot(self, blob: bytes) -> int:
        """Hand a snapshot's chunks to the client; return their number."""
        chunks = cut(blob)
        self._first_chunk = None
        for i, chunk in enumerate(chunks):
            self._room(1)
            self.producer.produce(
                self.topics.snapshots,
                chunk,
                key=chunk_key(self.partition, i),
                partition=self.partition,
                on_delivery=self._note_first_chunk if i == 0 else self._note_unwritten,
            )
        self.bytes_since_snapshot = 0
        return len(chunks)

    def _note_first_chunk(self, error: Any, message: Any) -> None:
        self._note_unwritten(error, message)
        if error is None:
            self._first_chunk = message.offset()

    def _note_unwritten(self, error: Any, message: Any) -> None:
        if error is not None and judge(error) is Verdict.FATAL:
            self._unwritten = f"{message.topic()} cannot be written: {error.str()}"

    def flush(self, deadline: Deadline) -> None:
        """Wait until the broker has everything.

        Raises
        ------
        Failure
            It will never take an output: an event that can neither be used nor set aside must not be skipped.
        Unfinished
            It has not, inside the deadline.
        """
        try:
            left = self.producer.flush(deadline.remaining())
        except SystemError as error:  # a fatal error came first: the client calls back with its exception still set
            if isinstance(error.__cause__, KafkaException):
                raise error.__cause__ from None
            raise
        if self._unwritten:
            raise Failure(f"{self.topics.input}/{self.partition}: {self._unwritten}")
        if left > 0:
            raise Unfinished("the broker did not take the outputs in time")

    def pointer(self, chunks: int, offset: int) -> Pointer:
        """Where the chunks just flushed are.

        Raises
        ------
        Unfinished
            Their delivery failed, so the transaction cannot commit.
        """
        if self._first_chunk is None:
            raise Unfinished("the snapshot was not delivered")
        return Pointer(self._first_chunk, chunks, offset)


class TransactionalCheckpoint(Checkpoint):
    """Exactly once: one transactional producer per partition, so that taking a partition over is one call."""

    def __init__(self, settings: WorkerSettings, partition: int, probe: Probe | None = None) -> None:
        own = {
            "transactional.id": f"{settings.group}-{settings.input}-{partition}",
            "transaction.timeout.ms": max(TRANSACTION_TIMEOUT_MS, int(2000 * settings.commit_interval)),
        }
        super().__init__(settings, partition, own, probe)

    def acquire(self, deadline: Deadline) -> None:
        """New producer, `init_transactions`: fences the last owner and aborts what it left open.

        While the coordinator is aborting, the client asks it again only every 500 ms, a new client at once.
        """
        patience = FIRST_TRY_SECONDS
        self._meet_coordinator(deadline)
        while True:
            try:
                self.producer.init_transactions(min(patience, deadline.remaining()))
                return
            except KafkaException as error:
                code = error.args[0].code()
                if deadline.passed or not (code in UNDECIDED or judge(error.args[0]) is Verdict.RETRY):
                    raise
                if code == KafkaError.CONCURRENT_TRANSACTIONS:
                    self._meet_coordinator(deadline)
            patience *= 2  # a broker that is slow to answer must not be asked ever anew

    def _meet_coordinator(self, deadline: Deadline) -> None:
        """A new producer that knows its broker.

        One that knows none yet looks for its coordinator again only after 500 ms. That is over when the metadata is
        there and the client has had time to settle: asked within 20 ms it still took 500, after 60 ms it takes 10.
        """
        made = time.monotonic()
        self.renew()
        insist(lambda: self.producer.list_topics(self.topics.input, deadline.remaining()), deadline)
        time.sleep(max(0.0, made + SETTLE_SECONDS - time.monotonic()))

    def _begin(self) -> None:
        self.producer.begin_transaction()

    def _send_offsets(self, place: TopicPartition, membership: Any, deadline: Deadline) -> None:
        # A second time, into the log: what the group's coordinator says after a restart is not always the last of it.
        self.producer.produce(
            self.topics.snapshots,
            str(place.offset).encode(),
            key=position_key(self.partition),
            partition=self.partition,
            on_delivery=self._note_unwritten,
        )
        insist(lambda: self.producer.send_offsets_to_transaction([place], membership, deadline.remaining()), deadline)

    def _conclude(self, place: TopicPartition, deadline: Deadline) -> None:
        insist(lambda: self.producer.commit_transaction(deadline.remaining()), deadline)

    def abort(self, deadline: Deadline) -> None:
        """Abort the open transaction.

        Raises
        ------
        KafkaException, Unfinished
            Then only a new producer helps.
        """
        if self.open:
            self.producer.purge()
            insist(lambda: self.producer.abort_transaction(deadline.remaining()), deadline)
            self.open = False

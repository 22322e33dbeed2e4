"""The commit: outputs, snapshot, input offset and snapshot pointer become visible together, or not at all.

The six steps, in this order and under these names in logs, code and fault tests:

    BEGUN              a transaction is open on the partition's producer
    OUTPUTS_PRODUCED   predictions, accuracy points, drift alarms, shares and rejections are handed to the client
    SNAPSHOT_PRODUCED  so are the chunks of a snapshot, when one is due
    FLUSHED            the broker has all of them, and its reports of where they are prove it
    OFFSETS_SENT       the input offset, with the pointer as its metadata, has joined the transaction; exactly-once also
                       writes a record of it all, the position, beside the snapshots
                       (`driftway.worker.state.changelog.commit_record`)
    COMMITTED          the broker has committed

A worker that dies before COMMITTED leaves nothing that a read_committed reader sees: the next owner of the
partition initialises the same transactional id, which fences the dead one and aborts what it left open.

A producer is never used again after a transaction that failed: its numbers may be those of messages that the broker has
(docs/decisions/0018). Nothing is aborted either: the next one's takeover does that.
"""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.errors import Failure
from driftway.worker.kafka.client_config import Properties, base_properties, without_membership
from driftway.worker.kafka.client_factory import make_sender
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut, refused_properties
from driftway.worker.kafka.interface import OffsetRange, Sender
from driftway.worker.kafka.topics import LARGEST_RECORD
from driftway.worker.settings import EXACTLY_ONCE, WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.state.outputs import Outputs
from driftway.worker.state.snapshot import Pointer, chunk_key, order_key, split_chunks
from driftway.worker.wire.columns import BytesColumn, ListColumn
from driftway.worker.wire.headers import Headers
from driftway.worker.wire.rejections import headers_of

Answer = TypeVar("Answer")
QUEUE_MESSAGES = 200_000
"""Records that a producer may hold; about two batches of the loop, some tens of MB."""
MAX_UNREPORTED = 20_000
"""Delivered records whose reports may wait for the commit: its flush goes through them beside the loop."""
ROOM_SECONDS = 5.0
"""How long the loop waits for room in the client's queue: then the broker takes nothing, and the commit says so."""
END_SECONDS = 5.0
"""For the reports of what a discarded producer had not delivered."""
FLUSH_SECONDS, PROGRESS_SECONDS = 0.5, 5.0
"""A flush is asked for in pieces; while each finds fewer records left, the commit has so much time again."""

PRODUCER_TUNING = {
    # By default the client forgets all brokers when none is connected, and `send_offsets_to_transaction` waits without
    # end for one of them (librdkafka 5511). Where brokers have moved, the next producer finds them.
    "metadata.recovery.strategy": "none",
    # Nothing is visible before its commit, and a commit's flush does not linger: requests may as well be full ones. One
    # of a partition is on its way at a time; while another is ready the client's thread asks again and again instead
    # of waiting (docs/decisions/0029).
    "linger.ms": 100,
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


@dataclass(frozen=True)
class CommitRequest:
    """What a commit makes visible, beside the outputs.

    Parameters
    ----------
    previous : int
        The offset of the commit before.
    offset : int
        The next input offset to read.
    snapshot : bytes or None
        A snapshot standing at `offset`, if one is due.
    pointer : Pointer or None
        The newest committed snapshot; kept if `snapshot` is None.
    order : MergeOrder or None
        In which order events and labels were taken since that; None: there is one topic.
    rounds : int or None
        How often the learners have met those of other partitions; None: they share nothing.
    """

    previous: int
    offset: int
    snapshot: bytes | None
    pointer: Pointer | None
    order: MergeOrder | None = None
    rounds: int | None = None


class Checkpoint:
    """One partition's way out: a producer, and the steps that make what it wrote visible.

    What differs between the guarantees (modules `exactly_once` and `at_least_once`) is how a partition is acquired, and
    what sending offsets and concluding mean.

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

    every_report = False
    """Whether every record's delivery is to be reported, not the first and last ones only."""

    def __init__(self, settings: WorkerSettings, partition: int, own: Properties, probe: Probe | None = None) -> None:
        self.settings = settings
        self.partition = partition
        self.topics = settings.topics
        self.open = False
        """Whether outputs have been produced since the last commit."""
        self.bytes_since_snapshot = 0
        self.ends: dict[str, int] = {}
        """Topic -> an offset below which nothing of the open transaction is; set by a restore and by commits."""
        self.step = Step.COMMITTED
        """What was reached last: tells where a call is stuck."""
        self._probe = probe
        self._own = own
        self._sender: Sender | None = None

    @property
    def sender(self) -> Sender:
        """The client; made by `new_producer`."""
        if self._sender is None:
            raise RuntimeError("the checkpoint has not been acquired")
        return self._sender

    def new_producer(self) -> None:
        """Throw the producer away and make a new one.

        Raises
        ------
        UsageFailure
            A client property is not valid, or does not go with a transaction.
        """
        self.close_producer()
        ours = {**PRODUCER_TUNING, "message.max.bytes": LARGEST_RECORD}
        theirs = without_membership(base_properties(self.settings.bootstrap, self.settings.passthrough))
        properties = {**ours, **theirs, **self._own}
        with refused_properties():
            self._sender = make_sender(self.settings.client, properties, self.partition, self.every_report)

    def close_producer(self) -> None:
        """Let go of the producer; what it had not delivered is dropped, beside whoever calls this."""
        left, self._sender = [self._sender], None
        self.open = False
        if left != [None]:
            threading.Thread(target=_end, args=(left,), name=f"discard {self.partition}", daemon=True).start()

    def _advance_to(self, step: Step) -> None:
        """Note the step, and tell the probe."""
        self.step = step
        if self._probe is not None:
            self._probe(step, self.partition)

    def produce(self, outputs: Outputs) -> None:
        """Hand the outputs over; the transaction was begun by whoever acquired the partition, or committed last.

        Raises
        ------
        KafkaException, TaskError
            To be judged by `driftway.worker.kafka.error_handling`; the checkpoint has to be acquired again.
        """
        if not self.open:
            self.open = True
            self._advance_to(Step.BEGUN)
        with_cause(self, partial(self.send, outputs))

    def commit(self, request: CommitRequest, group_metadata: Any, deadline: Deadline) -> Pointer | None:
        """Take what was produced since the last commit through the remaining steps.

        Parameters
        ----------
        request : CommitRequest
            What it says.
        group_metadata : object
            The consumer's group metadata: a second, independent fence.
        deadline : Deadline
            For all calls together; it is extended while records are being delivered.

        Returns
        -------
        Pointer or None
            The newest committed snapshot.

        Raises
        ------
        KafkaException, TaskError
            To be judged by `driftway.worker.kafka.error_handling`; the checkpoint has to be acquired again.
        """
        self._advance_to(Step.OUTPUTS_PRODUCED)
        spans, pointer = with_cause(self, partial(self._deliver, request, deadline))
        self._advance_to(Step.FLUSHED)
        position = CommitRecord(request.offset, request.previous, pointer, spans, rounds=request.rounds)
        if request.order is not None:
            since = request.order if request.snapshot is None else MergeOrder(request.order.end)
            position = replace(position, labels=self.topics.labels, order=since)
        written = with_cause(self, partial(self._send_offsets, position, group_metadata, deadline))
        self._advance_to(Step.OFFSETS_SENT)
        self._finish_commit(deadline)
        self.ends |= {topic: span.last + 1 for topic, span in (spans | written).items()}
        self.sender.start_ranges()
        self.open = False
        self._advance_to(Step.COMMITTED)
        self._begin()
        return pointer

    def _deliver(self, request: CommitRequest, deadline: Deadline) -> tuple[dict[str, OffsetRange], Pointer | None]:
        """The snapshot, if one is due, and all records delivered: where they are, and the newest snapshot."""
        chunks = 0 if request.snapshot is None else self.send_snapshot(request.snapshot)
        if request.snapshot is not None and request.order is not None:
            key = order_key(self.partition, request.order.begin.offset)
            self.sender.send_one(self.topics.snapshots, request.order.write(), key)
        self._advance_to(Step.SNAPSHOT_PRODUCED)
        self.flush(deadline)
        spans = self.sender.ranges(self.ends)
        self.sender.start_ranges()
        state = spans.pop(self.topics.snapshots, None)
        return spans, request.pointer if state is None else Pointer(state.first, chunks, request.offset)

    def acquire(self, deadline: Deadline) -> None:
        """Take the partition over from whoever owned it, with a new producer; may block."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Open what the next outputs go into."""
        raise NotImplementedError

    def _send_offsets(self, record: CommitRecord, group_metadata: Any, deadline: Deadline) -> dict[str, OffsetRange]:
        """Let the input offset join the outputs; where what was written for it lies."""
        raise NotImplementedError

    def _finish_commit(self, deadline: Deadline) -> None:
        """Make outputs and offset visible."""
        raise NotImplementedError

    def send(self, outputs: Outputs) -> None:
        """Hand predictions, accuracy points, drift alarms, shares and rejections to the client."""
        topics = self.topics
        headers = outputs.headers if outputs.headers is not None and any(outputs.headers) else None
        self._send(topics.predictions, outputs.predictions, outputs.keys, headers)
        if outputs.points:
            keys, points = zip(*outputs.points, strict=True)
            self._send(topics.accuracy, ListColumn(points), ListColumn(keys))
        if outputs.alarms:
            keys, values = zip(*((alarm.key, alarm.value) for alarm in outputs.alarms), strict=True)
            self._send(topics.alarms, ListColumn(values), ListColumn(keys))
        if outputs.shares:
            keys, values = zip(*((minute.key, minute.value) for minute in outputs.shares), strict=True)
            self._send(topics.shares, ListColumn(values), ListColumn(keys))
        if outputs.rejected:
            values, keys = zip(*((bad.value, bad.key) for bad in outputs.rejected), strict=True)
            whys = [headers_of(bad, topics.input, self.partition, topics.labels) for bad in outputs.rejected]
            self._send(topics.rejected, ListColumn(values), ListColumn(keys), whys)
        self.bytes_since_snapshot += outputs.predictions.nbytes
        outputs.predictions.release()
        if len(self.sender) > MAX_UNREPORTED:
            self.sender.poll(0)

    def _send(self, topic: str, values: BytesColumn, keys: BytesColumn, headers: Headers | None = None) -> None:
        """Hand records to the client in order, never more than its queue has room for."""
        n, start = len(values), 0
        while start < n:
            end = min(n, start + self._room(1))
            whole = (start, end) == (0, n)
            part = (values, keys) if whole else (values[start:end], keys[start:end])
            self.sender.send(topic, *part, None if headers is None else headers[start:end])
            start = end

    def _room(self, wanted: int) -> int:
        """Free places in the client's queue, after waiting until `wanted` are free.

        Raises
        ------
        TimedOut
            The broker takes nothing.
        """
        patience = Deadline(ROOM_SECONDS)
        while (free := QUEUE_MESSAGES - len(self.sender)) < wanted:
            if patience.passed:
                raise TimedOut("the broker takes no outputs, and the client's queue is full")
            self.sender.poll(0.01)
        return free

    def send_snapshot(self, blob: bytes) -> int:
        """Hand a snapshot's chunks to the client; return their number."""
        chunks = split_chunks(blob)
        for i, chunk in enumerate(chunks):
            self._room(1)
            self.sender.send_one(self.topics.snapshots, chunk, chunk_key(self.partition, i))
        self.bytes_since_snapshot = 0
        return len(chunks)

    def flush(self, deadline: Deadline) -> None:
        """Wait until the broker has everything, or has refused it.

        Raises
        ------
        TimedOut
            It has not, inside the deadline, and nothing was getting on any more.
        """
        left = len(self.sender)
        while True:
            before, left = left, self.sender.flush(min(FLUSH_SECONDS, deadline.remaining()))
            if left == 0:
                return
            if left < before:
                deadline.extend(PROGRESS_SECONDS)
            if deadline.passed:
                raise TimedOut("the broker did not take the outputs in time")


def with_cause(checkpoint: Checkpoint, call: Callable[[], Answer]) -> Answer:
    """Call, and let a failure to write be known by its cause: an output refused for good must not be tried for ever.

    Raises
    ------
    Failure
        An output may not be written.
    KafkaException
        Whatever else broke the open transaction; to be judged by `driftway.worker.kafka.error_handling`.
    """
    try:
        return call()
    except Failure:
        raise
    except Exception as error:
        failed = error
    # Not in the handler: what the client raises while an exception is handled keeps that one for ever, with all that
    # its frames hold (docs/upstream/confluent-kafka-kept-exceptions.md).
    if checkpoint.open and checkpoint.settings.guarantee == EXACTLY_ONCE:
        _check_transaction(checkpoint)
    raise failed


def _check_transaction(checkpoint: Checkpoint) -> None:
    """Ask by beginning again: refused as out of place in a sound transaction, with the cause in a broken one."""
    try:
        checkpoint.sender.begin_transaction()
    except KafkaException as error:
        code = error.args[0].code()
        if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            where = f"{checkpoint.topics.input}/{checkpoint.partition}"
            outputs, why = ", ".join(checkpoint.topics.outputs()), error.args[0].str()
            raise Failure(f"{where}: one of {outputs} may not be written: {why}") from None
        if code != KafkaError._STATE:
            raise


def _end(left: list[Sender]) -> None:
    """Drop what a sender holds. The last reference to it ends here, which waits for its threads.

    Every record is reported before: a callback that the client never calls is kept for ever.
    """
    sender, patience = left.pop(), Deadline(END_SECONDS)
    sender.drop()
    while len(sender) and not patience.passed:
        with contextlib.suppress(KafkaException, SystemError):
            sender.poll(0.05)

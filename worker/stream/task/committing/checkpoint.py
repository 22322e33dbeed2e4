"""The commit: outputs, snapshot, input offset and snapshot pointer become visible together, or not at all.

The six steps, in this order and under these names in logs, code and fault tests:

    BEGUN              a transaction is open on the partition's producer
    OUTPUTS_PRODUCED   predictions, accuracy points, drift alarms, shares and rejections are handed to the client
    SNAPSHOT_PRODUCED  so are the chunks of a snapshot, when one is due
    FLUSHED            the broker has all of them, which the offsets in its delivery reports prove
    OFFSETS_SENT       the input offset, with the pointer as its metadata, has joined the transaction; exactly-once has
                       also written a commit record beside the snapshots
                       (`driftway.worker.state.changelog.commit_record`)
    COMMITTED          the broker has committed

A worker that dies before COMMITTED leaves nothing that read_committed readers see: the next owner of the
partition initialises the same transactional id, which fences the dead one and aborts what it left open.

A producer is never reused after a failed transaction: it might repeat sequence numbers that the broker has already seen
(docs/decisions/0018). Nor is the transaction aborted here: the next producer's takeover does that.
"""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from confluent_kafka import KafkaException

from driftway.worker.kafka.client_config import (
    PRODUCER_TUNING,
    QUEUE_MESSAGES,
    Properties,
    base_properties,
    refused_properties,
    without_membership,
)
from driftway.worker.kafka.client_factory import make_sender
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.kafka.interface import OffsetRange, Sender
from driftway.worker.kafka.topics import LARGEST_RECORD
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.record_keys import chunk_key, emission_key, order_key, plan_key
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.delayed_labels.merge_order import MergeOrder
from driftway.worker.state.outputs import Outputs
from driftway.worker.state.stored_fields import split_chunks
from driftway.worker.stream.task.committing.commit_request import CommitRequest
from driftway.worker.stream.task.committing.output_errors import with_cause
from driftway.worker.wire.columns import BytesColumn, ListColumn
from driftway.worker.wire.headers import Headers
from driftway.worker.wire.rejections import SMALL_RECORD, record_of

MAX_UNREPORTED = 20_000
"""Records whose delivery reports may wait for the commit, whose flush polls them beside the loop."""
ROOM_SECONDS, MAX_ROOM_SECONDS = 5.0, 20.0
"""How long the loop waits for space in the client's queue; after that the broker counts as not accepting records. While
records are being delivered it waits up to the second limit, which is below the time after which a loop is stuck."""
QUEUE_BYTES = 16 * 2**20
"""Bytes of outputs in a producer's queue above which the loop waits for deliveries, which linger for 0.1 s."""
END_SECONDS = 5.0
"""Timeout for the delivery reports of a discarded producer."""
FLUSH_SECONDS, PROGRESS_SECONDS = 0.5, 20.0
"""Slice of a flush, and the time that the commit has at least left after each slice that made progress: a broker with a
quota takes a large request at once, and then nothing for many seconds."""


class Step(enum.Enum):
    """The steps of a commit, see the module's docstring."""

    BEGUN = "begun"
    OUTPUTS_PRODUCED = "outputs produced"
    SNAPSHOT_PRODUCED = "snapshot produced"
    FLUSHED = "flushed"
    OFFSETS_SENT = "offsets sent"
    COMMITTED = "committed"


Probe = Callable[[Step, int], None]
"""Called after each step with the partition; the fault tests kill the process there."""


class Checkpoint:
    """One partition's producer, and the steps that make its records visible.

    The guarantees (modules `exactly_once` and `at_least_once`) differ in how a partition is acquired, how offsets are
    sent, and how a commit is finished.

    Parameters
    ----------
    settings : WorkerSettings
        Topics and client properties.
    partition : int
        Outputs go to the same partition number as the input.
    own : dict
        Client properties that the guarantee requires.
    probe : Probe or None
        See `Probe`.
    """

    every_report = False
    """Whether every record gets a delivery report, not only the first and last of a topic."""

    def __init__(self, settings: WorkerSettings, partition: int, own: Properties, probe: Probe | None = None) -> None:
        self.settings = settings
        self.partition = partition
        self.topics = settings.topics
        self.open = False
        """Whether outputs have been produced since the last commit."""
        self.bytes_since_snapshot = 0
        self.ends: dict[str, int] = {}
        """Topic -> lower bound for the offsets of the open transaction; set by a restore and by commits."""
        self._largest = LARGEST_RECORD
        """Size in bytes of the largest record that the client accepts."""
        self.passes_large = True
        """Whether rejected events are passed on whole up to that size; not once the broker has refused a record for its
        size, since its limit is not known here."""
        self.step = Step.COMMITTED
        """The last step reached; shows where a call is stuck."""
        self._probe = probe
        self._own = own
        self._sender: Sender | None = None
        self._queued: list[tuple[int, int]] = []
        """Records and bytes of the latest calls of the client."""

    @property
    def sender(self) -> Sender:
        """The client; made by `new_producer`."""
        if self._sender is None:
            raise RuntimeError("the checkpoint has not been acquired")
        return self._sender

    def new_producer(self) -> None:
        """Discard the producer and create a new one.

        Raises
        ------
        UsageFailure
            A client property is invalid, or incompatible with transactions.
        """
        self.close_producer()
        self._queued.clear()
        ours = {**PRODUCER_TUNING, "message.max.bytes": LARGEST_RECORD}
        theirs = without_membership(base_properties(self.settings.bootstrap, self.settings.passthrough))
        properties = {**ours, **theirs, **self._own}
        with refused_properties(properties):
            self._sender = make_sender(self.settings.client, properties, self.partition, self.every_report)
        self._largest = int(properties["message.max.bytes"])

    def close_producer(self) -> None:
        """Discard the producer and its undelivered records, on a thread of its own."""
        left, self._sender = [self._sender], None
        self.open = False
        if left != [None]:
            threading.Thread(target=discard, args=(left,), name=f"discard {self.partition}", daemon=True).start()

    def _advance_to(self, step: Step) -> None:
        """Record the step and call the probe."""
        self.step = step
        if self._probe is not None:
            self._probe(step, self.partition)

    def produce(self, outputs: Outputs) -> None:
        """Produce outputs into the transaction that `acquire` or the last commit began.

        Raises
        ------
        KafkaException, TaskError
            To be classified by `driftway.worker.kafka.error_handling`; the checkpoint must be acquired again.
        """
        if not self.open:
            self.open = True
            self._advance_to(Step.BEGUN)
        with_cause(self, partial(self.send, outputs))

    def commit(
        self,
        request: CommitRequest,
        group_metadata: Any,
        deadline: Deadline,
        before_last: Callable[[], None] = lambda: None,
    ) -> Pointer | None:
        """Commit what was produced since the last commit: execute the remaining steps.

        Parameters
        ----------
        request : CommitRequest
            What to commit beside the outputs.
        group_metadata : object
            The consumer's group metadata: a second, independent fence.
        deadline : Deadline
            For all calls together; it is extended while records are being delivered.
        before_last : callable
            Called before the last step; what it raises keeps that from happening.

        Returns
        -------
        Pointer or None
            The newest committed snapshot.

        Raises
        ------
        KafkaException, TaskError
            To be classified by `driftway.worker.kafka.error_handling`; the checkpoint must be acquired again.
        """
        if not self.open:  # a snapshot without outputs
            self._advance_to(Step.BEGUN)
        self._advance_to(Step.OUTPUTS_PRODUCED)
        spans, pointer = with_cause(self, partial(self._deliver, request, deadline))
        self._advance_to(Step.FLUSHED)
        record = replace(request.record, pointer=pointer, outputs=spans)
        if record.order is not None and request.snapshot is not None:
            record = replace(record, order=MergeOrder(record.order.end))
        written = with_cause(self, partial(self._send_offsets, record, group_metadata, deadline))
        self._advance_to(Step.OFFSETS_SENT)
        before_last()
        self._finish_commit(deadline)
        self.ends |= {topic: span.last + 1 for topic, span in (spans | written).items()}
        self.sender.start_ranges()
        self.open = False
        self._advance_to(Step.COMMITTED)
        self._begin()
        return pointer

    def _deliver(self, request: CommitRequest, deadline: Deadline) -> tuple[dict[str, OffsetRange], Pointer | None]:
        """Deliver the snapshot, if one is due, and all records; return their ranges and the newest snapshot."""
        chunks = 0 if request.snapshot is None else self.send_snapshot(request.snapshot)
        if request.snapshot is not None and (order := request.record.order) is not None:
            self.sender.send_one(self.topics.snapshots, order.write(), order_key(self.partition, order.begin.offset))
        for adoption in request.adoptions:  # behind the snapshot, whose chunks are the first records
            self.sender.send_one(
                self.topics.snapshots, adoption.write(), plan_key(self.partition, adoption.plan.number)
            )
        for change in request.emissions:
            self.sender.send_one(self.topics.snapshots, change.write(), emission_key(self.partition, change.offset))
        self._advance_to(Step.SNAPSHOT_PRODUCED)
        self.flush(deadline)
        spans = self.sender.ranges(self.ends)
        self.sender.start_ranges()
        state = spans.pop(self.topics.snapshots, None)  # without a snapshot it holds emissions only
        own = None if state is None or not chunks else Pointer(state.first, chunks, request.record.offset)
        return spans, own or request.record.pointer

    def has_lost_coordinator(self, broker_left_at: float) -> bool:
        """Whether a commit waits in vain for a broker that has left the cluster (at that time by `time.monotonic`)."""
        return False

    def acquire(self, deadline: Deadline) -> None:
        """Take the partition over from its previous owner with a new producer; may block."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Begin the transaction for the next outputs, if there are transactions."""
        raise NotImplementedError

    def _send_offsets(self, record: CommitRecord, group_metadata: Any, deadline: Deadline) -> dict[str, OffsetRange]:
        """Add the input offset to the commit; return the ranges of records written for it."""
        raise NotImplementedError

    def _finish_commit(self, deadline: Deadline) -> None:
        """Make outputs and offset visible."""
        raise NotImplementedError

    def send(self, outputs: Outputs) -> None:
        """Hand predictions, of challengers too, accuracy points, drift alarms, shares and rejections to the client."""
        topics = self.topics
        headers = outputs.headers if outputs.headers is not None and any(outputs.headers) else None
        self._send(topics.predictions, outputs.predictions, outputs.keys, headers)
        for one in outputs.challengers:
            named = one.headers if one.headers is not None and any(one.headers) else None
            self._send(topics.challengers, one.predictions, one.keys, named)
            self.bytes_since_snapshot += one.predictions.nbytes
            one.predictions.release()
        if outputs.points:
            keys, points = zip(*outputs.points, strict=True)
            self._send(topics.accuracy, ListColumn(points), ListColumn(keys))
        for topic, records in ((topics.alarms, outputs.alarms), (topics.shares, outputs.shares)):
            if records:
                keys, values = zip(*((record.key, record.value) for record in records), strict=True)
                self._send(topic, ListColumn(values), ListColumn(keys))
        if outputs.rejected:
            source = topics.input, self.partition, topics.labels, self.settings.rejected_headers
            largest = self._largest if self.passes_large else min(self._largest, SMALL_RECORD)
            rejections = (record_of(bad, *source).within(largest) for bad in outputs.rejected)
            keys, values, headers = zip(*rejections, strict=True)
            self._send(topics.rejected, ListColumn(values), ListColumn(keys), headers)
        self.bytes_since_snapshot += outputs.predictions.nbytes
        outputs.predictions.release()
        if len(self.sender) > MAX_UNREPORTED:
            self.sender.poll(0)

    def _send(self, topic: str, values: BytesColumn, keys: BytesColumn, headers: Headers | None = None) -> None:
        """Hand records to the client in order, never more than fit into its queue."""
        n, start = len(values), 0
        nbytes = values.nbytes + keys.nbytes
        while start < n:
            end = min(n, start + self._await_room())
            whole = (start, end) == (0, n)
            self._queued.append((end - start, nbytes * (end - start) // n))
            part = (values, keys) if whole else (values[start:end], keys[start:end])
            self.sender.send(topic, *part, None if headers is None else headers[start:end])
            start = end

    def _await_room(self) -> int:
        """Wait until the client's queue has space for a record, also by bytes; return its free space in records.

        Raises
        ------
        TimedOut
            The broker accepts no records.
        """
        deadline = Deadline(ROOM_SECONDS, at_most=MAX_ROOM_SECONDS)
        left = len(self.sender)
        while (free := QUEUE_MESSAGES - left) < 1 or self._queued_bytes(left) > QUEUE_BYTES:
            if deadline.passed:
                raise TimedOut("the broker accepts no outputs, and the client's queue is full")
            self.sender.poll(0.01)
            before, left = left, len(self.sender)
            if left < before:
                deadline.extend(ROOM_SECONDS)
        return free

    def _queued_bytes(self, left: int) -> int:
        """Return the bytes of the calls whose records are among the last `left` ones, not delivered yet."""
        counted = 0
        for number, (records, _) in enumerate(reversed(self._queued), 1):
            counted += records
            if counted >= left:
                del self._queued[: len(self._queued) - number * (left > 0)]
                break
        return sum(nbytes for _, nbytes in self._queued)

    def send_snapshot(self, blob: bytes) -> int:
        """Hand a snapshot's chunks to the client; return their number."""
        chunks = split_chunks(blob)
        for i, chunk in enumerate(chunks):
            self._await_room()
            self.sender.send_one(self.topics.snapshots, chunk, chunk_key(self.partition, i))
        self.bytes_since_snapshot = 0
        return len(chunks)

    def flush(self, deadline: Deadline) -> None:
        """Wait until the broker has everything, or has refused it.

        Raises
        ------
        TimedOut
            The deadline has passed, and no progress was being made.
        """
        left = len(self.sender)
        while True:
            before, left = left, self.sender.flush(min(FLUSH_SECONDS, deadline.remaining()))
            if left == 0:
                return
            if left < before:
                deadline.extend(PROGRESS_SECONDS)
            if deadline.passed:
                raise TimedOut("the broker did not confirm the outputs in time")


def discard(left: list[Sender]) -> None:
    """Discard a sender. The last reference to it is dropped here, which waits for its threads.

    All delivery reports are polled first: a callback that the client never calls is kept alive forever.
    """
    sender, deadline = left.pop(), Deadline(END_SECONDS)
    sender.drop()
    while len(sender) and not deadline.passed:
        with contextlib.suppress(KafkaException, SystemError):
            sender.poll(0.05)

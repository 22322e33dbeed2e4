"""Replay of a stream's rows onto a topic, in order and at a given rate. Start reading at `Replay.run`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.producers.delayed_labels import DelayedLabels
from driftway.producers.event_time import EventTime
from driftway.producers.load_profiles import Schedule
from driftway.producers.messages import Encoding, Messages, encoder, raw_encoder, with_timestamps
from driftway.producers.pacer import Pacer
from driftway.producers.poison import Poison
from driftway.producers.replay_position import ReplayPosition
from driftway.producers.row_random import LabelDropper
from driftway.producers.selection import Selection, select
from driftway.producers.sinks.confluent import ConfluentSink
from driftway.producers.sinks.dry_run import DryRun
from driftway.producers.sinks.latency import Latencies
from driftway.producers.sinks.librdkafka import LibrdkafkaSink
from driftway.producers.sinks.properties import check_owned
from driftway.producers.sinks.sink import Sink, StopRequest
from driftway.producers.sinks.transactions import TransactionalSink, TransactionOption, last_committed
from driftway.producers.streams.event_files.event_file import EventFile
from driftway.producers.streams.ground_truth import split_truth
from driftway.producers.streams.stream import BLOCK_ROWS, Block, Stream
from driftway.producers.topics import NeededTopics
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import NATIVE, PYTHON, require_broker
from driftway.worker.wire import codec
from driftway.worker.wire.columns import BytesColumn


@dataclass(frozen=True)
class Delivery:
    """How messages are delivered.

    Parameters
    ----------
    partition : int or None
        Partition for all messages; None: row i goes to i mod the number of partitions, or by the hash of its key.
    transaction : TransactionOption or None
        Produce in transactions, so that the rows of each become visible together.
    resume : ReplayPosition or None
        Stores the position and, after an interruption, says where to resume.
    latencies : Latencies or None
        Collects the time of each message from due to acknowledged.
    dry_run : str or None
        File to write the values to, instead of Kafka.
    client : str
        NATIVE calls librdkafka directly, unless another option needs confluent-kafka; see `Replay.client`.
    label_topic : str or None
        Topic of delayed labels, with as many partitions as the rows' topic; None: the rows' topic.
    """

    partition: int | None = None
    transaction: TransactionOption | None = None
    resume: ReplayPosition | None = None
    latencies: Latencies | None = None
    dry_run: str | None = None
    client: str = PYTHON
    label_topic: str | None = None


class EncodedBlock(NamedTuple):
    """A block's messages, and which rows have their label withheld or sent later. Shapes: b1[n], b1[n]."""

    messages: Messages
    withheld: NDArray[np.bool_]
    later: NDArray[np.bool_]


Write = Callable[[int, int, Any], EncodedBlock]
"""(number of rows sent before, the first row's position, rows) -> the encoded block."""


@dataclass
class SentCounts:
    """Counts of what was queued; see `Report`."""

    rows: int = 0
    bytes: int = 0
    poison: int = 0
    unlabelled: int = 0
    delayed_labels: int = 0
    waiting_labels: int = 0

    def add(self, block: EncodedBlock, rows: int) -> None:
        """Count the first `rows` rows of a block."""
        messages = block.messages
        sent = messages.of_rows(0, rows) if rows < messages.rows else messages
        labels = 0 if sent.is_label is None else int(sent.is_label.sum())
        self.rows += rows
        self.bytes += sent.value_bytes()
        self.poison += len(sent) - rows - labels
        self.unlabelled += int(block.withheld[:rows].sum())
        self.delayed_labels += labels
        self.waiting_labels += int(block.later[:rows].sum()) - labels


@dataclass(frozen=True)
class Report:
    """The outcome of a replay.

    `rows` were queued, plus `poison` malformed messages and `delayed_labels`; `errors` counts those of them that were
    not delivered; `unlabelled` rows were sent without their label; `waiting_labels` were not due by the last row;
    `late` is the longest delay of a row in seconds; `began` is the first row's position, `next_id` that after the last.
    """

    rows: int
    bytes: int
    seconds: float
    errors: int
    first_error: str | None
    next_id: int
    late: float
    began: int = 0
    poison: int = 0
    unlabelled: int = 0
    delayed_labels: int = 0
    waiting_labels: int = 0

    @property
    def rate(self) -> float:
        """Rows per second, from the first row to the broker's last response."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0


@dataclass
class Replay:
    """Sends one stream to one topic.

    Parameters
    ----------
    stream : Stream or EventFile
        The rows. The events of an EventFile are sent unchanged, without the options that alter rows.
    topic : str
        Topic to write to.
    schedule : Schedule or None
        When rows are due; None: as fast as the client accepts them.
    selection : Selection
        Which rows to send.
    encoding : Encoding
        How rows are serialized.
    delivery : Delivery
        How messages are delivered.
    label_dropper : LabelDropper or None
        Removes labels.
    poison : Poison or None
        Inserts malformed messages between the rows.
    truth : bool
        The stream is a `WithGroundTruth`, possibly shuffled; each message gets its row's truth as headers.
    delayed_labels : DelayedLabels or None
        Sends labels in messages of their own, after later rows.
    stop : StopRequest
        Call it to end the replay early.
    on_progress : callable
        Called with the number of rows queued so far, once per slice.
    on_warning : callable
        Called with a sentence if the topic may lose what is sent.
    """

    stream: Stream | EventFile
    topic: str
    schedule: Schedule | None = None
    selection: Selection = field(default_factory=Selection)
    encoding: Encoding = field(default_factory=Encoding)
    delivery: Delivery = field(default_factory=Delivery)
    label_dropper: LabelDropper | None = None
    poison: Poison | None = None
    truth: bool = False
    stop: StopRequest = field(default_factory=StopRequest)
    delayed_labels: DelayedLabels | None = None
    on_progress: Callable[[int], None] = lambda _rows: None
    on_warning: Callable[[str], None] = lambda _sentence: None

    @property
    def client(self) -> str:
        """The client in use: latencies, transactions, dry runs, headers and timestamps need PYTHON."""
        how = self.delivery
        python = how.latencies or how.transaction or how.dry_run or self.truth or isinstance(self.schedule, EventTime)
        return PYTHON if python else how.client

    def run(self, bootstrap: str, properties: Mapping[str, Any], partitions: int | None = None) -> Report:
        """Send the rows and wait for the delivery report of each.

        Parameters
        ----------
        bootstrap : str
            Address of a broker.
        properties : mapping
            Client properties to pass through.
        partitions : int or None
            Partitions of the topic. None: as many as it has, or 1 if it must be created.

        Raises
        ------
        Unreachable
            No broker answers.
        UsageFailure
            A topic has another number of partitions, the stream has no rows or no such column, a property cannot be
            set, or a label's delay is not valid.
        Failure
            A file cannot be written, or a transaction's outcome is unknown.
        """
        check_owned(properties)
        write = self._writer()
        resumed = self._position(bootstrap, properties)
        if resumed is not None and self.selection.ends_before(resumed):
            return Report(0, 0, 0.0, 0, None, resumed, 0.0, resumed)
        selection = self.selection if resumed is None else self.selection.since(resumed)
        sent = SentCounts(waiting_labels=self._reload_delayed_labels(write, resumed))
        size = self.schedule.block_rows if self.schedule else BLOCK_ROWS
        blocks = (write(sent.rows, position, block) for position, block in select(self.stream, selection, size))
        # Reading the first block compiles the generator's kernel, which must not count against the schedule, and
        # shows whether a file is usable before any topic is created.
        first = next(blocks, None)
        if first is None:
            if resumed is not None:
                return Report(0, 0, 0.0, 0, None, resumed, 0.0, resumed)
            raise UsageFailure(f"{self.stream.name} has no rows after the first {selection.skip}")
        start = first.messages.first
        times = first.messages.times
        sink = self._make_sink(bootstrap, properties, partitions, None if times is None else times[0])
        sink.open()
        if self.delivery.resume is not None and resumed is None:
            self.delivery.resume.save(start)
        pace = Pacer(self.schedule)
        pace.start()
        for block in itertools.chain([first], blocks):
            rows = self._send(sink, pace, sent.rows, block.messages)
            sent.add(block, rows)
            if rows < block.messages.rows:
                break
        sink.finish()
        return Report(
            seconds=pace.elapsed(),
            errors=sink.errors,
            first_error=sink.first_error,
            next_id=start + sent.rows,
            late=pace.latest,
            began=start,
            **dataclasses.asdict(sent),
        )

    def _reload_delayed_labels(self, write: Write, began: int | None) -> int:
        """Encode the rows before a resumed replay's first one again, to queue those of their labels still due.

        Returns the number of these labels.
        """
        if self.delayed_labels is None or began is None:
            return 0
        before = dataclasses.replace(self.selection, limit=began - self.selection.skip)
        for position, block in select(self.stream, before, BLOCK_ROWS):
            if self.stop.requests:
                break
            write(0, position, block)
        return self.delayed_labels.waiting

    def _send(self, sink: Sink, pace: Pacer, sent: int, messages: Messages) -> int:
        """Send a block in slices as the schedule allows; return the number of rows sent, fewer after a stop."""
        largest = messages.max_value_bytes()
        at = 0
        while at < messages.rows and not self.stop.requests:
            rows = pace.due(sent + at, messages.rows - at)
            if rows == 0:
                sink.idle(pace.wait(sent + at, messages.rows - at))
                continue
            rows = min(rows, sink.max_rows or rows)
            part = messages.of_rows(at, at + rows)
            if not sink.wait_for_capacity(len(part), largest):
                break
            due = None if self.delivery.latencies is None else pace.moments(sent + at, rows)[part.row_indices()]
            sink.send(part, due)
            at += rows
            sink.sent_until(part.first + rows)
            self.on_progress(sent + at)
        return at

    def _writer(self) -> Write:
        """The function that encodes a block as messages; see `driftway.producers.messages`."""
        if isinstance(self.stream, EventFile):
            return self._raw_writer(self.stream)
        encode = encoder(self.stream, self.encoding, self.client == NATIVE)
        timed = self.schedule if isinstance(self.schedule, EventTime) else None
        if timed is not None:
            timed.bind(self.stream)

        def write(sent: int, position: int, block: Block) -> EncodedBlock:
            truth = delays = None
            if self.truth:
                block, truth = split_truth(block)
            times = None if timed is None else timed.read_times(sent, position, block)
            withheld = later = np.zeros(len(block.y), np.bool_)
            if self.label_dropper is not None:
                block, withheld = self.label_dropper.apply(position, block)
            y = block.y
            if self.delayed_labels is not None:
                block, delays = self.delayed_labels.split(block)
                block, later = Block(block.X, np.full(len(y), np.nan)), ~np.isnan(y)
            values, keys = encode(position, block)
            if times is not None and self.encoding.form == codec.JSON:
                values = with_timestamps(values, times)
            messages = Messages(position, len(values), values, keys, times)
            if self.delayed_labels is not None:
                messages = self.delayed_labels.interleave(messages, y, delays)
            if self.poison is not None:
                messages = self.poison.interleave(messages)
            messages = messages if truth is None else dataclasses.replace(messages, truth=truth)
            return EncodedBlock(messages, withheld, later)

        return write

    def _raw_writer(self, file: EventFile) -> Write:
        """Like `_writer`, for a file whose events are sent unchanged."""
        encode = raw_encoder(file, self.encoding.key, self.client == NATIVE)

        def write(_sent: int, position: int, events: BytesColumn) -> EncodedBlock:
            values, keys = encode(events)
            messages = Messages(position, len(values), values, keys)
            none = np.zeros(len(values), np.bool_)
            return EncodedBlock(messages if self.poison is None else self.poison.interleave(messages), none, none)

        return write

    def _position(self, bootstrap: str, properties: Mapping[str, Any]) -> int | None:
        """Position at which an interrupted replay resumes; None for a new one."""
        resume, transaction = self.delivery.resume, self.delivery.transaction
        if resume is None or resume.position is None:
            return None
        if transaction is None:
            return resume.position
        require_broker(bootstrap, properties)
        committed = last_committed(bootstrap, properties, transaction, self.topic, resume.run)
        return resume.position if committed is None else max(committed, resume.position)

    def _make_sink(
        self, bootstrap: str, properties: Mapping[str, Any], partitions: int | None, earliest: int | None
    ) -> Sink:
        """Create the sink and, unless it is a dry run, the topics that are missing."""
        delivery = self.delivery
        if delivery.dry_run is not None:
            topics = None if delivery.label_topic is None else (self.topic, delivery.label_topic)
            return DryRun(delivery.dry_run, self.encoding.form, self.stop, topics)
        needed = NeededTopics(self.topic, delivery.label_topic, partitions, delivery.partition, earliest)
        count = needed.ensure(bootstrap, properties, self.on_warning)
        keep = None if delivery.resume is None else delivery.resume.save
        common = (bootstrap, properties, self.topic, count, self.stop)
        options: dict[str, Any] = {"partition": delivery.partition, "keep": keep, "label_topic": delivery.label_topic}
        if self.client == NATIVE:
            return LibrdkafkaSink(*common, **options)
        if delivery.transaction is None:
            return ConfluentSink(*common, latencies=delivery.latencies, **options)
        run = None if delivery.resume is None else delivery.resume.run
        return TransactionalSink(delivery.transaction, run, *common, latencies=delivery.latencies, **options)

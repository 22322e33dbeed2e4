"""Replay: a stream's rows onto a topic, in order, at a rate. Start reading in `Replay.run`."""

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
from driftway.worker.errors import UsageFailure
from driftway.worker.kafka.client_config import NATIVE, PYTHON, require_broker
from driftway.worker.kafka.topics import create_topics, partition_counts
from driftway.worker.wire import codec
from driftway.worker.wire.columns import BytesColumn


@dataclass(frozen=True)
class Delivery:
    """How messages travel.

    Parameters
    ----------
    partition : int or None
        All to this one; None: row i to i mod the number of partitions, or by the hash of its key.
    transaction : TransactionOption or None
        Rows become visible together.
    resume : ReplayPosition or None
        Where the position is kept, and where to go on.
    latencies : Latencies or None
        Where to count how long rows take from being due to being acknowledged.
    dry_run : str or None
        A file that gets the values, instead of Kafka.
    client : str
        NATIVE: past confluent-kafka's objects, where nothing else here asks for them.
    label_topic : str or None
        Where late labels go, of as many partitions as the rows' topic; None: to that one.
    """

    partition: int | None = None
    transaction: TransactionOption | None = None
    resume: ReplayPosition | None = None
    latencies: Latencies | None = None
    dry_run: str | None = None
    client: str = PYTHON
    label_topic: str | None = None


class EncodedBlock(NamedTuple):
    """A block as messages, and of which rows the label is withheld, or travels later. Shapes: b1[n], b1[n]."""

    messages: Messages
    withheld: NDArray[np.bool_]
    later: NDArray[np.bool_]


Write = Callable[[int, int, Any], EncodedBlock]
"""Of how many rows were sent before, the first row's position, and the rows."""


@dataclass
class Sent:
    """Counts of what was queued; see `Report`."""

    rows: int = 0
    bytes: int = 0
    poison: int = 0
    unlabelled: int = 0
    late_labels: int = 0
    waiting_labels: int = 0

    def add(self, block: EncodedBlock, rows: int) -> None:
        """Count the first `rows` rows of a block."""
        whole = block.messages
        sent = whole.of_rows(0, rows) if rows < whole.rows else whole
        labels = 0 if sent.is_label is None else int(sent.is_label.sum())
        self.rows += rows
        self.bytes += sent.value_bytes()
        self.poison += len(sent) - rows - labels
        self.unlabelled += int(block.withheld[:rows].sum())
        self.late_labels += labels
        self.waiting_labels += int(block.later[:rows].sum()) - labels


@dataclass(frozen=True)
class Report:
    """What a replay did.

    `rows` were queued, and beside them `poison` malformed messages and `late_labels`; `errors` of all these were not
    delivered; `unlabelled` rows travelled without the label they have; `waiting_labels` were not due by the last row;
    `late` is in seconds; `began` and `next_id` are the first row's position and the one after the last.
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
    late_labels: int = 0
    waiting_labels: int = 0

    @property
    def rate(self) -> float:
        """Rows a second, from the first row to the broker's last answer."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0


@dataclass
class Replay:
    """One stream on its way to one topic.

    Parameters
    ----------
    stream : Stream or EventFile
        The rows; of a file of events as they stand, and whatever changes rows is left out.
    topic : str
        Where to.
    schedule : Schedule or None
        When rows leave; None = as fast as the client goes.
    selection : Selection
        Which rows.
    encoding : Encoding
        How they are written.
    delivery : Delivery
        How they travel.
    withheld : LabelDropper or None
        Takes labels away.
    poison : Poison or None
        Puts malformed messages among the rows.
    truth : bool
        The stream is a `WithGroundTruth`, or its rows in another order: each message gets its row's truth as headers.
    delayed_labels : DelayedLabels or None
        Sends labels behind later rows.
    stop : StopRequest
        Call it to end the replay early.
    on_progress : callable
        Called with the number of rows queued so far, once per slice.
    """

    stream: Stream | EventFile
    topic: str
    schedule: Schedule | None = None
    selection: Selection = field(default_factory=Selection)
    encoding: Encoding = field(default_factory=Encoding)
    delivery: Delivery = field(default_factory=Delivery)
    withheld: LabelDropper | None = None
    poison: Poison | None = None
    truth: bool = False
    stop: StopRequest = field(default_factory=StopRequest)
    delayed_labels: DelayedLabels | None = None
    on_progress: Callable[[int], None] = lambda _rows: None

    @property
    def client(self) -> str:
        """What messages go through: latencies, timestamps, headers and transactions are the plain client's."""
        way = self.delivery
        plain = way.latencies or way.transaction or way.dry_run or self.truth or isinstance(self.schedule, EventTime)
        return PYTHON if plain else way.client

    def run(self, bootstrap: str, properties: Mapping[str, Any], partitions: int | None = None) -> Report:
        """Send the rows and wait until the broker has answered for each.

        Parameters
        ----------
        bootstrap : str
            Address of a broker.
        properties : mapping
            Client properties to pass through.
        partitions : int or None
            Of the topic. None: as many as it has, or 1 if it must be created.

        Raises
        ------
        Unreachable
            No broker answers.
        UsageFailure
            A topic has another number of partitions, the stream has no rows or no such column, a property cannot be
            set, or a label's delay cannot be used.
        Failure
            A file cannot be written, or a transaction's outcome is not known.
        """
        check_owned(properties)
        write = self._writer()
        began = self._position(bootstrap, properties)
        if began is not None and self.selection.ends_before(began):
            return Report(0, 0, 0.0, 0, None, began, 0.0, began)
        selection = self.selection if began is None else self.selection.since(began)
        sent = Sent(waiting_labels=self._reload_delayed_labels(write, began))
        size = self.schedule.block_rows if self.schedule else BLOCK_ROWS
        blocks = (write(sent.rows, position, block) for position, block in select(self.stream, selection, size))
        # The first block compiles the generator's kernel or shows that the file is unusable: neither is the
        # schedule's business, and the second should not leave a topic behind.
        first = next(blocks, None)
        if first is None:
            if began is not None:
                return Report(0, 0, 0.0, 0, None, began, 0.0, began)
            raise UsageFailure(f"{self.stream.name} has no rows after the first {selection.skip}")
        start = first.messages.first
        outlet = self._make_sink(bootstrap, properties, partitions)
        outlet.open()
        if self.delivery.resume is not None and began is None:
            self.delivery.resume.save(start)
        pace = Pacer(self.schedule)
        pace.start()
        for block in itertools.chain([first], blocks):
            rows = self._send(outlet, pace, sent.rows, block.messages)
            sent.add(block, rows)
            if rows < block.messages.rows:
                break
        outlet.finish()
        return Report(
            seconds=pace.elapsed(),
            errors=outlet.errors,
            first_error=outlet.first_error,
            next_id=start + sent.rows,
            late=pace.latest,
            began=start,
            **dataclasses.asdict(sent),
        )

    def _reload_delayed_labels(self, write: Write, began: int | None) -> int:
        """Write the rows before a resumed replay's first once more, for the labels of theirs that are still due.

        Returns how many.
        """
        if self.delayed_labels is None or began is None:
            return 0
        before = dataclasses.replace(self.selection, limit=began - self.selection.skip)
        for position, block in select(self.stream, before, BLOCK_ROWS):
            if self.stop.requests:
                break
            write(0, position, block)
        return self.delayed_labels.waiting

    def _send(self, outlet: Sink, pace: Pacer, sent: int, messages: Messages) -> int:
        """Send a block in the slices that the schedule allows; return how many rows left before a stop."""
        heaviest = messages.max_value_bytes()
        at = 0
        while at < messages.rows and not self.stop.requests:
            rows = pace.due(sent + at, messages.rows - at)
            if rows == 0:
                outlet.idle(pace.wait(sent + at, messages.rows - at))
                continue
            rows = min(rows, outlet.max_rows or rows)
            part = messages.of_rows(at, at + rows)
            if not outlet.wait_for_capacity(len(part), heaviest):
                break
            due = None if self.delivery.latencies is None else pace.moments(sent + at, rows)[part.row_indices()]
            outlet.send(part, due)
            at += rows
            outlet.sent_until(part.first + rows)
            self.on_progress(sent + at)
        return at

    def _writer(self) -> Write:
        """What turns a block into messages; see `driftway.producers.messages`."""
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
            without = later = np.zeros(len(block.y), np.bool_)
            if self.withheld is not None:
                block, without = self.withheld.apply(position, block)
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
            return EncodedBlock(messages, without, later)

        return write

    def _raw_writer(self, file: EventFile) -> Write:
        """The same of events as they stand."""
        encode = raw_encoder(file, self.encoding.key, self.client == NATIVE)

        def write(_sent: int, position: int, events: BytesColumn) -> EncodedBlock:
            values, keys = encode(events)
            messages = Messages(position, len(values), values, keys)
            none = np.zeros(len(values), np.bool_)
            return EncodedBlock(messages if self.poison is None else self.poison.interleave(messages), none, none)

        return write

    def _position(self, bootstrap: str, properties: Mapping[str, Any]) -> int | None:
        """Where an interrupted replay goes on; None: this one begins."""
        resume, transaction = self.delivery.resume, self.delivery.transaction
        if resume is None or resume.position is None:
            return None
        if transaction is None:
            return resume.position
        require_broker(bootstrap, properties)
        carried = last_committed(bootstrap, properties, transaction, self.topic, resume.run)
        return resume.position if carried is None else max(carried, resume.position)

    def _make_sink(self, bootstrap: str, properties: Mapping[str, Any], partitions: int | None) -> Sink:
        """Where the messages go; makes the topics."""
        way = self.delivery
        if way.dry_run is not None:
            topics = None if way.label_topic is None else (self.topic, way.label_topic)
            return DryRun(way.dry_run, self.encoding.form, self.stop, topics)
        count = ensure_topics(bootstrap, properties, self.topic, way.label_topic, partitions, way.partition)
        keep = None if way.resume is None else way.resume.save
        given = (bootstrap, properties, self.topic, count, self.stop)
        more: dict[str, Any] = {"partition": way.partition, "keep": keep, "label_topic": way.label_topic}
        if self.client == NATIVE:
            return LibrdkafkaSink(*given, **more)
        if way.transaction is None:
            return ConfluentSink(*given, latencies=way.latencies, **more)
        run = None if way.resume is None else way.resume.run
        return TransactionalSink(way.transaction, run, *given, latencies=way.latencies, **more)


def ensure_topics(
    bootstrap: str,
    properties: Mapping[str, Any],
    topic: str,
    label_topic: str | None,
    partitions: int | None,
    partition: int | None = None,
) -> int:
    """Create the topics that are missing, that of labels with as many partitions; return how many.

    Raises
    ------
    Unreachable
        No broker answers.
    UsageFailure
        `topic` exists with another number of partitions than `partitions`, or has no `partition`, or `label_topic`
        has another number.
    """
    present = partition_counts(require_broker(bootstrap, properties))
    count = partitions or present.get(topic) or 1
    if partition is not None and partition >= count:
        raise UsageFailure(f"topic {topic} has no partition {partition}: it has {count}, counted from 0 (--partitions)")
    if label_topic is not None and present.get(topic, count) == count != present.get(label_topic, count):
        raise UsageFailure(
            f"topic {label_topic} has {present[label_topic]} partitions, and {topic} {count}: "
            "a label goes to the partition of its row, so that both need as many (--partitions)"
        )
    names = [topic] if label_topic is None else [topic, label_topic]
    if partitions is not None or not present.keys() >= {*names}:
        create_topics(bootstrap, properties, {name: (count, {}) for name in names})
    return count

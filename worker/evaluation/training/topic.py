"""The rows of a bounded part of a topic: offsets are resolved once, and checked again after reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from confluent_kafka import Consumer, KafkaException, TopicPartition

from driftway.worker.errors import Failure, Unreachable, UsageFailure, no_topic, shown
from driftway.worker.evaluation.rows import MISSING, NO_LABEL, MissingValueFillers, RowCounts
from driftway.worker.evaluation.training.bounds import OffsetBound
from driftway.worker.evaluation.training.rows import Blocks
from driftway.worker.kafka.client_config import (
    CONSUMER_TUNING,
    PYTHON,
    base_properties,
    without_membership,
)
from driftway.worker.kafka.client_factory import make_fetcher
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.kafka.interface import Fetcher
from driftway.worker.kafka.log_reader.reader import (
    ASK_SECONDS,
    POLL_SECONDS,
    error_handler,
    standalone_consumer,
    standalone_properties,
    watermarks,
)
from driftway.worker.kafka.log_reader.records import RecordReader
from driftway.worker.kafka.topics import present_topics
from driftway.worker.settings import ModelSettings
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Batch, Records, Target
from driftway.worker.wire.rejections import kind_of
from driftway.worker.wire.schema.feature import REJECT


class PartitionRange(NamedTuple):
    """The offsets of a partition from `first` up to, but excluding, `end`."""

    partition: int
    first: int
    end: int


@dataclass(frozen=True)
class TopicPart:
    """The requested part of a topic.

    Parameters
    ----------
    topic : str
        Topic of events.
    partition : int or None
        Partition to read; None: all, one after the other.
    first, end : OffsetBound or None
        Inclusive begin and exclusive end of the part in each partition; None: those of the log.
    form : str
        Format of the events, ``json`` or ``packed``.
    reading : ModelSettings or None
        Settings with the event schema and the policy for missing values; None: there is neither.
    """

    topic: str
    partition: int | None = None
    first: OffsetBound | None = None
    end: OffsetBound | None = None
    form: str = "json"
    reading: ModelSettings | None = None


class TopicRows:
    """Rows of a part of a topic, as a read_committed reader sees it now.

    Parameters
    ----------
    bootstrap : str
        Address of the broker.
    passthrough : mapping
        Further client properties.
    part : TopicPart
        The requested part.
    target : Target
        How labels are read.
    ranges : sequence of PartitionRange or None
        Ranges to read; None: resolve `part` against the log as it is now.
    client : str
        PYTHON or NATIVE.

    Raises
    ------
    UsageFailure
        There is no such topic or partition.
    Failure
        The log does not hold the range, or the range is empty.
    Unreachable
        No broker answers.
    """

    def __init__(
        self,
        bootstrap: str,
        passthrough: Mapping[str, Any],
        part: TopicPart,
        target: Target,
        ranges: Sequence[PartitionRange] | None = None,
        client: str = PYTHON,
    ) -> None:
        counts = present_topics(bootstrap, passthrough)
        if part.topic not in counts:
            raise UsageFailure(no_topic(part.topic))
        n = counts[part.topic]
        if part.partition is not None and part.partition >= n:
            raise UsageFailure(f"topic {part.topic} has no partition {part.partition}, only 0 to {n - 1}")
        self.part = part
        self.target = target
        self.counts = RowCounts()
        self._bootstrap, self._client = bootstrap, client
        self._given = without_membership(base_properties(bootstrap, passthrough))
        self._decoder = self._make_decoder()
        self._fillings: MissingValueFillers | None = None
        """Merged fill-in of missing values of all ranges read completely."""
        partitions = range(n) if part.partition is None else (part.partition,)
        with closing(self._reader()) as reader, self._explained():
            self.ranges = list(ranges or (self._resolve(reader, p, Deadline(ASK_SECONDS)) for p in partitions))
            self._require_held(reader)
        if not self.length:
            raise Failure(f"there is nothing to read: {self._described()}")

    @property
    def name(self) -> str:
        """The topic, with the partition if only one is read."""
        part = self.part
        return part.topic if part.partition is None else f"{part.topic}/{part.partition}"

    @property
    def names(self) -> tuple[str, ...] | None:
        """Feature names, sorted, if the events name their features; known once a row was read."""
        return self._decoder.schema.names if self._decoder.schema is not None else None

    @property
    def reading(self) -> ModelSettings | None:
        """The part's settings."""
        return self.part.reading

    @property
    def filling(self) -> bytes:
        """State of the fill-in of missing values, merged over all partitions."""
        return b"" if self._fillings is None else self._fillings.state

    @property
    def length(self) -> int:
        """Number of offsets in the ranges, which is at least the number of events."""
        return sum(one.end - one.first for one in self.ranges)

    def origin(self) -> dict[str, Any]:
        """Topic, format and the offsets read of each partition."""
        ranges = [{"partition": one.partition, "from": one.first, "to": one.end} for one in self.ranges]
        return {"topic": self.part.topic, "format": self.part.form, "ranges": ranges}

    def blocks(self) -> Blocks:
        """Read all ranges from their beginnings.

        Raises
        ------
        Failure
            The broker refuses this reader, or retention has passed the beginning of a range meanwhile.
        Unreachable
            The broker delivers nothing any more.
        """
        self.counts = RowCounts()
        self._decoder, self._fillings = self._make_decoder(), None
        properties = standalone_properties(self._given, CONSUMER_TUNING)
        headers = self.part.reading is not None and self.part.reading.reads_headers
        with (
            closing(self._reader()) as reader,
            closing(make_fetcher(self._client, properties, self.part.topic, headers)) as fetcher,
            self._explained(),
        ):
            for one in self.ranges:
                if one.first < one.end:
                    yield from self._read(fetcher, one)
            self._require_held(reader)

    def _make_decoder(self) -> Decoder:
        """Create a decoder like a worker's."""
        read = self.part.reading
        lenient = read is not None and read.missing.word != REJECT
        return Decoder(self.target, form=self.part.form, lenient=lenient, events=None if read is None else read.events)

    def _reader(self) -> Consumer:
        return standalone_consumer(self._given, CONSUMER_TUNING)

    def _read(self, fetcher: Fetcher, one: PartitionRange) -> Blocks:
        topic_partition, where = (self.part.topic, one.partition), f"{self.part.topic}/{one.partition}"
        reading = RecordReader(
            fetcher, topic_partition, one.first, one.end, error_handler(where, _lost(where, one.first))
        )
        fillings: MissingValueFillers | None = None  # each partition has its own, as in a worker
        while reading.unread:
            inside = reading.poll(POLL_SECONDS)
            if reading.unread:
                reading.require_progress(self._bootstrap, where)
            if inside is None:
                continue
            batch = self._decoder.decode(inside)
            if fillings is None and self.part.reading is not None and self._decoder.schema is not None:
                fillings = MissingValueFillers(self.part.reading, self._decoder.schema.n_features)
            self.counts.missing += int(np.isnan(batch.X).any(axis=1).sum())
            if fillings is not None:
                batch.X = fillings.fill(batch.X)
            yield self._rows(inside, batch)
        if self._fillings is None:
            self._fillings = fillings
        elif fillings is not None:
            self._fillings.merge(fillings)

    def _rows(self, records: Records, batch: Batch) -> tuple[Any, Any]:
        """The labelled rows of the records."""
        known, counts = ~np.isnan(batch.y), self.counts
        rejected = {one.offset: one.reason for one in batch.rejected if not one.set_aside}
        set_aside = {one.offset: one.reason for one in batch.rejected if one.set_aside}
        unused = dict.fromkeys(batch.offsets[~known].tolist(), NO_LABEL) | set_aside | rejected
        where = f"{self.part.topic}/{records.partition}"
        counts.first_rejected = counts.first_rejected or _first(where, rejected)
        counts.first_unused = counts.first_unused or _first(where, unused)
        counts.rejected += len(rejected)
        counts.missing += sum(kind_of(reason) == MISSING for reason in rejected.values())
        counts.unlabelled += int((~known).sum())
        counts.labelled += int(known.sum())
        return np.ascontiguousarray(batch.X[known]), batch.y[known]

    def _resolve(self, reader: Consumer, partition: int, deadline: Deadline) -> PartitionRange:
        """Resolve a partition's range against its log."""
        low, high = watermarks(reader, self.part.topic, partition, deadline)

        def offset(bound: OffsetBound | None, default: int) -> int:
            if bound is None:
                return default
            return bound.offset if bound.offset is not None else self._at(reader, partition, bound, high, deadline)

        first, end = offset(self.part.first, low), offset(self.part.end, high)
        if end < low:
            raise Failure(
                f"retention has passed offset {end - 1} of {self.part.topic}/{partition}: the log begins at {low}"
            )
        return PartitionRange(partition, first, max(first, end))

    def _at(self, reader: Consumer, partition: int, bound: OffsetBound, high: int, deadline: Deadline) -> int:
        """The offset of the first record that is not older than the time of `bound`."""
        asked = [TopicPartition(self.part.topic, partition, bound.time or 0)]
        found = reader.offsets_for_times(asked, timeout=deadline.remaining())[0]
        if found.error is not None:
            raise KafkaException(found.error)
        return int(found.offset) if 0 <= found.offset <= high else high  # negative: no record is that new

    def _require_held(self, reader: Consumer) -> None:
        """Refuse ranges that the log does not hold at present."""
        for one in self.ranges:
            low, high = watermarks(reader, self.part.topic, one.partition, Deadline(ASK_SECONDS))
            where = f"{self.part.topic}/{one.partition}"
            if one.first < low and one.first < one.end:
                raise Failure(f"{_lost(where, one.first)}: the log begins at {low}")
            if one.end > high:
                raise Failure(f"{where} ends at offset {high}: there is no offset {one.end - 1} yet")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Translate the client's errors into `Failure` and `Unreachable`."""
        try:
            yield
        except KafkaException as error:
            raise Failure(f"the broker refused: {self.name}: {error.args[0].str()}") from None
        except TimedOut as error:
            raise Unreachable(str(error)) from None

    def _described(self) -> str:
        parts = [f"partition {one.partition} from {one.first} to {one.end}" for one in self.ranges]
        return f"{self.part.topic}, {', '.join(parts)}"


def _first(where: str, reasons: dict[int, str]) -> str | None:
    """Location and reason of the smallest offset in `reasons`; None if they are empty."""
    offset = min(reasons, default=None)
    return None if offset is None else f"{where}@{offset}: {shown(reasons[offset])}"


def _lost(where: str, first: int) -> str:
    return f"retention has passed offset {first} of {where}, where the range begins"

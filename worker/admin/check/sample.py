"""Some events of the input, and labels of the label topic, decoded as the worker would decode them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from driftway.worker.admin.check.access import Position
from driftway.worker.errors import DAY_MS, duration, shown
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, open_reader, watermarks
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.kafka.log_reader.visibility import end_of_visible
from driftway.worker.settings import LATEST, WorkerSettings
from driftway.worker.state.factory import make_decoder
from driftway.worker.wire.codec import NULL
from driftway.worker.wire.columns import Integers
from driftway.worker.wire.events import Batch, Records, RejectedEvent, Schema
from driftway.worker.wire.rejections import kind_of
from driftway.worker.wire.scanner import NO_TIME
from driftway.worker.wire.writer import Column

MAX_PARTITIONS = 16
"""Partitions that are looked into, evenly spread over all: each needs clients of its own."""


YEAR_MS = 365 * DAY_MS
NO_STAMP = -1


class SampledLabel(NamedTuple):
    """The label of an earlier event."""

    name: bytes
    """JSON text of the event's id."""
    partition: int
    where: str
    """Topic, partition and offset."""
    stamp: int
    """Its timestamp, in ms; NO_STAMP where none matters."""


@dataclass
class Decoded:
    """What became of sampled records.

    Parameters
    ----------
    records : int
        Number of records.
    rejected, set_aside : Counter
        Kind -> number of rejected records, and of labels set aside.
    example : str
        Why the first of them was, and where it is.
    value_bytes : int
        Bytes of all values.
    labelled : int
        Events with a label of their own.
    labels : int
        Records that are labels of earlier events.
    newest_ms : int
        Latest timestamp, in ms since 1970; 0 if there is no record.
    newest_at : str
        Where the record with that timestamp is.
    """

    records: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    set_aside: Counter[str] = field(default_factory=Counter)
    example: str = ""
    value_bytes: int = 0
    labelled: int = 0
    labels: int = 0
    newest_ms: int = 0
    newest_at: str = ""
    timed: int = 0
    """Events whose own time could be read."""
    identified: int = 0
    """Events that have an id."""
    unstamped: int = 0
    """Records without a timestamp."""

    @property
    def rejected_share(self) -> float:
        """Share of the records that are rejected."""
        return self.rejected.total() / self.records if self.records else 0.0


@dataclass
class LabelMatches:
    """Which of the sampled labels find their event, by the ids of the sampled events.

    Parameters
    ----------
    longest_ms : int
        How long after its event a label of a topic of its own may be stamped.
    events : dict
        JSON text of an event's id -> the partitions that have it, each with the event's timestamp, and where it was
        seen first.
    here, elsewhere, unlike : int
        Labels whose event is in the same partition; in another one; whose id is text where an event has the same digits
        as a number, or the reverse.
    early, late : int
        Labels of a topic of their own, of those in the partition of their event, that are stamped before it, or more
        than `longest_ms` after it.
    example, mistimed : str
        Where the first label is that does not find its event, or has such a timestamp, and where the event is.
    """

    longest_ms: int = YEAR_MS
    events: dict[bytes, tuple[dict[int, int], str]] = field(default_factory=dict)
    here: int = 0
    elsewhere: int = 0
    unlike: int = 0
    early: int = 0
    late: int = 0
    example: str = ""
    mistimed: str = ""

    def add_events(self, topic: str, records: Records, batch: Batch) -> None:
        """Note the events of a partition."""
        stamps = _stamps_at(records, batch.offsets)
        for name, offset, stamp in zip(_names(batch.ids), batch.offsets.tolist(), stamps, strict=True):
            partitions, _ = self.events.setdefault(name, ({}, f"{topic}/{batch.partition}@{offset}"))
            partitions.setdefault(batch.partition, stamp)

    def count(self, labels: list[SampledLabel]) -> None:
        """Count labels."""
        for name, partition, at, stamp in labels:
            if name == NULL:
                continue
            other = name[1:-1] if name[:1] == b'"' else b'"%s"' % name
            known, like = self.events.get(name), self.events.get(other)
            if known is not None and partition in known[0]:
                self.here += 1
                self._compare_stamps(at, stamp, known[0][partition], known[1])
            elif known is not None or like is not None:
                self.elsewhere += known is not None
                self.unlike += known is None
                event = (known or like or (set(), ""))[1]
                self.example = self.example or f"{at}, and its event {event}"

    def _compare_stamps(self, at: str, label: int, event: int, seen: str) -> None:
        """Count a label whose timestamp, in ms, is before that of its event, or long after it."""
        if label < 0 or event < 0:
            return
        apart = label - event
        self.early += apart < 0
        self.late += apart > self.longest_ms
        if apart < 0 or apart > self.longest_ms:
            which = "before" if apart < 0 else "after"
            self.mistimed = self.mistimed or f"{at} is {duration(abs(apart))} {which} {seen}"


@dataclass
class Sample:
    """Records of the input and of the label topic."""

    events: Decoded = field(default_factory=Decoded)
    labels: Decoded = field(default_factory=Decoded)
    schema: Schema | None = None
    """Schema of the first partition in which one event could be used, or as the options say."""
    matches: LabelMatches = field(default_factory=LabelMatches)


def take_sample(settings: WorkerSettings, positions: Mapping[int, Position], rows: int, labels: int) -> Sample:
    """Read about `rows` records as a read_committed reader that does not join the group, and decode them.

    Half of them are those that the worker would read first, half the newest: options that are wrong show in the first,
    producers that have changed in the newest.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    positions : mapping
        Partition -> where the group goes on.
    rows : int
        About how many.
    labels : int
        Partitions of the label topic.

    Raises
    ------
    Failure
        The broker refuses this reader, or the packages that the format needs are missing.
    Unreachable
        The broker, or the schema registry, does not answer.
    """
    sample = Sample(schema=settings.model.shape)
    model = settings.model if settings.model.max_rejected is None else replace(settings.model, max_rejected=None)
    chosen = sorted(positions)[:: -(-len(positions) // MAX_PARTITIONS)] if positions else []
    each = max(2, rows // max(1, len(chosen)))
    late: list[SampledLabel] = []
    if model.wait is not None and model.wait.millis:
        sample.matches.longest_ms = model.wait.millis
    for partition in chosen:
        decoder = make_decoder(model, lambda schema: schema)
        for records in _parts(settings, settings.input, partition, _begin(settings, positions[partition]), each):
            batch = decoder.decode(records)
            _count(sample.events, settings.input, records, batch.rejected)
            sample.events.labelled += int(np.isfinite(batch.y).sum())
            sample.events.timed += int((batch.t != NO_TIME).sum())
            sample.events.identified += sum(name != NULL for name in _names(batch.ids))
            sample.events.labels += 0 if batch.labels is None else len(batch.labels)
            sample.matches.add_events(settings.input, records, batch)
            late += _labels_of(settings.input, None, batch)
        if partition < labels:
            for records in _parts(settings, settings.label_topic, partition, None, each):
                batch = decoder.decode(replace(records, label_offsets=np.asarray(records.offsets)))
                _count(sample.labels, settings.label_topic, records, batch.rejected)
                sample.labels.labels += 0 if batch.labels is None else len(batch.labels)
                late += _labels_of(settings.label_topic, records, batch)
        sample.schema = sample.schema or decoder.schema
    sample.matches.count(late)
    return sample


def _labels_of(topic: str, records: Records | None, batch: Batch) -> list[SampledLabel]:
    """Return the labels of earlier events; `records` are those of a label topic, None if these are the input's."""
    if batch.labels is None:
        return []
    offsets = batch.labels.offsets
    stamps = [NO_STAMP] * len(offsets) if records is None else _stamps_at(records, offsets)
    found = zip(_names(batch.labels.ids), offsets.tolist(), stamps, strict=True)
    return [SampledLabel(name, batch.partition, f"{topic}/{batch.partition}@{offset}", t) for name, offset, t in found]


def _stamps_at(records: Records, offsets: Integers) -> list[int]:
    """Return the timestamps of the records at these offsets."""
    stamps: list[int] = np.asarray(records.timestamps, np.int64)[np.searchsorted(records.offsets, offsets)].tolist()
    return stamps


def _names(ids: Column) -> list[bytes]:
    """Return the JSON text of each id."""
    text, bounds = ids
    return [text[start:end].tobytes() for start, end in bounds.T.tolist()]


def _begin(settings: WorkerSettings, at: Position) -> int:
    """Offset at which the worker would begin, as far as the log has it."""
    if at.committed is not None:
        wanted = at.committed
    elif isinstance(settings.start, int):
        wanted = settings.start
    else:
        wanted = at.high if settings.start == LATEST else at.low
    return min(max(wanted, at.low), at.high)


def _parts(settings: WorkerSettings, topic: str, partition: int, begin: int | None, each: int) -> Iterator[Records]:
    """The first and the last records from an offset on; None: from the log's beginning."""
    with closing(open_reader(settings)) as reader:
        low, high = watermarks(reader, topic, partition, Deadline(ASK_SECONDS))
        high = end_of_visible(reader, topic, partition, low, high, Deadline(ASK_SECONDS))
    first = low if begin is None else max(low, begin)
    half = each // 2
    # A worker that has read everything gets the newest records once more: there are no others to judge by.
    newest = max(low if first >= high else first, high - half)
    for start, end in dict.fromkeys(((first, min(first + half, newest)), (newest, high))):
        if start >= end:
            continue
        with RecordStream(settings, settings.client, topic, partition, end, headers=True, first=start) as stream:
            yield from iter(stream.take, None)


def _count(found: Decoded, topic: str, records: Records, rejected: list[RejectedEvent]) -> None:
    found.records += len(records)
    found.value_bytes += sum(len(value) for value in records.values.to_list() if value is not None)
    for bad in rejected:
        (found.set_aside if bad.set_aside else found.rejected)[kind_of(bad.reason, bad.set_aside)] += 1
        where = f"{topic}/{records.partition}@{bad.offset if bad.label_offset is None else bad.label_offset}"
        found.example = found.example or f"{where}: {shown(bad.reason)}"
    stamps = np.asarray(records.timestamps, np.int64)
    found.unstamped += int((stamps < 0).sum())
    if len(stamps) and (newest := int(stamps.max())) > found.newest_ms:
        found.newest_ms, found.newest_at = (
            newest,
            f"{topic}/{records.partition}@{int(records.offsets[stamps.argmax()])}",
        )

"""Check that the input is still what the workers learned from: the same topics, with as many records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np
from confluent_kafka import Consumer

from driftway.worker.admin.merged_input import MergedInput
from driftway.worker.errors import CannotRestore, plural
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, open_reader, watermarks
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.kafka.log_reader.topic_facts import TopicIdReader, why_records_differ
from driftway.worker.kafka.log_reader.visibility import first_of_later_epoch
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.commit_record import CommitRecord, is_at_least_once, last_read
from driftway.worker.state.changelog.snapshot_scan import commit_records
from driftway.worker.state.input_read import NOTHING_KNOWN, InputRead
from driftway.worker.state.stored_fields import Malformed
from driftway.worker.wire.events import Records


class CountedState(NamedTuple):
    """An input offset where a state stands, and what that state has read."""

    offset: int
    read: InputRead


NOT_COUNTED = CountedState(-1, NOTHING_KNOWN)
"""The value for a partition without a commit, or with a commit by an earlier version."""


def last_record(reader: Consumer, settings: WorkerSettings, partition: int) -> CommitRecord | None:
    """Return the newest commit record of a partition; None if there is none.

    Raises
    ------
    CannotRestore
        It cannot be read.
    KafkaException, TimedOut
        The broker did not deliver in time.
    """
    try:
        records = commit_records(reader, settings.topics.snapshots, partition, Deadline(ASK_SECONDS))
    except Malformed as error:
        raise CannotRestore(str(error)) from None
    return records[0] if records else None


def counted(last: CommitRecord | None, metadata: str | None) -> CountedState:
    """Return what the last commit had read, by its record and metadata; of an earlier version nothing is known."""
    offset = -1 if last is None or is_at_least_once(metadata) else last.offset
    return CountedState(offset, last_read(last, metadata))


def require_same_topics(settings: WorkerSettings, label_topic: str, reads: Sequence[InputRead]) -> None:
    """Refuse if the input or the label topic was recreated since the last commits, which had read `reads`.

    Raises
    ------
    CannotRestore
        It was.
    Failure, Unreachable
        The broker refuses, or does not answer.
    """
    if all(read == NOTHING_KNOWN for read in reads):
        return
    with translated_errors(settings):
        ids = TopicIdReader(settings, settings.input, label_topic).ask(Deadline(ASK_SECONDS))
    for read in reads:
        if (recreated := read.recreated(*ids)) is not None:
            raise CannotRestore(f"the rows that group {settings.group} learned from are gone: {recreated}")


def require_uncut(settings: WorkerSettings, partition: int, last: CountedState) -> None:
    """Refuse if rows that the workers learned from were cut off the input's log, and others were written there.

    Raises
    ------
    CannotRestore
        They were.
    Unreachable, Failure
        The input cannot be read.
    """
    if last.read.epoch is None:
        return
    deadline, topic_partition = Deadline(ASK_SECONDS), (settings.input, partition)
    with translated_errors(settings), closing(open_reader(settings)) as reader:
        low, high = watermarks(reader, *topic_partition, deadline)
        cut = first_of_later_epoch(reader, *topic_partition, low, min(last.offset, high), last.read.epoch, deadline)
    if cut is not None:
        raise CannotRestore(
            f"rows {cut} to {last.offset - 1} of {settings.input}/{partition} that the workers learned from are gone: "
            f"the log was cut at offset {cut}, as by an unclean election of a leader, and written again"
        )


def require_records(settings: WorkerSettings, partition: int, label_topic: str, states: Sequence[CountedState]) -> None:
    """Refuse if the log no longer holds as many records between states of one history as the workers read there.

    Parameters
    ----------
    settings, partition, label_topic
        The group's partition.
    states : sequence of CountedState
        In rising order of their offsets; the first stands where a snapshot does, or a history begins.

    Raises
    ------
    CannotRestore
        It does not; the message says why, as far as that can be known.
    Failure, Unreachable
        The input cannot be read.
    """
    counts = np.zeros(len(states), np.int64)
    offsets = np.array([state.offset for state in states], np.int64)
    with translated_errors(settings):
        for records in _batches(settings, partition, label_topic, states[0].offset, states[-1].offset):
            counts += records.offsets.searchsorted(offsets)
    for i in range(1, len(states)):
        (begin, before), (end, after) = states[i - 1], states[i]
        read, found = after.records - before.records, int(counts[i] - counts[i - 1])
        if before.since is not None and before.since == after.since and read != found:
            why = why_records_differ(settings, (settings.input, label_topic), read - found)
            raise CannotRestore(
                f"the workers read {plural(read, 'record')} of {settings.input}/{partition} between offsets {begin} "
                f"and {end}, the log holds {found:,}: {why}"
            )


def _batches(settings: WorkerSettings, partition: int, label_topic: str, first: int, end: int) -> Iterable[Records]:
    """The records between two input offsets, with the labels that were merged into them."""
    if label_topic:
        with MergedInput(settings, label_topic, partition, first, end) as merged:
            yield from iter(merged.take, None)
        return
    with RecordStream(settings, settings.client, settings.input, partition, end, first=first) as stream:
        yield from iter(stream.take, None)

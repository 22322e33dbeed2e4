"""Read the last commit: from the partition's own log, which is authoritative, and from the group's coordinator."""

from __future__ import annotations

import time
from typing import NamedTuple

from confluent_kafka import Consumer

from driftway.worker.errors import CannotRestore, plural
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import TopicMissing
from driftway.worker.kafka.log_reader.reader import committed_offset, watermarks
from driftway.worker.kafka.log_reader.visibility import first_visible
from driftway.worker.kafka.topics import create_topics, grow_command, grow_topics, output_plan
from driftway.worker.state.changelog.commit_record import CommitRecord, is_at_least_once, last_read
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from driftway.worker.state.changelog.snapshot_scan import commit_records
from driftway.worker.state.input_read import NOTHING_KNOWN, InputRead
from driftway.worker.state.stored_fields import Malformed
from driftway.worker.stream.task.restoring.restore_context import RestoreContext, joined_notes

STALE_SECONDS = 2.0
"""How long a coordinator whose offset differs from the log is asked again before the log decides."""
MOVED_SECONDS = 10.0
"""The same if the offset has no metadata of ours: then somebody has set or removed it, and a policy decides."""
STALE_WAIT_SECONDS = 0.2
GROWTH_SECONDS = 5.0
"""How long to wait for a topic's new partitions to appear in the metadata."""


class LastCommit(NamedTuple):
    """The partition's last commit, according to its log and to the coordinator."""

    record: CommitRecord | None
    """Newest commit record in the partition's own log; None if there is none, or commits are no transactions."""
    offset: int | None
    """The coordinator's offset; None if nothing is committed, or it is gone."""
    pointer: Pointer | None
    """The snapshot that the committed metadata names; None if another program has set the offset."""
    at_least_once: bool
    """Whether the metadata says that it was committed without a transaction."""
    note: str | None
    """What was unusual about the transactions or the coordinator's answer, for the log."""
    input_read: InputRead = NOTHING_KNOWN
    """What the state has read of its input, according to the record, or to the metadata where there is none."""
    unreadable: str | None = None
    """Why the newest commit record cannot be read; None if it can, or there is none."""

    @property
    def in_transaction(self) -> bool:
        """Whether a worker committed it in a transaction, which also writes a commit record."""
        return self.offset is not None and self.pointer is not None and not self.at_least_once

    @property
    def moved(self) -> bool:
        """Whether another program has set an offset other than that of the last commit, if there is one."""
        set_by_hand = self.offset is not None and self.pointer is None and not self.at_least_once
        return set_by_hand and (self.record is None or self.offset != self.record.offset)


def read_last_commit(context: RestoreContext) -> LastCommit:
    """Read both, once all transactions so far are committed or aborted.

    Raises
    ------
    CannotRestore
        Labels came from a topic other than `--label-topic`.
    TaskError, KafkaException
        To be classified by `driftway.worker.kafka.error_handling`.
    """
    made = _require_partitions(context)
    ended = None if context.transactions is None else context.end_hanging()
    unreadable = None
    try:
        record = _newest_record(context)
    except Malformed as error:
        record, unreadable = None, str(error)
    labels = "" if record is None else record.labels or ""
    if labels and labels != context.settings.label_topic:
        raise CannotRestore(
            f"cannot restore {context.where}: labels were read from topic {labels}: start with --label-topic {labels}"
        )
    # With its topic the broker deletes the offset, so there is nothing to wait for.
    recreated = record is not None and record.input_read.recreated(context.ids.input) is not None
    (offset, metadata), note = _settled_offset(
        context.settings.input, context.partition, context.reader, None if recreated else record, context.deadline
    )
    note = joined_notes(made, ended, note)
    at_least_once, read = is_at_least_once(metadata), last_read(record, metadata)
    return LastCommit(record, offset, Pointer.parse(metadata), at_least_once, note, read, unreadable)


def _newest_record(context: RestoreContext) -> CommitRecord | None:
    """Return the newest commit record, or None if there is none; nobody else can write any more by now.

    Raises
    ------
    Malformed
        It cannot be read.
    """
    if context.transactions is None:
        return None
    found = commit_records(context.reader, context.settings.topics.snapshots, context.partition, context.deadline)
    if not found:
        _require_readable(context)
    return next(iter(found), None)


def _require_partitions(context: RestoreContext) -> str | None:
    """Require the partition in the outputs, adding it if needed, and in the label topic.

    Returns
    -------
    str or None
        Which outputs were created again, because somebody had deleted them; None if none were.
    """
    settings, partition = context.settings, context.partition
    created = [name for name in context.topics.outputs() if _require_partition(context, name)]
    labels = settings.label_topic  # an input: never altered here
    if labels and (count := context.partitions_of(labels)) <= partition:
        raise TopicMissing(
            f"label topic {labels} has {plural(count, 'partition')}, but none for partition {partition} of "
            f"{settings.input}: {grow_command(labels, context.partitions_of(settings.input))} gives it as many as the "
            "input has"
        )
    return f"created {', '.join(created)} again: somebody had deleted it" if created else None


def _require_readable(context: RestoreContext) -> None:
    """Read from all outputs, so that a missing permission shows at the first start, not at the second."""
    for topic in context.topics.outputs():
        end = watermarks(context.reader, topic, context.partition, context.deadline)[1]
        first_visible(context.reader, topic, context.partition, end, context.deadline)


def _require_partition(context: RestoreContext, topic: str) -> bool:
    """Require a topic's partition, adding it if needed; return whether the topic was created again.

    Without the metadata readers would wait a second. The topic of snapshots is made only at a start, which claims it.

    Raises
    ------
    CannotRestore
        The topic of snapshots was deleted.
    TopicMissing
        The topic lacks the partition.
    """
    settings, growth, made = context.settings, Deadline(GROWTH_SECONDS), list[str]()
    count, needed = context.partitions_of(topic), context.partitions_of(settings.input)
    if count <= context.partition < needed:
        if count == 0 and topic != settings.topics.snapshots:
            plan = {topic: output_plan(context.topics, needed)[topic]}
            made = create_topics(settings.bootstrap, settings.passthrough, plan)
        elif count > 0:
            grow_topics(settings.bootstrap, settings.passthrough, [topic], needed)
        while (count := context.partitions_of(topic)) <= context.partition and not growth.passed:
            time.sleep(STALE_WAIT_SECONDS)
    if count == 0 and growth.passed and topic == settings.topics.snapshots:
        raise CannotRestore(
            f"cannot restore {context.where}: topic {topic}, which holds the state, was deleted: a start with "
            "--on-restore-failure replay or reset creates it again"
        )
    if count <= context.partition:
        raise TopicMissing(
            f"topic {topic} has {plural(count, 'partition')}, but none for partition {context.partition} of "
            f"{settings.input}: give it as many as the input has"
        )
    return bool(made)


def _settled_offset(
    topic: str, partition: int, reader: Consumer, last: CommitRecord | None, deadline: Deadline
) -> tuple[tuple[int | None, str | None], str | None]:
    """Query the committed offset and metadata until they match the last commit; add a note if not at once.

    A commit without a transaction writes no record, so its offset is accepted even if it differs from the last one.
    """
    began = time.monotonic()
    answer = at_first = committed_offset(reader, topic, partition, deadline)

    def patience() -> float:
        offset, metadata = answer
        if last is None or offset == last.offset or is_at_least_once(metadata):
            return 0.0
        return STALE_SECONDS if Pointer.parse(metadata) is not None else MOVED_SECONDS

    while time.monotonic() - began < patience() and not deadline.passed:
        time.sleep(STALE_WAIT_SECONDS)
        answer = committed_offset(reader, topic, partition, deadline)
    waited = time.monotonic() - began
    if patience() == STALE_SECONDS and last is not None:
        return answer, f"the broker says offset {answer[0]}, the log of the last commit {last.offset}, which is used"
    if answer == at_first:
        return answer, None
    return answer, f"the broker said offset {at_first[0]} at first, and {answer[0]} after {waited:.1f} s"

"""Import a model file as the state of a partition, from which the group's next worker continues.

1. The group must have no members, and must run the same model as the file.
2. The partition's transactional id is acquired, as a worker does it, which fences any remaining member of the group.
3. One transaction holds the mark of a new history, the snapshot's chunks, the input offset and the pointer to them.

So the import is atomic, and a worker that starts meanwhile either fences it or is fenced by it.
"""

from __future__ import annotations

import contextlib

from confluent_kafka import KafkaError, KafkaException

from driftway.worker.admin.state_admin.source import GroupPartition, read_snapshot
from driftway.worker.errors import Failure, UsageFailure, plural
from driftway.worker.kafka.client_config import admin_client
from driftway.worker.kafka.client_factory import require_printable
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.error_handling import translated_errors
from driftway.worker.kafka.log_reader.reader import ANY, ASK_SECONDS, open_reader
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.kafka.log_reader.topic_facts import TopicIdReader
from driftway.worker.kafka.log_reader.visibility import log_ends
from driftway.worker.kafka.topics import create_topics, output_plan, present_topics
from driftway.worker.settings.identity import features_in_words, in_words
from driftway.worker.state.changelog.commit_record import CommitRecord
from driftway.worker.state.changelog.new_topic import NewTopic
from driftway.worker.state.changelog.ownership import claim_ownership
from driftway.worker.state.changelog.record_keys import mark_key, new_topic_key
from driftway.worker.state.changelog.snapshot_scan import imported_mark
from driftway.worker.state.input_read import InputRead
from driftway.worker.state.model_file import ModelFile, pack
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.task.committing.commit_request import CommitRequest
from driftway.worker.stream.task.committing.exactly_once import ExactlyOnceCheckpoint

IMPORT_SECONDS = 60.0
"""Timeout of the takeover and the transaction; the last owner's transaction may have to be aborted first."""


def import_state(source: GroupPartition, file: ModelFile, offset: int, force: bool) -> None:
    """Commit a file's state as the state of a partition at an input offset.

    Parameters
    ----------
    source : GroupPartition
        The partition; the group may be new.
    file : ModelFile
        The file, from any partition, topic and group.
    offset : int
        The first input offset that the next worker predicts.
    force : bool
        Import even if the group has run a different model so far.

    Raises
    ------
    UsageFailure
        The log does not hold the offset, or the group's name is not printable ASCII.
    Failure
        The group has members or runs a different model, or the broker refuses.
    Fenced
        A worker has started meanwhile.
    Unreachable
        The broker does not answer in time.
    """
    require_printable(source.settings.group, "the file can be imported into another group")
    if not source.low <= offset <= source.high:
        raise UsageFailure(f"offset {offset} is not in {source}: its log holds {source.low} to {source.high}")
    settings, deadline = source.settings, Deadline(IMPORT_SECONDS)
    model = file.model()
    model.partition = source.partition
    blob = pack(model, file.saved, offset, file.origin)
    with translated_errors(settings):
        require_no_members(source)
        if not force:
            require_same_model(source, file)
        _make_topic(source)
        checkpoint, reader = ExactlyOnceCheckpoint(settings, source.partition), reader_of(settings)
        try:
            checkpoint.acquire(deadline)
            require_no_members(source)  # a worker that starts from now on fences this producer
            checkpoint.produce(Outputs(offset))
            topic_id = TopicIdReader(settings, settings.input).ask(deadline).input
            recreated, moved = source.last.read.recreated(topic_id), source.committed not in (None, offset)
            ends = _output_ends(source, deadline) if recreated or moved else {}
            if recreated:
                record = NewTopic(topic_id, ends).write()
                checkpoint.sender.send_one(settings.topics.snapshots, record, new_topic_key(source.partition))
            mark = imported_mark(ends if moved else None)
            checkpoint.sender.send_one(settings.topics.snapshots, mark, mark_key(source.partition))
            checkpoint.flush(deadline)
            checkpoint.sender.start_ranges()  # the mark is not part of the snapshot
            read, aside = InputRead(offset, 0, topic_id), source.set_aside_from
            request = CommitRequest(CommitRecord(offset, offset, input_read=read, set_aside_from=aside), blob)
            checkpoint.commit(request, reader.consumer_group_metadata(), deadline)
        except BaseException:
            with contextlib.suppress(KafkaException):
                checkpoint.abort(deadline)
            raise
        finally:
            checkpoint.close_producer()
            reader.close()


def _output_ends(source: GroupPartition, deadline: Deadline) -> dict[str, int]:
    """Output topic -> end of its log: outputs before it belong to the history that an import gives up.

    Raises
    ------
    Unreachable, KafkaException, TimedOut
        The broker does not answer in time.
    """
    settings = source.settings
    counts = present_topics(settings.bootstrap, settings.passthrough)
    present = [topic for topic in settings.topics.every_output() if source.partition < counts.get(topic, 0)]
    with contextlib.closing(open_reader(settings, ANY)) as reader:
        return log_ends(reader, present, source.partition, deadline)


def require_no_members(source: GroupPartition) -> None:
    """Refuse while workers of the group run, because one of them holds the state to be replaced.

    Raises
    ------
    Failure
        The group has members.
    KafkaException
        The broker cannot describe the group.
    """
    settings = source.settings
    client = admin_client(settings.bootstrap, settings.passthrough)
    described = client.describe_consumer_groups([settings.group], request_timeout=ASK_SECONDS)[settings.group]
    try:
        members = len(described.result().members)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise
        members = 0
    if members:
        raise Failure(
            f"group {settings.group} has {plural(members, 'member')}: stop its workers before the import (one that was "
            "killed counts until its session times out)"
        )


def require_same_model(source: GroupPartition, file: ModelFile) -> None:
    """Refuse a file whose model differs from the one that the group has run so far.

    Raises
    ------
    Failure
        The models differ, or the group's snapshot cannot be read; the message names the first difference.
    """
    if source.pointer is None:
        return
    group = source.settings.group
    try:
        present = read_snapshot(source, source.pointer)
    except Failure as error:
        raise Failure(f"{error}, so the file cannot be compared with it; --force imports it anyway") from None
    theirs, ours = file.contents.identity, present.contents.identity
    for key in sorted({*theirs, *ours} - {"states"}):
        if theirs.get(key) != ours.get(key):
            name, one, other = in_words(key, theirs.get(key), ours.get(key))
            raise Failure(f"{file.name} has {name} {one}, group {group} has {other}; --force imports it anyway")
    if present.saved.schema not in (None, file.saved.schema):
        learned, known = features_in_words(file.saved.schema), features_in_words(present.saved.schema)
        raise Failure(f"{file.name} learns from {learned}, group {group} from {known}; --force imports it anyway")


def _make_topic(source: GroupPartition) -> None:
    """Create the group's snapshot topic if no worker has run yet, and claim its ownership."""
    settings = source.settings
    counts = present_topics(settings.bootstrap, settings.passthrough)
    snapshots = settings.topics.snapshots
    plan = output_plan(settings.topics, counts[settings.input])
    create_topics(settings.bootstrap, settings.passthrough, {snapshots: plan[snapshots]}, present=counts)
    claim_ownership(settings, counts[settings.input])

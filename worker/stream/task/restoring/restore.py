"""Restore a partition: rebuild its model at the committed offset from the log, whoever owned it last.

1. Acquire (`exactly_once`): fence the last owner, so that it can commit nothing more.
2. End transactions that the broker has left without an end marker (`hanging_transactions`). Then read the last commit
   (`last_commit`): its commit record in the partition's own log. The group's coordinator is asked for the committed
   offset C too. If that differs, although a worker committed it, it is asked again for a while; then the log counts.
3. Check that the outputs of that commit are there (`output_repair`); missing ones are written again.
4. Bring a model to C (`restore_choice` among the `restore_sources`): load the snapshot that the pointer names, at
   S <= C, or keep the state in memory, if that stands at C. Relearn the models of plans in between, if they were
   relearned where the plans were adopted (`relearned_models`).
5. Find the inputs beside the events from S on (`side_inputs`): other partitions' models, and labels.
6. The loop then replays S..C, learning without emitting, and counts the records: if the last commit had read another
   number of them, the partition is restored again, and `--on-restore-failure` decides. From C on the loop emits.

A damaged snapshot is an accident: an older one of the same history, or the log itself if it still holds the first row,
gives the same bits, and the restore's note says so. Anything else (another learner, an offset committed by hand, rows
removed by retention) needs a decision by the user: the restore is refused (exit 4), naming the option that allows it. A
restore never becomes a cold start by itself.
"""

from __future__ import annotations

from dataclasses import replace

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import watermarks
from driftway.worker.kafka.log_reader.topic_facts import UNKNOWN_IDS, TopicIds
from driftway.worker.kafka.log_reader.visibility import end_of_visible, first_visible, log_ends
from driftway.worker.settings import LATEST, WorkerSettings
from driftway.worker.settings.option_values import CHAMPION_ONLY
from driftway.worker.state.changelog.input_count import RecordsDiffer
from driftway.worker.state.changelog.new_topic import NewTopic
from driftway.worker.state.changelog.record_keys import CLAIM_PARTITION, new_topic_key
from driftway.worker.state.changelog.snapshot_scan import append, mark_new_history
from driftway.worker.state.input_read import InputRead
from driftway.worker.stream.task.committing.checkpoint import Checkpoint
from driftway.worker.stream.task.restoring.last_commit import LastCommit, read_last_commit
from driftway.worker.stream.task.restoring.output_repair import find_missing_outputs
from driftway.worker.stream.task.restoring.relearned_models import with_relearned
from driftway.worker.stream.task.restoring.restore_choice import choose
from driftway.worker.stream.task.restoring.restore_context import MakeModel, RestoreContext, restore_context
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.restoring.restore_sources import RestoreSources
from driftway.worker.stream.task.restoring.side_inputs import with_labels, with_rounds


def restore(
    settings: WorkerSettings,
    partition: int,
    checkpoint: Checkpoint,
    make_model: MakeModel,
    deadline: Deadline,
    in_memory_offset: int | None = None,
    ids: TopicIds = UNKNOWN_IDS,
    gap: RecordsDiffer | None = None,
) -> RestoreResult:
    """Acquire the partition and rebuild its model; blocks, so it runs beside the loop.

    Parameters
    ----------
    settings, partition, checkpoint
        The task's.
    make_model : callable
        Makes a model in its initial state, of a given plan or of the first.
    deadline : Deadline
        For the complete restore; extended while records arrive.
    in_memory_offset : int or None
        Committed offset of the state that the task has in memory; None if there is none.
    ids : TopicIds
        Ids of the input and of the label topic, asked for after the last commit.
    gap : RecordsDiffer or None
        What the last attempt to relearn the committed state found; None if nothing was wrong.

    Raises
    ------
    CannotRestore
        A policy refuses.
    KafkaException, TaskError
        To be classified by `driftway.worker.kafka.error_handling`.
    """
    checkpoint.acquire(deadline)
    with restore_context(settings, partition, checkpoint, make_model, deadline, ids) as context:
        last = read_last_commit(context)
        sources = RestoreSources.of(context, last, gap)
        missing = find_missing_outputs(context, last)
        found = choose(sources, missing, in_memory_offset)
        if found.model is not None and last.record is not None:
            found.model.decoder.set_aside_from = last.record.set_aside_from
        found = with_relearned(found, sources)
        if settings.topics.shared:
            found = with_rounds(found, sources)
        if settings.label_topic:
            found = with_labels(found, sources)
        others = last.moved or _relearns_without_plans(context, found)
        if others and (last.record is None or not settings.label_topic):  # recorded orders keep their offsets
            found = replace(found, new_topic=True)
        if found.new_topic:
            _begin_outputs(context)
        if found.history_start is not None:
            _begin_history(context, found)
        if found.decided and found.history_start is not None and not found.keeps_learned and last.record is not None:
            found = replace(found, emptied_plan=last.record.plan)
        found = replace(found, emitted=_emitted_before(context, found, last))
        return _with_counts(_with_offsets(context, found, sources), sources)


def _relearns_without_plans(context: RestoreContext, found: RestoreResult) -> bool:
    """Whether the options' models relearn rows that models of plans may have predicted."""
    relearns = found.history_start is not None and not found.keeps_learned and found.history_start < found.committed
    return relearns and context.partitions_of(context.settings.topics.models) > 0


def _emitted_before(context: RestoreContext, found: RestoreResult, last: LastCommit) -> str | None:
    """The models whose predictions were written before; None if unknown, since at-least-once records no commits.

    Where outputs begin again, the worker records again whose predictions they hold, because an audit begins there.
    """
    if found.new_topic:
        return None
    if found.history_start is not None:
        return CHAMPION_ONLY
    if last.record is not None and not last.at_least_once:
        return last.record.emit
    return None if context.topics.challenged and last.offset is not None else CHAMPION_ONLY


def _with_offsets(context: RestoreContext, found: RestoreResult, sources: RestoreSources) -> RestoreResult:
    """Add where the next row comes from, and where the rows to relearn end: committed offsets may lie in a gap."""
    reader, topic_partition = context.reader, (context.settings.input, context.partition)
    start = first_visible(reader, *topic_partition, found.position, context.deadline)[0]

    def end_before(offset: int) -> int:
        if start >= offset:
            return found.position
        return end_of_visible(reader, *topic_partition, start, offset, context.deadline)

    relearned_at, missing = end_before(found.committed), found.missing_outputs
    counted_at = relearned_at
    if missing is not None:
        counted_at = end_before(sources.committed)
        until = counted_at if missing.until == sources.committed else end_before(missing.until)
        missing = replace(missing, until=until)
    return replace(found, start=start, relearned_at=relearned_at, counted_at=counted_at, missing_outputs=missing)


def _with_counts(found: RestoreResult, sources: RestoreSources) -> RestoreResult:
    """Add what the state at the position has read of the input, and what the last commit had, to compare them."""
    if found.model is None and found.history_start is None:
        return found
    known = None if found.history_start is not None else found.read
    read = known if known is not None and known.since is not None else InputRead(found.position)
    topic, labels = sources.context.ids
    expected = None if found.history_start is not None else sources.expected
    return replace(found, read=replace(read, topic=topic, labels=labels), expected=expected)


def _begin_outputs(context: RestoreContext) -> None:
    """Record where outputs end: from here on there are others for the same input offsets, or for later ones."""
    partition = context.partition
    ends = log_ends(context.uncommitted_reader, context.topics.outputs(), partition, context.deadline)
    record = NewTopic(context.ids.input, ends).write()
    append(context.settings, partition, new_topic_key(partition), record, context.deadline)


def _begin_history(context: RestoreContext, found: RestoreResult) -> None:
    """Mark that older snapshots are of another history; one from offset 0 in an empty topic needs no mark.

    A topic with only an ownership claim counts as empty. A start at the log's end is always marked, since that moves.
    """
    settings, partition = context.settings, context.partition
    low, high = watermarks(context.reader, settings.topics.snapshots, partition, context.deadline)
    if found.history_start != 0 or settings.start == LATEST or high - low > (partition == CLAIM_PARTITION):
        start = None if found.keeps_learned else found.history_start
        mark_new_history(settings, partition, start, context.deadline)

"""Choose where a partition continues: with a model at the committed offset, or as a policy says if there is none."""

from __future__ import annotations

from dataclasses import replace

from driftway.worker.errors import CannotRestore
from driftway.worker.kafka.log_reader.topic_facts import why_records_differ
from driftway.worker.settings import LATEST, REPLAY, RESET
from driftway.worker.state.changelog.input_count import RecordsDiffer
from driftway.worker.state.changelog.snapshot_scan import SnapshotScan
from driftway.worker.stream.task.restoring.changed_log import cut_at, in_cut_log, in_new_topic
from driftway.worker.stream.task.restoring.output_repair import MissingOutputs
from driftway.worker.stream.task.restoring.restore_context import joined_notes
from driftway.worker.stream.task.restoring.restore_result import RestoreResult, first_offset
from driftway.worker.stream.task.restoring.restore_sources import RestoreSources

GONE = "the group's offset is gone (deleted, or expired)"


def choose(sources: RestoreSources, missing: MissingOutputs | None, in_memory_offset: int | None) -> RestoreResult:
    """Bring a model to the committed offset.

    Parameters
    ----------
    sources : RestoreSources
        What is known of the partition.
    missing : MissingOutputs or None
        Outputs of the last commits that are missing.
    in_memory_offset : int or None
        Committed offset of the state that the task has in memory.

    Raises
    ------
    CannotRestore
        A policy refuses.
    """
    last, end = sources.last, sources if missing is None else replace(sources, committed=missing.until)
    shares, snapshots = sources.context.settings.topics.shares, sources.context.settings.topics.snapshots
    if last.unreadable is not None:
        found = sources.by_policy(last.unreadable)
    elif sources.recreated:
        return in_new_topic(sources, in_memory_offset)
    elif last.offset is None:
        found = _without_offset(sources)
    elif sources.context.transactions is not None and last.in_transaction and last.record is None:
        deleted = "its first records were deleted: set cleanup.policy=compact"
        why = deleted if sources.records_deleted else "another --output-prefix?"
        found = sources.by_policy(
            f"offset {last.offset} was committed by a worker, but {snapshots} has no record of it ({why})"
        )
    elif missing is not None and shares in missing.present:
        found = end.by_policy(
            f"the updates that the learners combined until offset {missing.until} are gone from {shares}"
        )
        found = replace(found, new_topic=found.history_start is not None)  # an audit needs them for earlier outputs
    elif missing is not None and missing.unrecorded_from is not None and sources.follows_records:
        found = end.by_policy(missing.reason(sources.context.settings.topics))
    elif (cut := cut_at(sources)) is not None:
        return in_cut_log(sources, cut, missing, in_memory_offset)
    elif sources.gap is not None:
        found = end.by_policy(_explained_gap(sources, sources.gap))
    elif missing is not None:
        found = _before_lost_outputs(sources, missing)
    elif last.pointer is not None and in_memory_offset == sources.committed:
        found = RestoreResult(None, in_memory_offset, in_memory_offset, sources.pointer)
    else:
        found = sources.from_pointer_or_fallback()
    if found.position < sources.low or max(found.committed, end.committed) > sources.high:
        committed = found.committed if last.offset is None else end.committed
        return sources.by_offset_policy(replace(found, committed=committed, missing_outputs=None))
    return replace(found, note=joined_notes(last.note, found.note))


def _without_offset(sources: RestoreSources) -> RestoreResult:
    """Without a committed offset, start a new group as `--start` says; for a lost offset a policy decides."""
    if sources.last.record is not None:
        return sources.by_policy(f"{GONE}; the last one was {sources.committed}")
    if sources.committed:
        return sources.by_policy(f"{GONE}; the newest snapshot is at {sources.committed}")
    begun = _began_at_the_end(sources)
    where = sources.context.settings, sources.context.partition, sources.low, sources.high
    start = first_offset(*where) if begun is None else begun
    if begun is None and sources.records_deleted:
        return _without_any_record(sources, start)
    note = None if begun is None else f"starting at offset {begun} as before: nothing was committed since"
    goes_on = begun is not None and sources.low <= begun <= sources.high  # otherwise a policy decides
    return RestoreResult(
        sources.context.make_model(), start, start, None, note, history_start=None if goes_on else start
    )


def _without_any_record(sources: RestoreSources, start: int) -> RestoreResult:
    """Start with an empty learner, if a policy says so: a group that is not new has lost its offset and its records."""
    settings, where = sources.context.settings, sources.context.where
    reason = f"{GONE}, and {settings.topics.snapshots} no longer has its first records, so the last one is not known"
    effect = f"{RESET} starts with {sources.empty_learner} at {start}, and may predict events again"
    if settings.on_restore_failure != RESET:
        raise CannotRestore(f"cannot restore {where}: {reason}; --on-restore-failure {effect}")
    note = f"{reason}; --on-restore-failure {effect}"
    model = sources.context.make_model()
    return RestoreResult(model, start, start, None, note, history_start=start, decided=True, new_topic=True)


def _began_at_the_end(sources: RestoreSources) -> int | None:
    """Return where the group started at the log's end and died before its first commit; None if it did not."""
    if sources.context.settings.start != LATEST:
        return None
    found = sources.scan_topic(SnapshotScan(sources.context.partition, 0, sources.high))
    start = found.history_start
    return None if found.candidates or start is None or start < 0 else start


def _before_lost_outputs(sources: RestoreSources, missing: MissingOutputs) -> RestoreResult:
    """Load a model from before the rows with missing outputs; without one a policy may let them stay missing."""
    reason, end = missing.reason(sources.context.settings.topics), replace(sources, committed=missing.until)
    before = replace(sources, committed=missing.since, pointer=None)
    found = before.from_older_snapshot(reason) or before.from_log_start(reason)
    if found is None and sources.context.settings.on_restore_failure == REPLAY:
        found = before.by_policy(reason)
    if found is None:
        return end.by_policy(f"{reason}, and no snapshot or log reaches back far enough to recompute it")
    missing = missing.with_emissions({} if before.scan is None else before.scan.emissions, sources.context.topics)
    return replace(found, missing_outputs=missing, note=f"{found.note}; writing {missing.what}")


def _explained_gap(sources: RestoreSources, gap: RecordsDiffer) -> str:
    """Say what a relearning found, and why, as far as that can be known."""
    settings = sources.context.settings
    return f"{gap}: {why_records_differ(settings, (settings.input, settings.label_topic), gap.missing)}"

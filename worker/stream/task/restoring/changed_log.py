"""Go on where the input is not the log that was read: its topic was recreated, or its log was cut."""

from __future__ import annotations

from dataclasses import replace

from driftway.worker.errors import CannotRestore
from driftway.worker.kafka.log_reader.visibility import first_of_later_epoch
from driftway.worker.settings import EARLIEST, LATEST
from driftway.worker.state.snapshot import BadSnapshot
from driftway.worker.stream.task.restoring.output_repair import MissingOutputs
from driftway.worker.stream.task.restoring.restore_context import joined_notes
from driftway.worker.stream.task.restoring.restore_result import RestoreResult
from driftway.worker.stream.task.restoring.restore_sources import RestoreSources


def in_new_topic(sources: RestoreSources, in_memory_offset: int | None) -> RestoreResult:
    """Go on at the start of a topic that was recreated, with what was learned, as --on-offset-out-of-range allows.

    No other option does: every one that goes on at the committed offset would skip rows of the new topic.
    """
    context, committed = sources.context, sources.committed
    reason = (
        f"topic {context.settings.input} was deleted and recreated after offset {committed} of it was committed: "
        f"its id was {sources.last.input_read.topic}, now it is {context.ids.input}"
    )
    effect = f"keeps what was learned and predicts the new topic from its start, offset {sources.low}, on"
    if context.settings.on_offset_out_of_range != EARLIEST:
        raise CannotRestore(
            f"cannot restore {context.where}: {reason}; only --on-offset-out-of-range {EARLIEST} goes on, which "
            f"{effect}"
        )
    note = f"{reason}; --on-offset-out-of-range {EARLIEST} {effect}"
    return _among_other_records(sources, sources.low, sources.low, note, in_memory_offset)


def cut_at(sources: RestoreSources) -> int | None:
    """Return where the input's log was cut below the committed offset; None if it was not, or that is not known.

    Others may have been written there since: then their leader epoch is higher than that of those that were read.
    """
    record, read, context = sources.last.record, sources.last.input_read, sources.context
    if (
        not sources.last.in_transaction
        or record is None
        or record.offset != sources.committed
        or not sources.same_topic
    ):
        return None
    end, topic_partition = min(sources.committed, sources.high), (context.settings.input, context.partition)
    found = first_of_later_epoch(context.reader, *topic_partition, sources.low, end, read.epoch, context.deadline)
    return sources.high if found is None and sources.committed > sources.high else found


def in_cut_log(
    sources: RestoreSources, cut: int, missing: MissingOutputs | None, in_memory_offset: int | None
) -> RestoreResult:
    """Go on in a log that was cut below the committed offset, as --on-offset-out-of-range allows."""
    context, committed = sources.context, sources.committed
    reason = (
        f"its log was cut at offset {cut}, as by an unclean election of a leader: rows {cut} to {committed - 1} "
        f"were predicted and are gone, it ends at {sources.high} now"
    )
    if missing is not None:
        reason += f"; {missing.reason(context.settings.topics)}, and stays so"
    starts = {EARLIEST: cut, LATEST: sources.high}
    offers = {word: f"keeps what was learned and predicts from {start} on" for word, start in starts.items()}
    policy = context.settings.on_offset_out_of_range
    if policy not in starts:
        choices = ", ".join(f"{word} {offer}" for word, offer in offers.items())
        raise CannotRestore(f"cannot restore {context.where}: {reason}; --on-offset-out-of-range {choices}")
    note = f"{reason}; --on-offset-out-of-range {policy} {offers[policy]}"
    return _among_other_records(sources, starts[policy], cut, note, in_memory_offset)


def _among_other_records(
    sources: RestoreSources, start: int, same: int, note: str, in_memory_offset: int | None
) -> RestoreResult:
    """Go on with what was learned at `start` of a log whose records from `same` on are not those that were read."""
    record, committed = sources.last.record, sources.committed
    before = replace(sources, pointer=sources.pointer if record is None else record.pointer or sources.pointer)
    if in_memory_offset == committed:
        found = RestoreResult(None, committed, committed, None)
    else:
        try:
            found = before.from_pointer()
        except BadSnapshot as error:
            found = before.from_older_snapshot(str(error)) or before.by_policy(str(error))
    relearns = not sources.recreated and not sources.follows_records and sources.low <= found.position < same
    learned = same if relearns else found.position
    if learned < committed:
        note += f"; rows {learned} to {committed - 1} that are gone were not learned: no snapshot holds them"
    return RestoreResult(
        found.model,
        found.position if relearns else start,
        start,
        None,
        joined_notes(found.note, note),
        history_start=sources.low,
        keeps_learned=found.history_start is None,
        decided=True,
        new_topic=True,
    )

"""Go on where the input is not the log that was read: its topic was recreated, or its log was cut."""

from __future__ import annotations

from dataclasses import replace

from driftway.worker.errors import CannotRestore
from driftway.worker.kafka.log_reader.visibility import first_of_later_epoch
from driftway.worker.settings import EARLIEST, LATEST
from driftway.worker.state.snapshot import BadSnapshot
from driftway.worker.stream.task.restoring.output_repair import MissingOutputs
from driftway.worker.stream.task.restoring.restore_context import joined_notes
from driftway.worker.stream.task.restoring.restore_plan import RestorePlan
from driftway.worker.stream.task.restoring.restore_result import RestoreResult


def in_new_topic(plan: RestorePlan, in_memory_offset: int | None) -> RestoreResult:
    """Go on at the start of a topic that was recreated, with what was learned, as --on-offset-out-of-range allows.

    No other option does: every one that goes on at the committed offset would skip rows of the new topic.
    """
    context, committed = plan.context, plan.committed
    reason = (
        f"topic {context.settings.input} was deleted and recreated after offset {committed} of it was committed: "
        f"its id was {plan.last.input_read.topic}, now it is {context.ids.input}"
    )
    effect = f"keeps what was learned and predicts the new topic from its start, offset {plan.low}, on"
    if context.settings.on_offset_out_of_range != EARLIEST:
        raise CannotRestore(
            f"cannot restore {context.where}: {reason}; only --on-offset-out-of-range {EARLIEST} goes on, which "
            f"{effect}"
        )
    note = f"{reason}; --on-offset-out-of-range {EARLIEST} {effect}"
    return _among_other_records(plan, plan.low, plan.low, note, in_memory_offset)


def cut_at(plan: RestorePlan) -> int | None:
    """Return where the input's log was cut below the committed offset; None if it was not, or that is not known.

    Others may have been written there since: then their leader epoch is higher than that of those that were read.
    """
    record, read, context = plan.last.record, plan.last.input_read, plan.context
    if not plan.last.in_transaction or record is None or record.offset != plan.committed or not plan.same_topic:
        return None
    end, place = min(plan.committed, plan.high), (context.settings.input, context.partition)
    found = first_of_later_epoch(context.reader, *place, plan.low, end, read.epoch, context.deadline)
    return plan.high if found is None and plan.committed > plan.high else found


def in_cut_log(
    plan: RestorePlan, cut: int, missing: MissingOutputs | None, in_memory_offset: int | None
) -> RestoreResult:
    """Go on in a log that was cut below the committed offset, as --on-offset-out-of-range allows."""
    context, committed = plan.context, plan.committed
    reason = (
        f"its log was cut at offset {cut}, as by an unclean election of a leader: rows {cut} to {committed - 1} "
        f"were predicted and are gone, it ends at {plan.high} now"
    )
    if missing is not None:
        reason += f"; {missing.reason(context.settings.topics)}, and stays so"
    starts = {EARLIEST: cut, LATEST: plan.high}
    offers = {word: f"keeps what was learned and predicts from {start} on" for word, start in starts.items()}
    policy = context.settings.on_offset_out_of_range
    if policy not in starts:
        choices = ", ".join(f"{word} {offer}" for word, offer in offers.items())
        raise CannotRestore(f"cannot restore {context.where}: {reason}; --on-offset-out-of-range {choices}")
    note = f"{reason}; --on-offset-out-of-range {policy} {offers[policy]}"
    return _among_other_records(plan, starts[policy], cut, note, in_memory_offset)


def _among_other_records(
    plan: RestorePlan, start: int, same: int, note: str, in_memory_offset: int | None
) -> RestoreResult:
    """Go on with what was learned at `start` of a log whose records from `same` on are not those that were read."""
    record, committed = plan.last.record, plan.committed
    before = replace(plan, pointer=plan.pointer if record is None else record.pointer or plan.pointer)
    if in_memory_offset == committed:
        found = RestoreResult(None, committed, committed, None)
    else:
        try:
            found = before.from_pointer()
        except BadSnapshot as error:
            found = before.from_older_snapshot(str(error)) or before.by_policy(str(error))
    relearns = not plan.recreated and not plan.follows_records and plan.low <= found.position < same
    learned = same if relearns else found.position
    if learned < committed:
        note += f"; rows {learned} to {committed - 1} that are gone were not learned: no snapshot holds them"
    return RestoreResult(
        found.model,
        found.position if relearns else start,
        start,
        None,
        joined_notes(found.note, note),
        history_start=plan.low,
        keeps_learned=found.history_start is None,
        decided=True,
        new_topic=True,
    )

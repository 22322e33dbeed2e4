"""What goes into a partition beside its events: labels from a topic of their own, and other partitions' models.

Both are taken at places of the input that are written down, so that whoever relearns the rows takes them there too.
"""

from __future__ import annotations

from dataclasses import replace

from driftway.worker.errors import CannotRestore
from driftway.worker.kafka.error_handling import TimedOut
from driftway.worker.kafka.log_reader.reader import watermarks
from driftway.worker.kafka.log_reader.visibility import await_stable
from driftway.worker.settings import LATEST
from driftway.worker.state.changelog.snapshot_scan import merge_orders, read_partition
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition, concatenated
from driftway.worker.state.model_sharing.exchange_record import first_missing, read_record_header
from driftway.worker.stream.task.restore_context import UNDECIDED_SECONDS, RestoreContext
from driftway.worker.stream.task.restore_plan import RestorePlan, RestoreResult, SharingState


def with_rounds(found: RestoreResult, plan: RestorePlan) -> RestoreResult:
    """With the rounds that the model is to repeat, all of which must be there; else --if-unrestorable decides.

    Raises
    ------
    CannotRestore
        They are not there, and a policy refuses.
    """
    gone, found = _rounds(found, plan)
    if gone is not None:
        gone, found = _rounds(plan.by_policy(gone), plan)
    if gone is not None:
        raise CannotRestore(f"cannot restore {plan.context.where}: {gone}")
    return found


def _rounds(found: RestoreResult, plan: RestorePlan) -> tuple[str | None, RestoreResult]:
    """Which round is gone, in words, None: none is; and the result with the rounds that are there."""
    anew, exchange = found.history_start is not None, None if found.model is None else found.model.exchange
    record = plan.last.record
    sharing, last = _sharing_state(plan.context, anew), None if record is None else record.rounds
    found = replace(found, sharing=sharing)
    if anew or exchange is None:
        return None, found
    lacks = first_missing([*map(read_record_header, sharing.log)], exchange.round_number, found.position, last)
    topic = plan.context.settings.topics.shares
    return None if lacks is None else f"what the learners combined in round {lacks} is gone from {topic}", found


def _sharing_state(context: RestoreContext, anew: bool) -> SharingState:
    """What the topic of shares says; `anew`: of a history of which nothing is to be repeated."""
    topic, partition = context.settings.topics.shares, context.partition
    end = watermarks(context.uncommitted_reader, topic, partition, context.deadline)[1]
    if not await_stable(context.reader, topic, partition, end, context.deadline, UNDECIDED_SECONDS):
        raise TimedOut(f"an open transaction hides the end of {topic}/{partition}")
    log = [value for _, value in read_partition(context.reader, topic, partition, context.deadline)]
    last = read_record_header(log[-1]) if log else None
    ends = {} if last is None else last.consumed
    return SharingState([] if anew else log, context.partitions_of(topic), ends | {partition: end})


def with_labels(found: RestoreResult, plan: RestorePlan) -> RestoreResult:
    """With the places at which labels go in, from where a model was found to stand.

    Raises
    ------
    CannotRestore
        Their order is not known any more, or their log has lost some.
    """
    context, record = plan.context, plan.last.record
    topic = context.settings.label_topic
    low, high = watermarks(context.reader, topic, context.partition, context.deadline)
    last = None if record is None else record.order
    if found.model is None and last is not None:
        order, repeated = last, tuple[MergePosition, ...]()
    else:
        known = _order(found, context, last, low, high)
        order, repeated = MergeOrder(known.begin), known.steps
    if order.end.label < low:
        raise CannotRestore(
            f"cannot restore {context.where}: labels from offset {order.end.label} of {topic} are needed, its log "
            f"begins at {low}"
        )
    return replace(found, merger=LabelMerger(order, repeated))


def _order(found: RestoreResult, context: RestoreContext, last: MergeOrder | None, low: int, high: int) -> MergeOrder:
    """In which order labels were taken from a model's position on, and are to be taken once more."""
    position, committed = found.position, found.committed
    if last is None:  # no label was taken yet
        begin = MergePosition(position, high if context.settings.start == LATEST else low)
        return MergeOrder(begin, (MergePosition(committed, begin.label),) if position < committed else ())
    known: MergeOrder | None = last
    topic = context.settings.topics.snapshots
    if last.begin.offset != position:
        known = concatenated(merge_orders(context.reader, topic, context.partition, context.deadline), position)
    if known is not None:
        return known
    if found.history_start is not None:
        return MergeOrder(MergePosition(position, last.end.label if position == committed else low))
    raise CannotRestore(
        f"cannot restore {context.where}: {topic} does not say in which order labels were taken from offset "
        f"{position} on"
    )

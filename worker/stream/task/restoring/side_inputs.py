"""A partition's other inputs: labels of the label topic, and models of other partitions.

The input offsets at which they were merged are recorded, so that a replay merges them at the same offsets.
"""

from __future__ import annotations

from dataclasses import replace

from driftway.worker.errors import CannotRestore
from driftway.worker.kafka.log_reader.reader import watermarks
from driftway.worker.settings import EARLIEST, LATEST
from driftway.worker.state.changelog.snapshot_scan import merge_orders, read_partition
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition, concatenated
from driftway.worker.state.delayed_labels.stamps import NO_TIME
from driftway.worker.state.model_sharing.exchange_record import first_missing, read_record_header
from driftway.worker.stream.task.restoring.restore_context import RestoreContext, joined_notes
from driftway.worker.stream.task.restoring.restore_result import RestoreResult, SharingState
from driftway.worker.stream.task.restoring.restore_sources import RestoreSources


def with_rounds(found: RestoreResult, sources: RestoreSources) -> RestoreResult:
    """Add the exchange rounds that the model must replay; if one is missing, --on-restore-failure decides.

    Raises
    ------
    CannotRestore
        A round is missing, and the policy refuses.
    """
    gone, found = _rounds(found, sources)
    if gone is not None:
        gone, found = _rounds(sources.by_policy(gone), sources)
        if gone is not None:  # those after an older snapshot are gone, too
            _, found = _rounds(sources.by_policy(gone, from_older=False), sources)
        found = replace(found, new_topic=found.history_start is not None)  # an audit needs them for earlier outputs
    return found


def _rounds(found: RestoreResult, sources: RestoreSources) -> tuple[str | None, RestoreResult]:
    """Return a message about a missing round, or None, and the result with the rounds that are there."""
    new_history = found.history_start is not None
    exchange = None if found.model is None else found.model.exchange
    last = None if sources.last.record is None else sources.last.record.rounds
    sharing = _sharing_state(sources.context, new_history)
    found = replace(found, sharing=sharing)
    if new_history or exchange is None:
        return None, found
    missing = first_missing([*map(read_record_header, sharing.log)], exchange.round_number, found.position, last)
    topic = sources.context.settings.topics.shares
    return None if missing is None else f"the updates combined in round {missing} are gone from {topic}", found


def _sharing_state(context: RestoreContext, new_history: bool) -> SharingState:
    """Read the exchange state from the shares topic; with `new_history`, a new history, there is nothing to replay."""
    topic, partition = context.settings.topics.shares, context.partition
    end = watermarks(context.uncommitted_reader, topic, partition, context.deadline)[1]
    log = [value for _, value in read_partition(context.reader, topic, partition, context.deadline)]
    last = read_record_header(log[-1]) if log else None
    ends = {} if last is None else last.consumed
    return SharingState([] if new_history else log, context.partitions_of(topic), ends | {partition: end})


def with_labels(found: RestoreResult, sources: RestoreSources) -> RestoreResult:
    """Add the merger of labels, starting where the restored model is.

    Raises
    ------
    CannotRestore
        Their order is no longer known, or their log has lost some.
    """
    context, record = sources.context, sources.last.record
    topic = context.settings.label_topic
    low, high = watermarks(context.reader, topic, context.partition, context.deadline)
    fresh, lost = MergeOrder(MergePosition(found.position, low)), lost_labels(sources, high)
    order, known = (fresh, None) if lost is not None else _orders(found, sources, low, high)
    if order.end.label < low:
        lost = f"labels of {topic} are needed from offset {order.end.label} on, its log begins at {low}"
    if lost is not None:
        outcome = f"keeps what was learned and reads the labels of {topic} from offset {low} on"
        if context.settings.on_offset_out_of_range != EARLIEST:
            raise CannotRestore(
                f"cannot restore {context.where}: {lost}; only --on-offset-out-of-range {EARLIEST} goes on, which "
                f"{outcome}"
            )
        note = joined_notes(found.note, f"{lost}; --on-offset-out-of-range {EARLIEST} {outcome}")
        if found.history_start is None:
            found = replace(found, pointer=None, history_start=found.position, keeps_learned=True)
        # The order that was recorded is given up, and with it what an audit could recompute before.
        return replace(found, merger=LabelMerger(fresh), note=note, decided=True, new_topic=True)
    clocks = {} if record is None else record.clocks
    lines = clocks.get("event_time", NO_TIME), clocks.get("label_time", NO_TIME)
    return replace(found, merger=LabelMerger(order, known, lines))


def _orders(found: RestoreResult, sources: RestoreSources, low: int, high: int) -> tuple[MergeOrder, MergeOrder | None]:
    """Return the order that goes on where the model is, and the one that a replay follows from there, if it must."""
    last = None if sources.last.record is None else sources.last.record.order
    if found.model is None and last is not None and found.history_start is None:
        return last, None
    known = _order(found, sources.context, last, low, high)
    return MergeOrder(known.begin), known


def lost_labels(sources: RestoreSources, high: int) -> str | None:
    """Return why labels cannot be read on from where the last commit was; None if they can."""
    topic, ids, record = sources.context.settings.label_topic, sources.context.ids, sources.last.record
    before = sources.last.input_read.labels
    if None not in (before, ids.labels) and before != ids.labels:
        return f"label topic {topic} was deleted and recreated: its id was {before}, now it is {ids.labels}"
    if record is not None and record.order is not None and record.order.end.label > high:
        return (
            f"labels were read up to offset {record.order.end.label} of {topic}, its log ends at {high}: it was "
            "truncated, or the topic was recreated"
        )
    return None


def _order(found: RestoreResult, context: RestoreContext, last: MergeOrder | None, low: int, high: int) -> MergeOrder:
    """Return the order in which labels were merged from the model's position on, for the replay."""
    position, committed = found.position, found.committed
    if last is None:  # no label was merged yet
        begin = MergePosition(position, high if context.settings.start == LATEST else low)
        return MergeOrder(begin, (MergePosition(committed, begin.label),) if position < committed else ())
    if found.new_topic:  # the recorded orders are of the old topic's offsets
        return MergeOrder(MergePosition(position, last.end.label))
    known: MergeOrder | None = last
    topic = context.settings.topics.snapshots
    if last.begin.offset != position:
        known = concatenated(merge_orders(context.reader, topic, context.partition, context.deadline), position)
    if known is not None:
        return known
    if found.history_start is not None:
        return MergeOrder(MergePosition(position, last.end.label if position == committed else low))
    raise CannotRestore(
        f"cannot restore {context.where}: {topic} does not say in which order labels were merged from offset "
        f"{position} on"
    )

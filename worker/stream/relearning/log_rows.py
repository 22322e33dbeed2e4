"""The rows of a partition as its workers processed them, read again from the log, also while workers run.

With a label topic, these are events and labels in the order in which the workers merged them. Up to the newest commit,
that order is in the snapshot topic. A running worker has the rest in memory, see `LabelMerger.order`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from driftway.worker.errors import CannotRestore, Failure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, watermarks
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import merge_orders
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition, leading_to
from driftway.worker.stream.relearning.merged_rows import MergedRows


@dataclass(frozen=True)
class LogRows:
    """Rows of a partition.

    Parameters
    ----------
    begin : MergePosition
        The position before the first of them; its label offset is 0 without a label topic.
    rows : RecordStream or MergedRows
        The rows; `take` returns the next ones.
    """

    begin: MergePosition
    rows: RecordStream | MergedRows


def log_begins(settings: WorkerSettings, partition: int) -> MergePosition:
    """Return the first offsets that the input and, if there is one, the label topic still hold."""
    topics = [settings.input, *filter(None, [settings.label_topic])]
    with closing(reader_of(settings)) as reader:
        lows = [watermarks(reader, topic, partition, Deadline(ASK_SECONDS))[0] for topic in topics]
    return MergePosition(lows[0], lows[-1] if settings.label_topic else 0)


def is_held(begin: MergePosition, low: MergePosition) -> bool:
    """Whether logs that begin at `low` still hold all rows from a position on."""
    return low.offset <= begin.offset and low.label <= begin.label


@contextmanager
def rows_from(
    settings: WorkerSettings, partition: int, first: int | None, end: int, live: MergeOrder | None
) -> Iterator[LogRows]:
    """Open the rows from an input offset to before another, or what the log and the order still have of them.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    partition : int
        The partition.
    first : int or None
        Offset of the first row; None: the first that is still there.
    end : int
        The offset after the last row.
    live : MergeOrder or None
        The order of the worker's merger, up to `end`; None without a label topic.

    Raises
    ------
    Failure
        The order of the labels before that of the merger cannot be read yet.
    """
    low = log_begins(settings, partition)
    if live is None:
        begin = max(low.offset, low.offset if first is None else min(first, end))
        with _events(settings, partition, begin, end) as events:
            yield LogRows(MergePosition(begin, 0), events)
        return
    order = order_before(settings, partition, live)
    base = order.known_from(low, first)
    with _merged(settings, partition, order.since(base), end, None if first is None else min(first, end)) as merged:
        yield LogRows(merged.begin, merged)


@contextmanager
def rows_after(
    settings: WorkerSettings, partition: int, begin: MergePosition, end: int, order: MergeOrder | None
) -> Iterator[RecordStream | MergedRows]:
    """Open the rows from a position, which the log still holds, to before an input offset.

    `order` is that of the labels, and covers these rows; None without a label topic.
    """
    if order is None:
        with _events(settings, partition, begin.offset, end) as events:
            yield events
        return
    with _merged(settings, partition, order.since(begin), end, None) as merged:
        yield merged


def recorded_order(
    settings: WorkerSettings, partition: int, begin: MergePosition, orders: Sequence[MergeOrder] | None
) -> MergeOrder | None:
    """Return the order of the labels, as recorded up to the newest commit; None without a label topic.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    partition : int
        The partition.
    begin : MergePosition
        Where it is needed from.
    orders : sequence of MergeOrder or None
        As `merge_orders` returns them; None: they are read.

    Raises
    ------
    CannotRestore
        The records about it are gone.
    """
    if not settings.label_topic:
        return None
    if orders is None:
        with closing(reader_of(settings)) as reader:
            orders = merge_orders(reader, settings.topics.snapshots, partition, Deadline(ASK_SECONDS))
    order = leading_to(orders, orders[-1]) if orders else None
    if order is None or not is_held(begin, order.begin):
        raise CannotRestore(
            f"{settings.topics.snapshots} does not say in which order labels of {settings.label_topic}/{partition} "
            f"were merged from offset {begin.offset} of {settings.input} on"
        )
    return order


def order_before(settings: WorkerSettings, partition: int, live: MergeOrder) -> MergeOrder:
    """Return the order that a worker's merger has followed since its last snapshot, and before, as far as it is known.

    Raises
    ------
    Failure
        The commit of that snapshot cannot be read yet.
    """
    topic = settings.topics.snapshots
    with closing(reader_of(settings)) as reader:
        parts = merge_orders(reader, topic, partition, Deadline(ASK_SECONDS))
    # The end of a transaction reaches the partitions a moment after the producer.
    if not any(live.begin in (part.begin, part.end) for part in parts):
        raise Failure(f"{topic}/{partition} does not show the order of labels up to offset {live.begin.offset} yet")
    return leading_to(parts, live)


def _events(settings: WorkerSettings, partition: int, begin: int, end: int) -> RecordStream:
    headers = settings.model.reads_headers
    return RecordStream(settings, settings.client, settings.input, partition, end, headers, begin)


def _merged(settings: WorkerSettings, partition: int, order: MergeOrder, end: int, first: int | None) -> MergedRows:
    begin = order.begin.offset if first is None else max(first, order.begin.offset)
    return MergedRows(settings, settings.label_topic, partition, order, min(end, order.end.offset), begin)

"""A partition's events merged with labels from the label topic, from an offset where their recorded order is known."""

from __future__ import annotations

from contextlib import closing

from driftway.worker.errors import Failure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import merge_orders
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition, concatenated
from driftway.worker.stream.relearning.merged_rows import MergedRows


class MergedInput(MergedRows):
    """Events and labels as the workers merged them between two input offsets; a context manager.

    Parameters
    ----------
    settings : WorkerSettings
        Topics and client properties.
    label_topic : str
        Topic of the labels.
    partition : int
        Partition of both topics.
    base : int
        An input offset at which a snapshot stands or a history begins; merging starts there.
    end : int
        The offset after the last event.
    first : int or None
        Offset of the first event to return, preceded by the labels taken before it; None: `base`.

    Raises
    ------
    Failure
        The merge order from `base` on is not known.
    """

    def __init__(
        self, settings: WorkerSettings, label_topic: str, partition: int, base: int, end: int, first: int | None = None
    ) -> None:
        # Where nothing was committed, no order is recorded, and there is nothing to merge.
        known = base < end
        order = _merge_order(settings, label_topic, partition, base) if known else MergeOrder(MergePosition(base, 0))
        super().__init__(settings, label_topic, partition, order, end, base if first is None else first)


def _merge_order(settings: WorkerSettings, label_topic: str, partition: int, base: int) -> MergeOrder:
    """The order in which the workers merged both topics from an input offset on."""
    topic = settings.topics.snapshots
    with closing(reader_of(settings)) as reader:
        found = concatenated(merge_orders(reader, topic, partition, Deadline(ASK_SECONDS)), base)
    if found is None:
        raise Failure(
            f"{topic} does not say in which order labels of {label_topic}/{partition} were merged from offset {base} "
            f"of {settings.input} on"
        )
    return found

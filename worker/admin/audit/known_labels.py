"""Whether the label topic still has the labels that were merged with a partition's rows."""

from __future__ import annotations

from contextlib import closing

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS, watermarks
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import merge_orders
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, concatenated


class KnownLabels:
    """The labels of a partition that a recomputation needs; without a label topic it needs none.

    Parameters
    ----------
    settings : WorkerSettings
        The workers' settings.
    partition : int
        The partition.

    Raises
    ------
    KafkaException, TimedOut
        The broker did not answer in time.
    """

    def __init__(self, settings: WorkerSettings, partition: int) -> None:
        self._topic, self._low, self._orders = settings.label_topic, 0, list[MergeOrder]()
        self.gap = ""
        """Why the last offset asked for was not reached."""
        if self._topic:
            with closing(reader_of(settings)) as reader:
                deadline = Deadline(ASK_SECONDS)
                self._low = watermarks(reader, self._topic, partition, deadline)[0]
                self._orders = merge_orders(reader, settings.topics.snapshots, partition, deadline)

    def reach(self, offset: int) -> bool:
        """Whether all labels that were merged from an input offset on, where a snapshot may be, still exist."""
        found = concatenated(self._orders, offset)
        if found is None:
            return True
        if found.end.offset < self._orders[-1].end.offset:
            self.gap = f"the order in which labels of {self._topic} were merged from there on is not recorded"
            return False
        self.gap = f"labels before offset {self._low} are no longer in {self._topic}"
        return found.begin.label >= min(self._low, found.end.label)

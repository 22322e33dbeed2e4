"""A partition's events merged with labels from the label topic, in the order in which the workers took them."""

from __future__ import annotations

from contextlib import ExitStack, closing
from types import TracebackType
from typing import Self

from driftway.worker.errors import Failure
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import ASK_SECONDS
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.kafka.log_reader.stream import reader_of
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.changelog.snapshot_scan import merge_orders
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, concatenated
from driftway.worker.wire.events import Records


class MergedInput:
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
        self._stack = ExitStack()
        self._first = base if first is None else first
        order = _merge_order(settings, label_topic, partition, base)

        def stream(topic: str, begin: int, bound: int) -> RecordStream:
            headers = settings.model.reads_headers
            one = RecordStream(settings, settings.client, topic, partition, bound, headers, begin)
            return self._stack.enter_context(one)

        self._events = stream(settings.input, base, end)
        self._labels = stream(label_topic, order.begin.label, order.end.label)
        self._merger = LabelMerger(MergeOrder(order.begin), order)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def take(self) -> Records | None:
        """Return the next records; None at the end.

        Raises
        ------
        Failure, Unreachable
            The records cannot be read.
        """
        while (found := self._next()) is not None:
            found = found.after(int(found.offsets.searchsorted(self._first)))
            if len(found):
                return found
        return None

    def _next(self) -> Records | None:
        while True:
            if self._merger.needs_labels:
                labels = self._labels.take()
                if labels is None:
                    self._merger.end_labels()
                else:
                    self._merger.add_labels(labels)
            if (found := self._merger.take(None, 0.0)) is not None:
                return found
            if not self._merger.needs_labels:
                events = self._events.take()
                if events is None:
                    return None
                if (found := self._merger.take(events, 0.0)) is not None:
                    return found


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

"""A partition's events merged with labels from the label topic, in the order in which the workers processed them."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES
from driftway.worker.kafka.log_reader.records import RecordStream
from driftway.worker.settings import WorkerSettings
from driftway.worker.state.delayed_labels.interleaving import position_after
from driftway.worker.state.delayed_labels.label_merger import LabelMerger
from driftway.worker.state.delayed_labels.merge_order import MergeOrder, MergePosition
from driftway.worker.wire.events import Records


class MergedRows:
    """Events and labels in a recorded order; a context manager.

    Parameters
    ----------
    settings : WorkerSettings
        Topics and client properties.
    label_topic : str
        Topic of the labels.
    partition : int
        Partition of both topics.
    order : MergeOrder
        The order in which the workers merged them; merging starts where it begins.
    end : int
        The offset after the last event.
    first : int or None
        Offset of the first event to return, preceded by the labels taken before it; None: where the order begins.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        label_topic: str,
        partition: int,
        order: MergeOrder,
        end: int,
        first: int | None = None,
    ) -> None:
        self._stack = ExitStack()
        self._first, self._skipped = order.begin.offset if first is None else first, order.begin
        self._held: Records | None = None

        def stream(topic: str, begin: int, bound: int) -> RecordStream:
            headers = settings.model.reads_headers
            one = RecordStream(settings, settings.client, topic, partition, bound, headers, begin)
            return self._stack.enter_context(one)

        self._events = stream(settings.input, order.begin.offset, end)
        self._labels = stream(label_topic, order.begin.label, order.end.label)
        self._merger = LabelMerger(MergeOrder(order.begin), order)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def begin(self) -> MergePosition:
        """The position before the first record to return; known once that has been read, so it is read.

        Raises
        ------
        Failure, Unreachable
            The records cannot be read.
        """
        if self._held is None:
            self._held = self._following()
        return MergePosition(max(self._first, self._skipped.offset), self._skipped.label)

    def take(self, max_rows: int | None = None) -> Records | None:
        """Return the next records, at most `max_rows` of them; None at the end.

        Raises
        ------
        Failure, Unreachable
            The records cannot be read.
        """
        found, self._held = self._following() if self._held is None else self._held, None
        if found is not None and max_rows is not None and len(found) > max_rows:
            found, self._held = found.before(max_rows), found.after(max_rows)
        return found

    def _following(self) -> Records | None:
        while (found := self._next()) is not None:
            skipped = int(found.offsets.searchsorted(self._first))
            if skipped:
                self._skipped = position_after(found.before(skipped), self._skipped)
            if skipped < len(found):
                return found.after(skipped)
        return None

    def _next(self) -> Records | None:
        while True:
            if self._merger.needs_labels:
                labels = self._labels.take(BATCH_MESSAGES)
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

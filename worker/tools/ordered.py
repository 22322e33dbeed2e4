"""A partition's events with the labels out of a topic of their own among them, as the workers have taken them."""

from __future__ import annotations

from contextlib import ExitStack, closing
from types import TracebackType
from typing import Self

from worker.errors import Failure
from worker.kafka.deadline import Deadline
from worker.kafka.reading.reader import ASK_SECONDS
from worker.kafka.reading.records import RecordStream
from worker.kafka.reading.stream import reader_of
from worker.settings import WorkerSettings
from worker.state.late.confluence import Confluence
from worker.state.late.order import Order, chained
from worker.state.log.history import orders
from worker.wire.events import Records


class OrderedInput:
    """What the workers have taken from an input offset to another, for a ``with`` block.

    Parameters
    ----------
    settings : WorkerSettings
        Topics and client properties.
    partition : int
        Which.
    first, end : int
        The offset of the first event, at which a state of the workers stands, and that behind the last one.

    Raises
    ------
    Failure
        The workers' order from there on is not known.
    """

    def __init__(self, settings: WorkerSettings, partition: int, first: int, end: int) -> None:
        self._stack = ExitStack()
        order = self._order(settings, partition, first)
        self._labels_end = order.end.label

        def stream(topic: str, begin: int, bound: int) -> RecordStream:
            headers = settings.model.reads_headers
            one = RecordStream(settings, settings.client, topic, partition, bound, headers, begin)
            return self._stack.enter_context(one)

        self._events = stream(settings.input, first, end)
        self._labels = stream(settings.label_topic, order.begin.label, order.end.label)
        self._confluence = Confluence(Order(order.begin), order.steps)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def take(self) -> Records | None:
        """The next records; None: that were all.

        Raises
        ------
        Failure, Unreachable
            They cannot be read.
        """
        while True:
            if self._confluence.needs_labels:
                labels = self._labels.take()
                if labels is None:
                    self._confluence.end_labels()
                else:
                    self._confluence.add_labels(labels)
            if (found := self._confluence.take(None, 0.0)) is not None:
                return found
            if not self._confluence.needs_labels:
                events = self._events.take()
                if events is None:
                    return None
                if (found := self._confluence.take(events, 0.0)) is not None:
                    return found

    @staticmethod
    def _order(settings: WorkerSettings, partition: int, first: int) -> Order:
        topic = settings.topics.snapshots
        with closing(reader_of(settings)) as reader:
            found = chained(orders(reader, topic, partition, Deadline(ASK_SECONDS)), first)
        if found is None:
            raise Failure(
                f"{topic} does not say in which order the labels of {settings.label_topic}/{partition} were taken from "
                f"offset {first} of {settings.input} on"
            )
        return found

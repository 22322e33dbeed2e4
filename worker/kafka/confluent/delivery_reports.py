"""What the broker says of a transaction's records: by the delivery reports of the first and the last of each topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError

from driftway.worker.kafka.error_handling import DeliveryFailed
from driftway.worker.kafka.interface import OffsetRange

Report = Callable[[Any, Any], None]
"""Called by the client with an error or None, and the message."""


@dataclass
class _TopicDelivery:
    """Records of one topic: how many were handed over, and where the first and the last one are."""

    count: int = 0
    first: int | None = None
    last: int | None = None


class DeliveryReports:
    """The reports of one producer's open transaction. Only marked records are reported: no Python call per message."""

    def __init__(self) -> None:
        self._deliveries: dict[str, _TopicDelivery] = {}
        self.first_failure: tuple[str, KafkaError] | None = None
        """Topic and error of the first record that was not delivered."""

    def mark(self, topic: str, records: list[dict[str, Any]]) -> None:
        """Have the transaction's first record, and the last of these, reported; they are produced in this order."""
        tally = self._deliveries.setdefault(topic, _TopicDelivery())
        report = partial(self._note, tally)
        if not tally.count:
            records[0]["callback"] = report
        records[-1]["callback"] = report
        tally.count += len(records)

    def mark_one(self, topic: str) -> Report:
        """The callback of a record that is produced by itself."""
        tally = self._deliveries.setdefault(topic, _TopicDelivery())
        tally.count += 1
        return partial(self._note, tally)

    def ranges(self, ends: Mapping[str, int]) -> dict[str, OffsetRange]:
        """Where everything is, once nothing is on its way any more.

        Parameters
        ----------
        ends : mapping
            Topic -> offset below which everything was written before this transaction.

        Raises
        ------
        DeliveryFailed
            Something was refused.
        UnconfirmedDelivery
            As `OffsetRange.confirmed`.
        """
        if self.first_failure is not None:
            raise DeliveryFailed(*self.first_failure)
        pairs = self._deliveries.items()
        return {topic: OffsetRange.confirmed(topic, t.first, t.last, t.count, ends.get(topic, 0)) for topic, t in pairs}

    def clear(self) -> None:
        """The next transaction's begin, from the same producer."""
        self._deliveries.clear()

    def note_failure(self, error: Any, message: Any) -> None:
        """Take any report; only that of a failure says something."""
        if error is not None and self.first_failure is None:
            self.first_failure = message.topic(), error

    def _note(self, tally: _TopicDelivery, error: Any, message: Any) -> None:
        if error is not None:
            self.note_failure(error, message)
            return
        tally.last = message.offset()
        if tally.first is None:
            tally.first = tally.last

"""Where a transaction's records were written: from the delivery reports of each topic's first and last record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError

from driftway.worker.kafka.error_handling import DeliveryFailed
from driftway.worker.kafka.interface import OffsetRange

Report = Callable[[Any, Any], None]
"""A delivery callback; the client calls it with an error or None, and the message."""


@dataclass
class _TopicDelivery:
    """Records of one topic: how many were produced, and the offsets of the first and the last."""

    count: int = 0
    first: int | None = None
    last: int | None = None


class DeliveryReports:
    """Delivery reports of the open transaction. Only marked records are reported: no Python call per message."""

    def __init__(self) -> None:
        self._deliveries: dict[str, _TopicDelivery] = {}
        self.first_failure: tuple[str, KafkaError] | None = None
        """Topic and error of the first record that was not delivered."""

    def mark(self, topic: str, records: list[dict[str, Any]]) -> None:
        """Request reports of the last of these records and of the transaction's first; they are produced in order."""
        tally = self._deliveries.setdefault(topic, _TopicDelivery())
        report = partial(self._note, tally)
        if not tally.count:
            records[0]["callback"] = report
        records[-1]["callback"] = report
        tally.count += len(records)

    def mark_one(self, topic: str) -> Report:
        """Return the callback of a record that is produced singly."""
        tally = self._deliveries.setdefault(topic, _TopicDelivery())
        tally.count += 1
        return partial(self._note, tally)

    def ranges(self, ends: Mapping[str, int]) -> dict[str, OffsetRange]:
        """Return the offset range of each topic's records; none may be in flight any more.

        Parameters
        ----------
        ends : mapping
            Topic -> log end before this transaction.

        Raises
        ------
        DeliveryFailed
            A record was refused.
        UnconfirmedDelivery
            As `OffsetRange.confirmed`.
        """
        if self.first_failure is not None:
            raise DeliveryFailed(*self.first_failure)
        pairs = self._deliveries.items()
        return {topic: OffsetRange.confirmed(topic, t.first, t.last, t.count, ends.get(topic, 0)) for topic, t in pairs}

    def clear(self) -> None:
        """Start over for the producer's next transaction."""
        self._deliveries.clear()

    def note_failure(self, error: Any, message: Any) -> None:
        """Record the first failed delivery; ignore other reports."""
        if error is not None and self.first_failure is None:
            self.first_failure = message.topic(), error

    def _note(self, tally: _TopicDelivery, error: Any, message: Any) -> None:
        if error is not None:
            self.note_failure(error, message)
            return
        tally.last = message.offset()
        if tally.first is None:
            tally.first = tally.last

"""What the broker says of a transaction's records: by the delivery reports of the first and the last of each topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError

from driftway.worker.kafka.error_handling import Undelivered
from driftway.worker.kafka.interface import Span

Report = Callable[[Any, Any], None]
"""Called by the client with an error or None, and the message."""


@dataclass
class _Tally:
    """Records of one topic: how many were handed over, and where the first and the last one are."""

    count: int = 0
    first: int | None = None
    last: int | None = None


class Reports:
    """The reports of one producer's open transaction. Only marked records are reported: no Python call per message."""

    def __init__(self) -> None:
        self._tallies: dict[str, _Tally] = {}
        self.refusal: tuple[str, KafkaError] | None = None
        """Topic and error of the first record that was not delivered."""

    def mark(self, topic: str, records: list[dict[str, Any]]) -> None:
        """Have the transaction's first record, and the last of these, reported; they are produced in this order."""
        tally = self._tallies.setdefault(topic, _Tally())
        report = partial(self._note, tally)
        if not tally.count:
            records[0]["callback"] = report
        records[-1]["callback"] = report
        tally.count += len(records)

    def one(self, topic: str) -> Report:
        """The callback of a record that is produced by itself."""
        tally = self._tallies.setdefault(topic, _Tally())
        tally.count += 1
        return partial(self._note, tally)

    def spans(self, ends: Mapping[str, int]) -> dict[str, Span]:
        """Where everything is, once nothing is on its way any more.

        Parameters
        ----------
        ends : mapping
            Topic -> offset below which everything was written before this transaction.

        Raises
        ------
        Undelivered
            Something was refused.
        Unproven
            As `Span.proven`.
        """
        if self.refusal is not None:
            raise Undelivered(*self.refusal)
        pairs = self._tallies.items()
        return {topic: Span.proven(topic, t.first, t.last, t.count, ends.get(topic, 0)) for topic, t in pairs}

    def clear(self) -> None:
        """The next transaction's begin, from the same producer."""
        self._tallies.clear()

    def note_refusal(self, error: Any, message: Any) -> None:
        """Take any report; only that of a failure says something."""
        if error is not None and self.refusal is None:
            self.refusal = message.topic(), error

    def _note(self, tally: _Tally, error: Any, message: Any) -> None:
        if error is not None:
            self.note_refusal(error, message)
            return
        tally.last = message.offset()
        if tally.first is None:
            tally.first = tally.last

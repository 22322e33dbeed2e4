"""What a batch holds when a rebalance strikes while the client is collecting it."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Message

from tests.unit.worker.rows import model_settings
from worker.intake import Intake
from worker.journal import Journal
from worker.settings import WorkerSettings


def row(partition: int, offset: int) -> Message:
    return Message(topic="events", partition=partition, offset=offset, value=b"?", key=None, error=None)


class Collecting:
    """Hands over rows 28.. of partition 3 and 5.. of partition 1, and calls back in the middle, as a rebalance does."""

    def __init__(self, intake: Intake, callback: Any) -> None:
        self.intake, self.callback = intake, callback
        self.seeks: list[tuple[int, int]] = []

    def poll(self, wait: float) -> Message:
        return row(3, 28)

    def consume(self, n: int, timeout: float) -> list[Message]:
        rows = [row(3, 29), row(1, 5)]
        self.callback(self.intake)
        return [*rows, row(1, 6)]

    def seek(self, place: Any) -> None:
        self.seeks.append((place.partition, place.offset))

    def resume(self, places: Any) -> None:
        pass


@pytest.mark.parametrize("callback", [lambda intake: None, lambda intake: intake.go_on_at(3, 0)])
def test_rows_collected_before_a_callback_that_goes_back_are_left_out(callback: Any) -> None:
    """Taken for the next rows they would leave a hole: offsets 0..27 of partition 3 would never be predicted."""
    intake = Intake(
        WorkerSettings("127.0.0.1:1", "events", "g", model_settings("no_change")),
        Journal(),
        *[lambda partitions: None] * 3,
    )
    consumer, collecting = intake.consumer, Collecting(intake, callback)
    intake.consumer = collecting  # type: ignore[assignment]
    arrived = {records.partition: records.offsets.tolist() for records in intake.take(0.0)}
    if collecting.seeks:
        assert arrived == {1: [5, 6]}
        assert collecting.seeks[-1] == (3, 0)
    else:
        assert arrived == {1: [5, 6], 3: [28, 29]}
    consumer.close()

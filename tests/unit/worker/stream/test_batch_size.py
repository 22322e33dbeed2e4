"""How many rows a turn of the loop takes."""

from __future__ import annotations

from driftway.worker.kafka.consumer_columns import TURN_MESSAGES
from driftway.worker.stream.consumer.batch_size import FIRST_BATCH, LARGE_BATCH, TURN_SECONDS, BatchSize


def test_batch_sizes_adapt_to_the_learners_speed() -> None:
    """A learner that takes 10 ms a row must not keep the group waiting for 10,000 of them."""
    batch = BatchSize()
    assert batch.rows == FIRST_BATCH
    for _ in range(10):
        batch.adapt(0.2, batch.rows)
    assert LARGE_BATCH <= batch.rows < 2 * LARGE_BATCH, "larger ones only if they are quick"
    for _ in range(2):
        batch.adapt(0.05, batch.rows)
    assert batch.rows == TURN_MESSAGES
    batch.adapt(100.0, 10_000)
    assert batch.rows == TURN_SECONDS * 100
    batch.adapt(TURN_SECONDS, 100)
    assert batch.rows == 100
    batch.adapt(1e6, 1)
    assert batch.rows == 1
    batch.adapt(0.001, 1)
    assert batch.rows == 2

"""Transactions get smaller after one that the broker did not accept in time, and larger again."""

from __future__ import annotations

from driftway.worker.stream.task.committing.transaction_size import LEAST_ROWS, QUICK_SECONDS, TransactionSize


def test_transactions_get_smaller_after_a_late_delivery_until_they_are_fast() -> None:
    size, enough, tries = TransactionSize(), 20_000, 0
    while size.timed_out(30_000):
        tries += 1
    assert tries < 6, "each takes 20 s or more, and the partition is given up after 300 s"
    size.committed(LEAST_ROWS, 2 * QUICK_SECONDS, enough)
    size.committed(LEAST_ROWS - 1, 0.0, enough)
    assert size.max_rows == LEAST_ROWS, "neither a slow commit nor one of few rows shows that more rows are possible"
    while size.max_rows < float("inf"):
        assert size.max_rows < enough
        size.committed(int(size.max_rows), QUICK_SECONDS / 2, enough)


def test_an_outage_while_few_rows_are_written_does_not_shrink_transactions() -> None:
    size = TransactionSize()
    assert not size.timed_out(LEAST_ROWS)
    assert size.max_rows == float("inf")

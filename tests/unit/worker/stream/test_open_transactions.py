"""Which last stable offsets count as held back by an open transaction, since when, and how often that is logged."""

from __future__ import annotations

import io

import pytest

from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.open_transactions import OpenTransactions
from tests.unit.worker.stream.recording_checkpoint import worker_settings


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> tuple[OpenTransactions, Clock, io.StringIO]:
    clock, text = Clock(), io.StringIO()
    transactions = OpenTransactions(worker_settings(), EventLog(out=text), clock)
    monkeypatch.setattr(transactions, "_began", lambda partition, offset: 1000.0)
    return transactions, clock, text


def test_a_transaction_that_stays_open_is_found_and_logged_once_a_minute(
    found: tuple[OpenTransactions, Clock, io.StringIO],
) -> None:
    transactions, clock, text = found
    for clock.now in (100.0, 104.0, 109.0):
        transactions.check({0: 20, 1: 7}, {0: 12, 1: 7})
        assert not transactions.found
    for clock.now in (110.0, 150.0, 171.0):
        transactions.check({0: 25, 1: 7}, {0: 12, 1: 7})
        assert {p: (one.offset, one.waiting, one.began) for p, one in transactions.found.items()} == {
            0: (12, 13, 1000.0)
        }
    assert text.getvalue().count("rows wait behind an open transaction") == 2
    assert transactions.summary()["behind_open_transactions"] == 13
    transactions.check({0: 25, 1: 7}, {0: 25, 1: 7})
    assert not transactions.found
    assert transactions.summary() == {}


def test_successive_transactions_do_not_count_as_one_that_stays_open(
    found: tuple[OpenTransactions, Clock, io.StringIO],
) -> None:
    transactions, clock, text = found
    for second in range(60):
        clock.now = 100.0 + second
        transactions.check({0: 10 + 2 * second}, {0: 9 + 2 * second})
    assert not transactions.found
    assert not text.getvalue()
    transactions.check({0: 200}, {0: 199}, 0.0)
    assert transactions.found[0].waiting == 1, "at the end of the input it counts, however young"


def test_a_partition_without_an_answer_is_not_reported(found: tuple[OpenTransactions, Clock, io.StringIO]) -> None:
    transactions, _, text = found
    transactions.check({}, {0: 5}, 0.0)
    transactions.check({0: 9}, {}, 0.0)
    assert not transactions.found
    assert not text.getvalue()

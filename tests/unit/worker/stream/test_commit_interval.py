"""When commits are due: after the interval, or later while a backlog is read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from driftway.worker.stream.background import commit_interval
from driftway.worker.stream.background.commit_interval import POLL_SECONDS, POSTPONED_SECONDS, CommitInterval
from driftway.worker.stream.task import task as tasks
from driftway.worker.stream.task.task import Task
from tests.unit.worker.rows import events, records
from tests.unit.worker.stream.recording_checkpoint import new_task

ROWS = 100
UNKNOWN = -1001


class Interval:
    """An interval of one partition in which ROWS rows are read, at a time and a log's end that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, commit_interval_seconds: float = 0.1) -> None:
        self.now, self.end, self.asked = 0.0, 0, 0
        for module in (commit_interval, tasks):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))
        self.task: Task = new_task(commit_interval=commit_interval_seconds)[0]
        self.interval = CommitInterval({3: self.task})
        self.interval.begin()
        self.task.advance(records(events(ROWS)))

    def has_passed(self) -> bool:
        return self.interval.has_passed(self)  # type: ignore[arg-type]

    def fetched_end(self, partition: int) -> int:
        assert partition == 3
        self.asked += 1
        return self.end


@pytest.fixture
def one(monkeypatch: pytest.MonkeyPatch) -> Interval:
    return Interval(monkeypatch)


def test_commits_are_due_after_the_interval(one: Interval) -> None:
    one.now = 0.09
    assert not one.has_passed()
    assert one.interval.seconds_left == pytest.approx(0.01)
    one.now = 0.1
    assert one.has_passed()
    assert one.interval.seconds_left == 0.0


def test_a_backlog_of_more_than_a_second_postpones_commits(one: Interval) -> None:
    one.now = 0.1  # 100 rows in a tenth of a second: 1,000 a second
    one.end = ROWS + 1000
    assert one.has_passed(), "the rest takes a second"
    one.end += 1
    assert not one.has_passed()
    assert one.interval.seconds_left == POLL_SECONDS, "the worker must not spin"
    one.now = 0.5  # 200 a second by now
    one.end = ROWS + 200
    assert one.has_passed(), "the backlog was read meanwhile"


def test_commits_are_postponed_for_at_most_a_second(one: Interval) -> None:
    one.now, one.end = POSTPONED_SECONDS - 0.01, 10**9
    assert not one.has_passed()
    one.now = POSTPONED_SECONDS
    assert one.has_passed()
    one.interval.begin()
    assert one.interval.seconds_left == pytest.approx(0.1)


def test_a_transaction_of_many_rows_is_not_postponed(one: Interval, monkeypatch: pytest.MonkeyPatch) -> None:
    one.now, one.end = 0.1, 10**9
    assert commit_interval.POSTPONED_ROWS > 10 * ROWS
    monkeypatch.setattr(commit_interval, "POSTPONED_ROWS", ROWS + 1)
    assert not one.has_passed()
    monkeypatch.setattr(commit_interval, "POSTPONED_ROWS", ROWS)
    assert one.has_passed()


def test_a_transaction_as_large_as_the_broker_accepts_is_not_postponed(one: Interval) -> None:
    one.now, one.end = 0.01, 10**9
    assert one.task.transaction_size.timed_out(10 * ROWS)
    assert one.task.open_rows < one.task.transaction_size.max_rows
    one.now = 0.1
    assert not one.has_passed()
    one.task.transaction_size.max_rows = ROWS
    assert one.has_passed()


def test_without_rows_in_the_interval_nothing_is_postponed(one: Interval) -> None:
    one.interval.begin()
    one.now, one.end = 0.1, 10**9
    assert one.has_passed()


def test_an_unknown_end_postpones_nothing(one: Interval) -> None:
    one.now, one.end = 0.1, UNKNOWN
    assert one.has_passed()


def test_a_long_interval_is_kept_and_the_log_end_not_requested_before(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Interval(monkeypatch, commit_interval_seconds=2.0)
    one.now, one.end = 1.9, 10**9
    assert not one.has_passed()
    one.now = 2.0
    assert one.has_passed()
    assert one.asked == 0


def test_without_partitions_no_commit_is_due() -> None:
    nobody: Any = None
    assert CommitInterval({}).seconds_left == float("inf")
    assert not CommitInterval({}).has_passed(nobody)

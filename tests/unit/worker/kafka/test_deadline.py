"""One time budget for several calls."""

from __future__ import annotations

import pytest

from driftway.worker.kafka import deadline
from driftway.worker.kafka.deadline import Deadline
from tests.support.clock import Clock


def test_calls_share_the_budget_and_never_get_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])
    budget = Deadline(5.0)
    assert (budget.remaining(), budget.passed) == (5.0, False)
    now[0] = 104.5
    assert (budget.remaining(), budget.passed) == (0.5, False)
    now[0] = 105.0
    assert (budget.remaining(), budget.passed) == (0.01, True)
    now[0] = 1e6
    assert (budget.remaining(), budget.passed) == (0.01, True)


def test_an_empty_budget_has_passed() -> None:
    assert Deadline(0).passed
    assert Deadline(-1).remaining() == 0.01


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake_clock = Clock()
    monkeypatch.setattr(deadline, "time", fake_clock)
    return fake_clock


def test_a_call_that_does_not_return_is_overdue_long_before_the_whole_budget(clock: Clock) -> None:
    budget = Deadline(60, per_call=4)
    clock.now += 5.5
    assert not budget.overdue_by(2)  # `remaining` was not called yet: the first call counts from the start
    clock.now += 0.5
    assert budget.overdue_by(2)
    assert budget.remaining() == 4
    clock.now += 5.9
    assert not budget.overdue_by(2)
    clock.now += 0.1
    assert budget.overdue_by(2)
    assert not budget.passed


def test_a_budget_is_extended_only_up_to_its_limit(clock: Clock) -> None:
    strict, longer = Deadline(8), Deadline(8, at_most=20)
    for one in (strict, longer):
        one.extend(100)
    assert (strict.left, longer.left) == (8, 20)
    clock.now += 15
    longer.extend(1)
    assert longer.left == 5, "an extension never takes anything away"
    longer.expire()
    longer.extend(10)
    assert longer.passed

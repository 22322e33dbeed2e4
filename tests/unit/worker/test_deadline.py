"""One budget for several calls."""

from __future__ import annotations

import pytest

from worker import deadline
from worker.deadline import Deadline


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

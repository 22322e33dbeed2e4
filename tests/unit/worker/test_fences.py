"""When a fenced partition counts as ours after all, and when somebody else must be at work."""

from __future__ import annotations

import pytest

from worker import fences
from worker.fences import MOST, MOVING_SECONDS, SUCCESSION_SECONDS, Fences


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(fences, "time", made)
    return made


def test_a_partition_that_does_not_move_is_told_once(clock: Clock) -> None:
    seen = Fences()
    seen.add(1)
    assert seen.stayed() == []
    clock.now += MOVING_SECONDS + 0.1
    assert seen.stayed() == [1]
    assert seen.stayed() == []


def test_a_partition_that_moves_is_not_told(clock: Clock) -> None:
    seen = Fences()
    seen.add(1)
    seen.add(2)
    seen.moved(1)
    clock.now += MOVING_SECONDS + 0.1
    assert seen.stayed() == [2]


@pytest.mark.parametrize(("apart", "too_often"), [(MOVING_SECONDS + 1, True), (SUCCESSION_SECONDS + 1, False)])
def test_only_fences_in_succession_mean_somebody_else(clock: Clock, apart: float, too_often: bool) -> None:
    seen = Fences()
    for _ in range(MOST + 1):
        assert not seen.too_often(1)
        seen.add(1)
        clock.now += apart
    assert seen.too_often(1) is too_often
    seen.moved(1)
    assert not seen.too_often(1)

"""The schedule, on a clock that the test advances."""

from __future__ import annotations

import pytest

from driftway.producers.pacer import SHORTEST_WAIT_SECONDS, Pacer
from tests.support.clock import Clock


def run(pace: Pacer, clock: Clock, rows: int, oversleep: float = 0.0, stall: tuple[int, float] = (-1, 0.0)) -> int:
    """Send `rows` rows, sleeping as asked (and `oversleep` longer); return the number of wake-ups."""
    sent = wakes = 0
    pace.start()
    while sent < rows:
        ready = pace.due(sent, rows - sent)
        if ready:
            sent += ready
            if sent >= stall[0] >= 0:
                clock.now += stall[1]
                stall = (-1, 0.0)
            continue
        wakes += 1
        clock.now += pace.wait(sent, rows - sent) + oversleep
    return wakes


@pytest.mark.parametrize("rate", [0.5, 1, 7, 1000, 10_000, 50_000, 333_333.3])
@pytest.mark.parametrize("oversleep", [0.0, 0.0001, 0.003])
def test_rate_is_kept_however_badly_the_machine_sleeps(rate: float, oversleep: float) -> None:
    clock = Clock(1000.0)
    pace = Pacer(rate, clock)
    rows = max(3, int(rate * 10))
    run(pace, clock, rows, oversleep)
    assert rows / pace.elapsed() == pytest.approx(rate, rel=0.002)


def test_waiting_sleeps_in_slices_without_a_busy_loop() -> None:
    clock = Clock(1000.0)
    wakes = run(Pacer(50_000, clock), clock, 500_000)
    assert wakes <= 10 * 210  # ten seconds of 5 ms slices


def test_after_a_stall_rows_catch_up_and_the_lag_is_recorded() -> None:
    clock = Clock(1000.0)
    pace = Pacer(1000, clock)
    run(pace, clock, 10_000, stall=(3000, 2.0))
    assert pace.elapsed() == pytest.approx(10.0, abs=0.01)
    assert pace.latest == pytest.approx(2.0, abs=0.01)


def test_rows_are_never_sent_ahead_of_the_schedule() -> None:
    clock = Clock(1000.0)
    pace = Pacer(100, clock)
    pace.start()
    assert pace.due(0, 50) == 0
    clock.now += 0.25
    assert pace.due(0, 50) == 25
    assert pace.due(25, 25) == 0
    clock.now += 10
    assert pace.due(25, 25) == 25


def test_the_last_rows_do_not_wait_for_a_full_slice() -> None:
    clock = Clock(1000.0)
    pace = Pacer(10_000, clock)
    pace.start()
    assert pace.wait(0, 2) == pytest.approx(0.0005, abs=SHORTEST_WAIT_SECONDS)
    clock.now += 0.001
    assert pace.due(0, 2) == 2


def test_without_a_rate_everything_is_due() -> None:
    pace = Pacer(None)
    assert pace.due(10, 8192) == 8192
    assert pace.wait(10, 8192) == 0.0

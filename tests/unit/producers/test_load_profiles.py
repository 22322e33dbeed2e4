"""Schedules against their own rates, summed and differentiated by hand; without a clock."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from driftway.producers.event_time import EventTime
from driftway.producers.load_profiles import Schedule, kepler, parse_profile
from driftway.producers.pacer import Pacer
from driftway.producers.streams.stream import Block
from driftway.worker.errors import UsageFailure
from tests.support.clock import Clock
from tests.unit.producers.test_pacer import run

RATES: dict[str, Callable[[float], float]] = {
    "constant:rate=250": lambda t: 250.0,
    "ramp:from=100,to=900,seconds=4": lambda t: 100 + 200 * t if t < 4 else 900,
    "ramp:from=0,to=300,seconds=2": lambda t: 150 * t if t < 2 else 300,
    "ramp:from=800,to=50,seconds=3": lambda t: 800 - 250 * t if t < 3 else 50,
    "ramp:from=70,to=70,seconds=3": lambda t: 70.0,
    "sine:low=100,high=500,period=3": lambda t: 300 - 200 * math.cos(2 * math.pi * t / 3),
    "sine:low=0,high=400,period=5": lambda t: 200 - 200 * math.cos(2 * math.pi * t / 5),
    "sine:low=50,high=50,period=1": lambda t: 50.0,
}
"""What each profile promises, derived from its description."""
PROFILES = [*RATES, "burst:every=0.7,rows=90"]


@pytest.mark.parametrize("text", RATES)
def test_rows_are_the_integral_of_the_rate(text: str) -> None:
    schedule, rate = parse_profile(text), RATES[text]
    assert schedule.rows(0.0) == 0.0
    step, total = 0.001, 0.0
    for k in range(11_000):
        if k % 500 == 250:
            t = k * step
            assert schedule.rows(t) == pytest.approx(total, abs=0.01)
            slope = (schedule.rows(t + 1e-4) - schedule.rows(t - 1e-4)) / 2e-4
            assert slope == pytest.approx(rate(t), abs=0.01)
        total += step * rate((k + 0.5) * step)


@pytest.mark.parametrize("text", PROFILES)
def test_moments_are_the_inverse_of_rows(text: str) -> None:
    schedule = parse_profile(text)
    n = np.arange(1.0, 3001.0)
    moments = schedule.moments(n)
    assert (np.diff(moments) >= 0).all()
    for count, moment in zip(n.tolist(), moments.tolist(), strict=True):
        assert schedule.rows(moment) >= count - 1e-6
        assert moment < 1e-6 or schedule.rows(moment - 1e-6) < count + 1e-9
    assert schedule.moments(n[700:800]) == pytest.approx(moments[700:800], rel=1e-12)


def test_bursts_come_at_the_start_and_periodically() -> None:
    schedule = parse_profile("burst:every=10,rows=5000")
    seen = [schedule.rows(t) for t in (0.0, 9.99, 10.0, 19.99, 20.0)]
    assert seen == [5000, 5000, 10_000, 10_000, 15_000]
    assert schedule.moments(np.array([1.0, 5000.0, 5001.0, 10_000.0, 10_001.0])).tolist() == [0, 0, 10, 10, 20]


@pytest.mark.parametrize("e", [0.0, 0.3, 0.999, 1.0])
def test_keplers_equation_is_solved_everywhere(e: float) -> None:
    mean = np.concatenate([[0.0, 1e-15, 1e-9, 1e-6, math.pi], np.linspace(1e-3, math.pi, 200)])
    angle = kepler(mean, e)
    assert np.abs(angle - e * np.sin(angle) - mean).max() < 1e-14


def test_the_sine_stays_exact_after_days() -> None:
    schedule = parse_profile("sine:low=0,high=5000,period=60")
    n = np.array([1e9, 1e9 + 1.0, 1e9 + 77_777.0])
    assert [schedule.rows(t) for t in schedule.moments(n).tolist()] == pytest.approx(n.tolist(), abs=1e-3)


@pytest.mark.parametrize("text", PROFILES)
@pytest.mark.parametrize("oversleep", [0.0, 0.004])
def test_sending_follows_the_profile_and_is_never_ahead(text: str, oversleep: float) -> None:
    clock, schedule = Clock(), parse_profile(text)
    pace = Pacer(schedule, clock)
    pace.start()
    sent = wakes = 0
    while sent < 1500:
        ready = pace.due(sent, 1500 - sent)
        sent += ready
        assert sent <= schedule.rows(pace.elapsed()) + 1e-3
        if not ready:
            wakes += 1
            clock.now += pace.wait(sent, 1500 - sent) + oversleep
    assert schedule.moments(np.array([1500.0]))[0] == pytest.approx(pace.elapsed(), abs=0.006)
    assert pace.latest <= 0.006 + oversleep
    assert wakes <= 2 + 200 * pace.elapsed()


def test_scheduled_times_are_those_of_the_clock() -> None:
    clock = Clock()
    pace = Pacer(100, clock)
    clock.now += 7.0
    pace.start()
    assert pace.moments(10, 3).tolist() == pytest.approx([107.11, 107.12, 107.13])
    with pytest.raises(ValueError, match="no schedule"):
        Pacer(None).moments(0, 1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("square:rate=1", "--load-profile is one of constant, burst, ramp, sine, got 'square'"),
        ("ramp:from=1,to=2", "--load-profile ramp needs seconds: ramp:from=..,to=..,seconds=.."),
        ("burst", "--load-profile burst needs every, rows: burst:every=..,rows=.."),
        (
            "sine:low=1,high=2,period=3,seed=4",
            "--load-profile sine has no parameter 'seed'; available: low, high, period",
        ),
        ("sine:low=3,high=2,period=3", "--load-profile sine: low must not be above high, got 3 and 2"),
        ("constant:rate=0", "--load-profile constant: rate must be a number of at least 1e-06, got 0"),
        ("ramp:from=1,to=0,seconds=1", "--load-profile ramp: to must be a number of at least 1e-06, got 0"),
        ("burst:every=1,rows=1.5", "--load-profile burst: rows must be a whole number of at least 1, got 1.5"),
        ("burst:every=nan,rows=1", "--load-profile burst: every must be a number of at least 1e-06, got nan"),
        ("burst:every", "'every' in 'burst:every' is not parameter=value"),
    ],
)
def test_a_wrong_profile_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageFailure) as failure:
        parse_profile(text)
    assert str(failure.value) == sentence


def timed(times: list[float], label: bool = False) -> Block:
    column, other = np.array(times), np.zeros(len(times))
    return Block(np.column_stack([other, other if label else column]), column if label else other)


def follow(schedule: EventTime, blocks: list[Block], clock: Clock) -> list[tuple[int, float]]:
    """Return (row, sending time) of a replay on the test's clock."""
    from driftway.producers.streams import open_stream

    stream = open_stream("hyperplane_staged", d=2)
    schedule.bind(stream)
    pace, sent_at, sent = Pacer(schedule, clock), [], 0
    for number, block in enumerate(blocks):
        schedule.read_times(sent, sent, block)
        if number == 0:
            pace.start()
        end = sent + len(block.y)
        while sent < end:
            ready = pace.due(sent, end - sent)
            sent_at += [(row, pace.elapsed()) for row in range(sent, sent + ready)]
            sent += ready
            if not ready:
                clock.now += pace.wait(sent, end - sent)
    return sent_at


@pytest.mark.parametrize("cut", [1, 3, 100])
@pytest.mark.parametrize(("speed", "unit", "scale"), [(1.0, "ms", 1e-3), (60.0, "s", 1.0), (0.5, "us", 1e-6)])
def test_rows_are_sent_at_their_event_times(cut: int, speed: float, unit: str, scale: float) -> None:
    rng = np.random.default_rng(3)
    times = np.round(1e6 + np.cumsum(rng.exponential(0.2, 200)) * speed / scale)
    times[50] = times[20]  # late data: it is sent at once, right after its predecessor
    blocks = [timed(times[at : at + cut].tolist()) for at in range(0, 200, cut)]
    schedule = EventTime("x2", speed, unit)
    sent_at = follow(schedule, blocks, Clock())
    assert [row for row, _ in sent_at] == list(range(200))
    latest = 0.0
    for row, moment in sent_at:
        latest = max(latest, (times[row] - times[0]) * scale / speed)
        assert latest - 1e-5 <= moment <= latest + 0.0056


def test_event_times_are_read_in_whole_milliseconds_from_any_column() -> None:
    schedule = EventTime("y", unit="s")
    from driftway.producers.streams import open_stream

    schedule.bind(open_stream("hyperplane_staged", d=2))
    assert schedule.read_times(0, 0, timed([10.0004, 11.25, 10.5], label=True)) == [10_000, 11_250, 10_500]


@pytest.mark.parametrize("bad", [math.nan, -1.0, math.inf, 2.0**60])
def test_a_row_without_a_usable_time_is_refused_in_one_sentence(bad: float) -> None:
    from driftway.producers.streams import open_stream

    schedule = EventTime("x2")
    with pytest.raises(UsageFailure, match="hyperplane_staged has no column 'z' for --time-column; columns: x1, x2, y"):
        EventTime("z").bind(open_stream("hyperplane_staged", d=2))
    schedule.bind(open_stream("hyperplane_staged", d=2))
    with pytest.raises(UsageFailure, match="row 1001 has no usable time in 'x2'"):
        schedule.read_times(0, 1000, timed([1.0, bad]))


def test_a_profile_that_is_a_number_is_a_constant_rate() -> None:
    clock = Clock()
    pace = Pacer(100, clock)
    assert isinstance(pace.schedule, Schedule)
    run(pace, clock, 1000)
    assert pace.elapsed() == pytest.approx(10.0, abs=0.01)

"""When a partition in trouble may try again, when it is given up, and when somebody outside must be at work."""

from __future__ import annotations

import pytest

from driftway.worker.errors import Failure, Fenced, Unreachable
from driftway.worker.kafka.error_handling import Verdict
from driftway.worker.stream.task import retries
from driftway.worker.stream.task.retries import (
    FEWEST,
    LONGEST_PAUSE_SECONDS,
    MOST_FENCES,
    MOVING_SECONDS,
    SUCCESSION_SECONDS,
    Setbacks,
)
from tests.support.clock import Clock

GIVE_UP = 60.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(retries, "time", made)
    return made


def pauses(seen: Setbacks, clock: Clock, failures: int, verdict: Verdict = Verdict.ABORT) -> list[float]:
    """Seconds until partition 1 is ready again, after each of so many failures in succession."""
    found = []
    for _ in range(failures):
        seen.add(1, verdict, "x")
        began = clock.now
        while not seen.ready():
            clock.now += 0.001
        found.append(clock.now - began)
    return found


def test_the_first_try_is_at_once_and_later_ones_ever_later_up_to_a_bound(clock: Clock) -> None:
    seen = Setbacks(1e9)
    longest = LONGEST_PAUSE_SECONDS
    assert pauses(seen, clock, 8) == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.8, 1.6, longest, longest], abs=0.002)
    seen.succeeded(1)
    assert pauses(seen, clock, 2) == pytest.approx([0.0, 0.1], abs=0.002)


def test_ready_is_told_once_and_for_each_partition(clock: Clock) -> None:
    seen = Setbacks(GIVE_UP)
    seen.add(1, Verdict.ABORT, "x")
    seen.add(2, Verdict.FENCED, "x")
    assert seen.ready() == [1]
    assert seen.ready() == []
    clock.now += MOVING_SECONDS
    assert seen.ready() == [2]


def test_a_partition_that_moves_is_not_told(clock: Clock) -> None:
    seen = Setbacks(GIVE_UP)
    seen.add(1, Verdict.FENCED, "x")
    seen.moved(1)
    clock.now += 2 * MOVING_SECONDS
    assert seen.ready() == []


@pytest.mark.parametrize(
    ("verdict", "kind"), [(Verdict.UNKNOWN, Unreachable), (Verdict.ABORT, Failure), (Verdict.RETRY, Failure)]
)
def test_who_fails_without_end_is_given_up_with_what_failed(
    clock: Clock, verdict: Verdict, kind: type[Failure]
) -> None:
    seen = Setbacks(GIVE_UP)
    for _ in range(FEWEST):
        seen.add(1, verdict, "EVENTS/1: no")
    clock.now += GIVE_UP
    with pytest.raises(kind) as caught:
        seen.add(1, verdict, "EVENTS/1: no")
    assert type(caught.value) is kind
    assert str(caught.value) == "nothing has succeeded for 60 s, 4 times in succession: EVENTS/1: no"


@pytest.mark.parametrize(
    ("verdicts", "kind", "said"),
    [
        ((Verdict.ABORT, Verdict.ABORT, Verdict.UNKNOWN), Failure, "no abort"),
        ((Verdict.ABORT, Verdict.UNKNOWN, Verdict.UNKNOWN), Unreachable, "no unknown"),
        ((Verdict.UNKNOWN, Verdict.UNKNOWN, Verdict.UNKNOWN, Verdict.ABORT), Unreachable, "no unknown"),
        ((Verdict.UNKNOWN, Verdict.ABORT, Verdict.UNKNOWN, Verdict.RETRY), Failure, "no retry"),
    ],
)
def test_what_failed_most_is_what_it_is_given_up_for(
    clock: Clock, verdicts: tuple[Verdict, ...], kind: type[Failure], said: str
) -> None:
    seen = Setbacks(GIVE_UP)
    for verdict in verdicts[:-1]:
        seen.add(1, verdict, f"no {verdict.name.lower()}")
    clock.now += GIVE_UP
    with pytest.raises(kind, match=said) as caught:
        seen.add(1, verdicts[-1], f"no {verdicts[-1].name.lower()}")
    assert type(caught.value) is kind


def test_few_failures_are_no_reason_however_long_they_took(clock: Clock) -> None:
    seen = Setbacks(GIVE_UP)
    for _ in range(FEWEST - 1):
        seen.add(1, Verdict.UNKNOWN, "x")
        clock.now += GIVE_UP


def test_a_success_between_makes_them_other_failures(clock: Clock) -> None:
    seen = Setbacks(GIVE_UP)
    for _ in range(10 * FEWEST):
        seen.add(1, Verdict.ABORT, "x")
        clock.now += GIVE_UP / 2
        seen.succeeded(1)


def test_a_restore_has_the_time_that_is_left_and_never_none(clock: Clock) -> None:
    seen = Setbacks(GIVE_UP)
    assert seen.patience(1) == GIVE_UP
    seen.add(1, Verdict.ABORT, "x")
    clock.now += 20
    assert seen.patience(1) == pytest.approx(GIVE_UP - 20)
    clock.now += 100
    assert seen.patience(1) == GIVE_UP / 4


@pytest.mark.parametrize(("apart", "too_often"), [(MOVING_SECONDS + 1, True), (SUCCESSION_SECONDS + 1, False)])
def test_only_fences_in_succession_mean_somebody_else_even_if_commits_succeed_between(
    clock: Clock, apart: float, too_often: bool
) -> None:
    seen = Setbacks(1e9)

    def fence() -> None:
        seen.add(1, Verdict.FENCED, "EVENTS/1: fenced")
        seen.succeeded(1)
        clock.now += apart

    for _ in range(MOST_FENCES):
        fence()
    if too_often:
        with pytest.raises(Fenced, match="for the 6th time in succession, by somebody who is not in the group"):
            fence()
    else:
        fence()
    seen.moved(1)
    fence()

"""When a failing partition may retry, when it is given up, and when fences mean a producer outside the group."""

from __future__ import annotations

import pytest

from driftway.worker.errors import Failure, Fenced, Unreachable
from driftway.worker.kafka.error_handling import ErrorAction
from driftway.worker.stream.task import retries
from driftway.worker.stream.task.retries import (
    FENCE_WINDOW_SECONDS,
    FENCED_PAUSE_SECONDS,
    MAX_FENCES,
    MAX_PAUSE_SECONDS,
    MIN_FAILURES,
    RetryPolicy,
)
from tests.support.clock import Clock

GIVE_UP = 60.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(retries, "time", made)
    return made


def pauses(seen: RetryPolicy, clock: Clock, failures: int, action: ErrorAction = ErrorAction.ABORT) -> list[float]:
    """Return the seconds until partition 1 is due again after each of `failures` failures in succession."""
    found = []
    for _ in range(failures):
        seen.record_failure(1, action, "x")
        began = clock.now
        while not seen.due():
            clock.now += 0.001
        found.append(clock.now - began)
    return found


def test_the_first_retry_is_immediate_and_later_ones_back_off_up_to_a_bound(clock: Clock) -> None:
    seen = RetryPolicy(1e9)
    longest = MAX_PAUSE_SECONDS
    assert pauses(seen, clock, 8) == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.8, 1.6, longest, longest], abs=0.002)
    seen.succeeded(1)
    assert pauses(seen, clock, 2) == pytest.approx([0.0, 0.1], abs=0.002)


def test_a_due_retry_is_reported_once_per_partition(clock: Clock) -> None:
    seen = RetryPolicy(GIVE_UP)
    seen.record_failure(1, ErrorAction.ABORT, "x")
    seen.record_failure(2, ErrorAction.FENCED, "x")
    assert seen.due() == [1]
    assert seen.due() == []
    clock.now += FENCED_PAUSE_SECONDS
    assert seen.due() == [2]


def test_a_partition_that_moves_is_not_retried(clock: Clock) -> None:
    seen = RetryPolicy(GIVE_UP)
    seen.record_failure(1, ErrorAction.FENCED, "x")
    seen.reset(1)
    clock.now += 2 * FENCED_PAUSE_SECONDS
    assert seen.due() == []


@pytest.mark.parametrize(
    ("action", "kind"),
    [(ErrorAction.UNKNOWN, Unreachable), (ErrorAction.ABORT, Failure), (ErrorAction.RETRY, Failure)],
)
def test_a_partition_that_keeps_failing_is_given_up_with_the_reason(
    clock: Clock, action: ErrorAction, kind: type[Failure]
) -> None:
    seen = RetryPolicy(GIVE_UP)
    for _ in range(MIN_FAILURES):
        seen.record_failure(1, action, "EVENTS/1: no")
    clock.now += GIVE_UP
    with pytest.raises(kind) as caught:
        seen.record_failure(1, action, "EVENTS/1: no")
    assert type(caught.value) is kind
    assert str(caught.value) == "nothing has succeeded for 60 s, 4 times in a row: EVENTS/1: no"


@pytest.mark.parametrize(
    ("actions", "kind", "said"),
    [
        ((ErrorAction.ABORT, ErrorAction.ABORT, ErrorAction.UNKNOWN), Failure, "no abort"),
        ((ErrorAction.ABORT, ErrorAction.UNKNOWN, ErrorAction.UNKNOWN), Unreachable, "no unknown"),
        ((ErrorAction.UNKNOWN, ErrorAction.UNKNOWN, ErrorAction.UNKNOWN, ErrorAction.ABORT), Unreachable, "no unknown"),
        ((ErrorAction.UNKNOWN, ErrorAction.ABORT, ErrorAction.UNKNOWN, ErrorAction.RETRY), Failure, "no retry"),
    ],
)
def test_the_most_frequent_failure_is_the_reason_for_giving_up(
    clock: Clock, actions: tuple[ErrorAction, ...], kind: type[Failure], said: str
) -> None:
    seen = RetryPolicy(GIVE_UP)
    for action in actions[:-1]:
        seen.record_failure(1, action, f"no {action.name.lower()}")
    clock.now += GIVE_UP
    with pytest.raises(kind, match=said) as caught:
        seen.record_failure(1, actions[-1], f"no {actions[-1].name.lower()}")
    assert type(caught.value) is kind


def test_few_failures_are_not_given_up_however_long_they_took(clock: Clock) -> None:
    seen = RetryPolicy(GIVE_UP)
    for _ in range(MIN_FAILURES - 1):
        seen.record_failure(1, ErrorAction.UNKNOWN, "x")
        clock.now += GIVE_UP
        assert seen.due() == [1]


def test_a_success_resets_the_failures(clock: Clock) -> None:
    seen = RetryPolicy(GIVE_UP)
    for _ in range(10 * MIN_FAILURES):
        seen.record_failure(1, ErrorAction.ABORT, "x")
        clock.now += GIVE_UP / 2
        seen.succeeded(1)
        assert seen.due() == []


def test_a_restore_gets_the_remaining_time_and_never_zero(clock: Clock) -> None:
    seen = RetryPolicy(GIVE_UP)
    assert seen.restore_timeout(1) == GIVE_UP
    seen.record_failure(1, ErrorAction.ABORT, "x")
    clock.now += 20
    assert seen.restore_timeout(1) == pytest.approx(GIVE_UP - 20)
    clock.now += 100
    assert seen.restore_timeout(1) == GIVE_UP / 4


@pytest.mark.parametrize(("apart", "too_often"), [(FENCED_PAUSE_SECONDS + 1, True), (FENCE_WINDOW_SECONDS + 1, False)])
def test_only_successive_fences_mean_another_producer_even_with_commits_between(
    clock: Clock, apart: float, too_often: bool
) -> None:
    seen = RetryPolicy(1e9)

    def fence() -> None:
        seen.record_failure(1, ErrorAction.FENCED, "EVENTS/1: fenced")
        seen.succeeded(1)
        clock.now += apart

    for _ in range(MAX_FENCES):
        fence()
    if too_often:
        with pytest.raises(Fenced, match="6th time in a row, by somebody outside the group: end the program "):
            fence()
    else:
        fence()
    seen.reset(1)
    fence()

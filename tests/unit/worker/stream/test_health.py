"""When a worker counts as alive, and what is said of a cluster that is silent and of a loop that hangs."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.observability.client_errors import Complaints
from driftway.worker.stream.observability.event_log import Journal
from driftway.worker.stream.observability.health import STUCK_SECONDS, UNCOMMITTED_SECONDS, Pulse
from tests.unit.worker.rows import model_settings


class Watched:
    """A pulse with a clock of its own."""

    def __init__(self) -> None:
        self.now, self.out = 100.0, io.StringIO()
        settings = WorkerSettings("h:1", "EVENTS", "g", model_settings("pa1"), commit_interval=1.0, give_up_after=60)
        self.journal = Journal(out=self.out)
        self.pulse = Pulse(settings, self.journal, list, lambda: self.now)

    def lines(self) -> list[str]:
        text = self.out.getvalue()
        self.out.truncate(0)
        self.out.seek(0)
        return [line.partition(" ")[2] for line in text.splitlines()]


def test_outage_is_said_at_once_and_every_ten_seconds_and_its_end() -> None:
    watched = Watched()
    pulse = watched.pulse
    assert pulse.reachable
    pulse.silent("gone")
    assert not pulse.reachable
    wanted = "the cluster does not answer, asking again bootstrap=h:1 seconds={} gives_up_after=60 error=gone"
    assert watched.lines() == [wanted.format(0)]
    for _ in range(5):
        watched.now += 5
        pulse.silent("gone")
    assert watched.lines() == [wanted.format(10), wanted.format(20)]
    pulse.answered()
    assert pulse.reachable
    assert watched.lines() == ["the cluster answers again seconds=25"]
    pulse.answered()
    assert watched.lines() == []


def test_loop_that_hangs_is_not_alive_and_its_stacks_are_written_once(capfd: pytest.CaptureFixture[str]) -> None:
    watched = Watched()
    watched.now += STUCK_SECONDS
    watched.pulse.look_at_loop()
    assert watched.pulse.alive
    watched.now += 1
    for _ in range(3):
        watched.pulse.look_at_loop()
    assert not watched.pulse.alive
    assert watched.lines() == ["the loop does not turn, stacks of all threads follow seconds=31"]
    watched.pulse.beat(settled=True)
    assert watched.pulse.alive


def test_outputs_that_wait_for_a_commit_for_too_long_are_no_life_but_in_an_outage() -> None:
    watched = Watched()
    pulse = watched.pulse
    for _ in range(int(UNCOMMITTED_SECONDS) + 2):
        watched.now += 1
        assert pulse.alive == (pulse.unsettled <= UNCOMMITTED_SECONDS + 1)
        pulse.beat(settled=False)
    assert not pulse.alive
    pulse.silent("gone")
    assert pulse.alive, "that is the cluster's fault"
    pulse.answered()
    pulse.beat(settled=True)
    assert pulse.alive


def test_complaints_are_counted_and_the_log_has_one_line_of_a_kind_every_ten_seconds() -> None:
    watched, counted, slowed = Watched(), [], []
    complaints = Complaints(watched.journal, counted.append, lambda: slowed.append(1), lambda: watched.now)
    lost: Any = SimpleNamespace(name=lambda: "_TRANSPORT", str=lambda: "connection refused")
    untrusted: Any = SimpleNamespace(name=lambda: "_SSL", str=lambda: "certificate verify failed")
    for _ in range(4):
        complaints.error(lost)
        complaints.error(untrusted)
    assert counted == 4 * ["_TRANSPORT", "_SSL"]
    assert watched.lines() == [
        "client error kind=_TRANSPORT error=connection refused",
        "client error kind=_SSL error=certificate verify failed",
    ]
    watched.now += 10
    complaints.error(lost)
    assert watched.lines() == ["client error kind=_TRANSPORT error=connection refused more_since_the_last_line=3"]
    complaints.throttled(SimpleNamespace(broker_name="b/1", throttle_time=0.25))
    assert len(slowed) == 1
    assert watched.lines() == ["throttled kind=throttled error=broker b/1 for 0.2 s"]

"""When a worker checks its group: soon after a change if it has no partitions, else later, then less and less often."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import pytest

from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.consumer import assignment_watchdog
from driftway.worker.stream.consumer.assignment_watchdog import AssignmentWatchdog
from driftway.worker.stream.observability.event_log import EventLog
from tests.support.kafka import await_until
from tests.unit.worker.rows import model_settings


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Times of the checks, with all intervals about a hundred times as short."""
    found: list[float] = []
    for name, seconds in (("IDLE", 0.03), ("BUSY", 0.3), ("MAX", 0.12), ("TICK", 0.001)):
        monkeypatch.setattr(assignment_watchdog, f"{name}_SECONDS", seconds)
    monkeypatch.setattr(assignment_watchdog, "run_in_processes", lambda *_: found.append(time.monotonic()))
    return found


def begun(busy: bool) -> AssignmentWatchdog:
    settings = WorkerSettings(
        "127.0.0.1:1", "events", "g", model_settings("no_change"), passthrough={"group.protocol": "consumer"}
    )
    one = AssignmentWatchdog(settings, EventLog(), lambda: busy)
    one.begin()
    return one


def test_checks_become_less_frequent_until_something_changes(looks: list[float]) -> None:
    one = begun(busy=False)
    await_until(lambda: len(looks) >= 5, 20, "five looks")
    gaps = [b - a for a, b in itertools.pairwise(looks)]
    assert gaps[0] >= 0.03
    assert gaps[1] >= 0.05
    assert min(gaps[2:]) >= 0.1
    one.reset()
    changed, before = time.monotonic(), len(looks)
    await_until(lambda: len(looks) > before + 1, 20, "another two")
    one.end()
    assert looks[before + 1] - changed < 20
    await_until(
        lambda: not any(t.name == "assignment-watchdog" and t.is_alive() for t in threading.enumerate()), 20, "the end"
    )


def test_a_member_with_partitions_checks_later(looks: list[float]) -> None:
    started = time.monotonic()
    one = begun(busy=True)
    await_until(lambda: looks, 20, "a look")
    one.end()
    assert looks[0] - started >= 0.12


def test_a_temporary_member_has_the_clients_properties_but_not_the_members_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(assignment_watchdog, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(assignment_watchdog, "run_in_processes", lambda *given: calls.append(given))
    model, properties = (
        model_settings("no_change"),
        {"sasl.password": "p", "group.instance.id": "one", "group.protocol": "consumer"},
    )
    one = AssignmentWatchdog(
        WorkerSettings("127.0.0.1:1", "events", "g", model, passthrough=properties), EventLog(), lambda: False
    )
    one.begin()
    await_until(lambda: calls, 20, "a look")
    one.end()
    (group,) = calls[0][1]
    assert (group.topic, group.name, group.log_format) == ("events", "g", "text")
    assert group.properties["sasl.password"] == "p"
    assert "group.instance.id" not in group.properties, "a passer-by under a member's name would put it out"

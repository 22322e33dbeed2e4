"""When a worker counts as alive, and what is logged about a cluster that does not answer and a loop that hangs."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import certifi
import pytest
from confluent_kafka import KafkaError

from driftway.worker.errors import Unreachable
from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.observability import health
from driftway.worker.stream.observability.client_errors import ClientErrors
from driftway.worker.stream.observability.event_log import JSON, TEXT, EventLog
from driftway.worker.stream.observability.health import (
    JOINING,
    OUTSIDE_SECONDS,
    RUNNING,
    STARTING,
    STUCK_SECONDS,
    UNCOMMITTED_SECONDS,
    HealthMonitor,
)
from driftway.worker.stream.task.lifecycle import State
from tests.support.kafka import await_until
from tests.unit.worker.rows import model_settings


class MonitorWithClock:
    """A `HealthMonitor` with its own clock."""

    def __init__(self, form: str = TEXT) -> None:
        self.now, self.out = 100.0, io.StringIO()
        settings = WorkerSettings(
            "h:1", "EVENTS", "g", model_settings("pa1"), commit_interval=1.0, unavailable_timeout=60
        )
        self.event_log = EventLog(form, self.out)
        self.health = HealthMonitor(settings, self.event_log, dict, lambda: self.now)
        self.health.phase = RUNNING

    def lines(self) -> list[str]:
        text = self.out.getvalue()
        self.out.truncate(0)
        self.out.seek(0)
        return [line.partition(" ")[2] for line in text.splitlines()]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (KafkaError._AUTHENTICATION, "SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism"),
        (KafkaError._SSL, "certificate verify failed"),
        (KafkaError._TRANSPORT, "Receive failed: SSL routines::ssl/tls alert certificate unknown"),
    ],
    ids=["login", "broker's certificate", "client's certificate"],
)
def test_an_outage_is_logged_with_the_reason_if_a_broker_has_just_refused_the_login(code: int, reason: str) -> None:
    watched = MonitorWithClock()
    watched.health.record_client_error(KafkaError(code, reason))
    watched.health.record_client_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    watched.health.record_unreachable("timed out")
    assert watched.lines()[0].endswith(f" error=timed out; {reason}")
    assert watched.health.with_refusal(reason) == reason
    watched.now += 61
    with pytest.raises(Unreachable, match=r"--unavailable-timeout\)$"):
        watched.health.require_reachable()


def test_an_outage_is_logged_at_once_then_every_ten_seconds_and_at_its_end() -> None:
    watched = MonitorWithClock()
    health = watched.health
    assert health.reachable
    health.record_unreachable("gone")
    assert not health.reachable
    expected = "the cluster does not answer, asking again bootstrap=h:1 seconds={} unavailable_timeout=60 error=gone"
    assert watched.lines() == [expected.format(0)]
    for _ in range(5):
        watched.now += 5
        health.record_unreachable("gone")
    assert watched.lines() == [expected.format(10), expected.format(20)]
    health.record_reachable()
    assert health.reachable
    assert watched.lines() == ["the cluster answers again seconds=25"]
    health.record_reachable()
    assert watched.lines() == []


def test_a_member_outside_its_group_soon_counts_as_not_alive() -> None:
    watched = MonitorWithClock()
    health = watched.health
    health.record_membership(joined=False)
    watched.now += OUTSIDE_SECONDS
    health.heartbeat(committed=True)
    assert health.alive
    watched.now += 1
    assert not health.alive
    health.record_membership(joined=True)
    assert health.alive


def test_time_outside_the_group_counts_from_the_end_of_an_outage() -> None:
    watched = MonitorWithClock()
    health = watched.health
    health.record_membership(joined=False)
    health.record_unreachable("gone")
    watched.now += 2 * OUTSIDE_SECONDS
    health.heartbeat(committed=True)
    health.record_membership(joined=False)
    health.record_reachable()
    health.record_membership(joined=False)
    assert health.alive
    watched.now += OUTSIDE_SECONDS + 1
    health.heartbeat(committed=True)
    assert not health.alive


def test_partitions_without_a_leader_are_an_outage_although_brokers_answer() -> None:
    watched = MonitorWithClock()
    watched.health.ends_error = "no leader"
    watched.health.record_answer()
    assert not watched.health.reachable
    watched.health.ends_error = None
    watched.health.record_answer()
    assert watched.health.reachable


def test_a_broker_that_leaves_is_detected_each_time() -> None:
    watched = MonitorWithClock()
    health = watched.health
    for brokers in ([1, 2, 3], [1, 2, 3, 4]):
        health.record_brokers(brokers)
        assert health.broker_left_at == float("-inf")
    for brokers in ([1, 2, 4], [1, 2, 3, 4], [1, 3, 4]):
        watched.now += 1
        health.record_brokers(brokers)
        assert (health.broker_left_at == watched.now) == (len(brokers) == 3)


def test_a_hanging_loop_is_not_alive_and_its_stacks_are_logged_once(capfd: pytest.CaptureFixture[str]) -> None:
    watched = MonitorWithClock()
    watched.now += STUCK_SECONDS
    watched.health.check_loop()
    assert watched.health.alive
    watched.now += 1
    for _ in range(3):
        watched.health.check_loop()
    assert not watched.health.alive
    assert watched.lines() == ["the loop is stuck, stacks of all threads follow seconds=31"]
    watched.health.heartbeat(committed=True)
    assert watched.health.alive


def test_stacks_of_a_hanging_loop_are_one_object_in_json(capfd: pytest.CaptureFixture[str]) -> None:
    watched = MonitorWithClock(JSON)
    watched.now += STUCK_SECONDS + 1
    watched.health.check_loop()
    line = json.loads(watched.out.getvalue())
    assert (line["event"], line["level"], line["seconds"]) == ("the loop is stuck", "error", 31)
    assert any(call.endswith(" check_loop") for call in line["stacks"]["MainThread"])
    assert capfd.readouterr().err == "", "nothing beside the log"


def test_a_worker_whose_outputs_wait_too_long_is_alive_only_in_an_outage() -> None:
    watched = MonitorWithClock()
    health = watched.health
    for _ in range(int(UNCOMMITTED_SECONDS) + 2):
        watched.now += 1
        assert health.alive == (health.uncommitted_seconds <= UNCOMMITTED_SECONDS + 1)
        health.heartbeat(committed=False)
    assert not health.alive
    health.record_unreachable("gone")
    assert health.alive, "that is the cluster's fault"
    health.record_reachable()
    health.heartbeat(committed=True)
    assert health.alive


def test_client_errors_are_counted_and_logged_once_per_kind_every_ten_seconds() -> None:
    watched, counted, slowed = MonitorWithClock(), [], []
    complaints = ClientErrors(watched.event_log, counted.append, lambda: slowed.append(1), lambda: watched.now)
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


def test_a_late_answer_about_logs_is_no_outage_while_a_broker_throttles_the_client() -> None:
    watched = MonitorWithClock()
    watched.health.record_throttled(10.0)
    for seconds, reachable in ((0, True), (9, True), (3, True), (2, False)):
        watched.now += seconds
        watched.health._record_logs_answer("timed out")
        watched.health.record_answer()
        assert watched.health.reachable == reachable
    watched.health.record_throttled(1.0)
    watched.health._record_logs_answer("timed out")
    watched.health.record_answer()
    assert watched.health.reachable


def test_a_client_that_cannot_open_files_counts_as_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = MonitorWithClock()
    monkeypatch.setattr(health, "file_shortage", lambda: "this process cannot open more files")
    watched.health.record_answer()
    assert watched.health.reachable, "few files are left, but nobody needs more"
    sentence = "h:1/bootstrap: Failed to create socket: Too many open files (after 0ms)"
    watched.health.record_client_error(KafkaError(KafkaError._TRANSPORT, sentence))
    watched.health.record_answer()
    assert not watched.health.reachable
    assert watched.lines()[0].endswith("error=this process cannot open more files")
    watched.now += health.SHORTAGE_SECONDS
    watched.health.record_answer()
    assert watched.health.reachable


def test_monitoring_continues_if_a_client_cannot_be_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As while certificates are replaced during an outage: both threads try again later."""
    for name in ("CHECK_SECONDS", "ENDS_SECONDS", "ANSWER_SECONDS", "REPEAT_SECONDS"):
        monkeypatch.setattr(health, name, 0.1)
    authority, out = tmp_path / "ca.pem", io.StringIO()
    secured = {"security.protocol": "ssl", "ssl.ca.location": str(authority)}
    settings = WorkerSettings("127.0.0.1:1", "EVENTS", "g", model_settings("pa1"), passthrough=secured)
    monitor = HealthMonitor(settings, EventLog(TEXT, out), lambda: {0: 0})
    monitor.begin()
    await_until(lambda: "ssl.ca.location" in out.getvalue(), 20, "the outage is logged")
    await_until(lambda: "ssl.ca.location" in (monitor.ends_error or ""), 20, "the ends are not known")
    shutil.copy(certifi.where(), authority)
    await_until(lambda: "ssl.ca.location" not in out.getvalue().splitlines()[-1], 20, "the cluster is asked again")
    await_until(lambda: "ssl.ca.location" not in (monitor.ends_error or ""), 20, "the ends are asked for again")
    assert not monitor.reachable
    monitor.end()


@pytest.mark.parametrize(
    ("states", "ready", "standby"),
    [
        ([], True, True),
        ([State.RUNNING], True, False),
        ([State.RUNNING, State.RUNNING], True, False),
        ([State.CREATED], False, False),
        ([State.RUNNING, State.RESTORING], False, False),
        ([State.RUNNING, State.CLOSED], False, False),
    ],
)
def test_a_worker_is_ready_if_every_assigned_task_runs(states: list[State], ready: bool, standby: bool) -> None:
    health = MonitorWithClock().health
    health.phase = RUNNING
    tasks: Any = [SimpleNamespace(partition=i, state=state) for i, state in enumerate(states)]
    found, facts = health.readiness(tasks)
    assert found is ready
    by_partition = {str(i): s.value for i, s in enumerate(states)}
    expected = {"ready": ready, "state": "running", "standby": standby, "cluster": "answers", "tasks": by_partition}
    assert facts == expected
    health.record_unreachable("gone")
    assert health.readiness(tasks) == (False, facts | {"ready": False, "cluster": "silent"})


def test_a_starting_worker_is_alive_and_not_ready_without_an_assignment() -> None:
    watched = MonitorWithClock()
    health = watched.health
    health.phase = STARTING
    watched.now += 10 * STUCK_SECONDS
    assert health.alive
    for phase in (STARTING, JOINING):
        health.phase = phase
        assert health.readiness([]) == (
            False, {"ready": False, "state": phase, "standby": False, "cluster": "answers", "tasks": {}},
        )  # fmt: skip
    assert not health.alive
    health.begin()
    health.end()
    assert health.alive


def test_a_worker_that_leaves_is_not_ready_though_it_has_no_partition() -> None:
    health = MonitorWithClock().health
    health.phase = RUNNING
    assert health.readiness([])[0], "a standby"
    health.end()
    assert health.readiness([]) == (
        False, {"ready": False, "state": "leaving", "standby": False, "cluster": "answers", "tasks": {}},
    )  # fmt: skip
    assert health.alive

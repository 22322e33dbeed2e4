"""A worker under a service manager reports when it has joined the group, that it is alive, and when it stops."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until
from tests.support.process import Driftway


def test_a_worker_notifies_the_service_manager_when_it_joins_runs_and_stops(kafka: str, tmp_path: Path) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=100)
    scenario.fill()
    notifications: list[str] = []
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as place:
        place.bind(address)
        place.settimeout(0.05)

        def receive() -> list[str]:
            with contextlib.suppress(TimeoutError):
                notifications.append(place.recv(4096).decode().splitlines()[0])
            return notifications

        environ = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "400000"}
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup the signal would stay ignored
        with Driftway(*scenario.worker(), env=environ) as worker:
            signal.signal(signal.SIGHUP, before)
            await_until(lambda: "subscribed" in worker.stderr, 60, "the worker joins")
            assert "READY=1" not in receive() or "assigned" in worker.stderr
            await_until(lambda: receive().count("WATCHDOG=1") >= 3, 60, "the watchdog is notified")
            await_until(lambda: "READY=1" in receive(), 60, "it reports that it is ready")
            worker.process.send_signal(signal.SIGHUP)  # as when its terminal closes
            assert worker.wait() == 0, worker.summary()
            await_until(lambda: "STOPPING=1" in receive(), 10, "it reports that it stops")
    assert notifications.count("READY=1") == notifications.count("STOPPING=1") == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_stopped_while_it_imports_its_modules_exits_with_0(kafka: str, number: int) -> None:
    """A second signal ends it at once, with that signal's code."""
    scenario = FaultScenario(kafka, partitions=1, rows=1)
    begun = "driftway.worker.stream.observability.event_log"  # what it imports first
    for signals, codes in ((1, (0,)), (2, (0, 128 + number))):
        argv = [sys.executable, "-X", "importtime", "-m", "driftway", *scenario.worker()]
        with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as worker:
            assert worker.stderr is not None
            assert any(begun in line for line in worker.stderr)
            for _ in range(signals):
                worker.send_signal(number)
            rest = worker.stderr.read()
            assert worker.wait(60) in codes, rest[-1000:]
            assert "Traceback" not in rest

"""A worker under a service manager: ready once the group has taken it in, alive while it works, and stopping."""

from __future__ import annotations

import contextlib
import signal
import socket
from pathlib import Path

from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until
from tests.support.process import Driftway


def test_the_manager_is_told_when_the_worker_has_joined_lives_and_leaves(kafka: str, tmp_path: Path) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=100)
    scenario.fill()
    notifications: list[str] = []
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as place:
        place.bind(address)
        place.settimeout(0.05)

        def hear() -> list[str]:
            with contextlib.suppress(TimeoutError):
                notifications.append(place.recv(4096).decode().splitlines()[0])
            return notifications

        environ = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "400000"}
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would stay ignored
        with Driftway(*scenario.worker(), env=environ) as worker:
            signal.signal(signal.SIGHUP, before)
            await_until(lambda: "subscribed" in worker.stderr, 60, "the worker asks to join")
            assert "READY=1" not in hear() or "assigned" in worker.stderr
            await_until(lambda: hear().count("WATCHDOG=1") >= 3, 60, "the watchdog is fed")
            await_until(lambda: "READY=1" in hear(), 60, "it says that it is ready")
            worker.process.send_signal(signal.SIGHUP)  # as when its terminal closes
            assert worker.wait() == 0, worker.summary()
            await_until(lambda: "STOPPING=1" in hear(), 10, "it says that it leaves")
    assert notifications.count("READY=1") == notifications.count("STOPPING=1") == 1

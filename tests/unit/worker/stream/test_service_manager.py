"""Notifications from a worker to systemd, received by a real datagram socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftway.worker.stream.observability.service_manager import PINGS, ServiceManager

INTERVAL = 60.0


class Manager:
    """The receiving end, as in a service manager."""

    def __init__(self, address: str) -> None:
        self.place = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.place.bind(address)
        self.place.setblocking(False)

    def received(self) -> list[str]:
        """Return all messages that have arrived."""
        messages = []
        while True:
            try:
                messages.append(self.place.recv(4096).decode())
            except BlockingIOError:
                return messages


@pytest.fixture(params=["file", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Manager, dict[str, str]]]:
    name = f"driftway-test-{os.getpid()}"
    address, shown = (f"\0{name}", f"@{name}") if request.param == "abstract" else (str(tmp_path / "s"),) * 2
    found = Manager(address)
    yield found, {"NOTIFY_SOCKET": shown, "WATCHDOG_USEC": str(int(INTERVAL * 1e6))}
    found.place.close()


def test_the_manager_is_notified_of_the_first_join_and_of_the_end(manager: tuple[Manager, dict[str, str]]) -> None:
    heard, environ = manager
    worker = ServiceManager(environ)
    assert heard.received() == []
    worker.joined()
    worker.joined()  # a later rebalance
    worker.leaving()
    assert [message.splitlines()[0] for message in heard.received()] == ["READY=1", "STOPPING=1"]


def test_only_a_live_worker_notifies_the_watchdog(manager: tuple[Manager, dict[str, str]]) -> None:
    heard, environ = manager
    now = [0.0]
    worker = ServiceManager(environ, lambda: now[0])
    for second in range(int(INTERVAL)):
        now[0] = float(second)
        worker.turned(lambda: True)
    assert heard.received() == ["WATCHDOG=1"] * PINGS
    now[0] += INTERVAL
    worker.turned(lambda: False)
    assert heard.received() == []
    worker.turned(lambda: True)
    assert heard.received() == ["WATCHDOG=1"]


@pytest.mark.parametrize(
    "change", [{"WATCHDOG_USEC": ""}, {"WATCHDOG_USEC": "soon"}, {"WATCHDOG_PID": "1"}, {"NOTIFY_SOCKET": ""}]
)
def test_there_is_no_watchdog_unless_the_manager_requests_it(
    manager: tuple[Manager, dict[str, str]], change: dict[str, str]
) -> None:
    heard, environ = manager
    ServiceManager({**environ, **change}).turned(lambda: True)
    assert heard.received() == []


def test_a_manager_that_does_not_listen_has_no_effect(tmp_path: Path) -> None:
    worker = ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "nobody"), "WATCHDOG_USEC": "1000000"})
    worker.joined()
    worker.turned(lambda: True)
    worker.leaving()

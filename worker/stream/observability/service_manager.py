"""Report the worker's state to a service manager by systemd's sd_notify(3): one datagram per message.

Without the variable NOTIFY_SOCKET, which systemd sets for services of `Type=notify`, nothing is sent.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping

READY, ALIVE, STOPPING = "READY=1", "WATCHDOG=1", "STOPPING=1"
SEND_SECONDS = 0.1
"""Longest wait for room in the manager's queue; the loop must not stand still for it."""
PINGS = 4
"""Signs of life in each interval of the watchdog: a late one must not end the service."""


class ServiceManager:
    """Sends what a service manager wants to know.

    Parameters
    ----------
    environ : mapping
        Variables of the process: NOTIFY_SOCKET, and for a watchdog WATCHDOG_USEC and WATCHDOG_PID.
    clock : callable
        Monotonic time in seconds.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, clock: Callable[[], float] = time.monotonic) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # "@" stands for the null byte that an abstract address begins with.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._clock, self._sent_at = clock, float("-inf")
        self._every = _watchdog_seconds(environ) / PINGS if address else 0.0
        self._joined = False

    def joined(self) -> None:
        """Tell once that the worker is a member of its group: units ordered after it may start."""
        if not self._joined:
            self._joined = True
            self._send(f"{READY}\nSTATUS=member of the group")

    def turned(self, alive: Callable[[], bool]) -> None:
        """Feed the watchdog if that is due and the worker is alive; called in each turn of the loop."""
        if self._every and (now := self._clock()) - self._sent_at >= self._every and alive():
            self._sent_at = now
            self._send(ALIVE)

    def leaving(self) -> None:
        """Tell that the worker commits and leaves."""
        self._send(f"{STOPPING}\nSTATUS=leaving the group")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection:
                connection.settimeout(SEND_SECONDS)
                connection.sendto(message.encode(), self._address)
        except OSError:
            return  # the manager notices by itself what it is not told


def _watchdog_seconds(environ: Mapping[str, str]) -> float:
    """Return the interval of the watchdog in seconds; 0 if there is none, or it is another process's."""
    microseconds = environ.get("WATCHDOG_USEC", "")
    ours = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) / 1e6 if ours and microseconds.isdecimal() else 0.0

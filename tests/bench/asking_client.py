"""Ask a worker for predictions at a fixed rate: one process, many connections that stay open, raw sockets.

    python -m tests.bench.asking_client --port 8000 --rate 2000 --connections 32 --seconds 10

Request i is due at i / rate, and its latency starts then, whether or not a connection was free: no coordinated
omission. It ends when the whole answer is here. With ``--rate 0`` each connection asks again as soon as it has an
answer.
"""

from __future__ import annotations

import argparse
import json
import re
import select
import socket
import sys
import time
from collections import deque
from typing import Any

import numpy as np

TURN_SECONDS = 0.001
DRAIN_SECONDS = 30.0
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
EVENTS = 512
"""Different events, sent in turn."""


def requests(features: int, target: str, count: int) -> list[bytes]:
    """Return requests as bytes, each with one event, or with a list of `count`."""
    found = []
    for i, X in enumerate(np.random.default_rng(1).uniform(-1, 1, (EVENTS, count, features)).round(6).tolist()):
        events = [{"id": i, "x": x} for x in X]
        body = json.dumps(events if count > 1 else events[0]).encode()
        head = (
            f"POST {target} HTTP/1.1\r\nHost: worker\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        )
        found.append(head.encode() + b"\r\n\r\n" + body)
    return found


class Connections:
    """Connections to one port, each with at most one request at a time.

    Parameters
    ----------
    port : int
        On this machine.
    count : int
        How many.
    """

    def __init__(self, port: int, count: int) -> None:
        self._poller = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._received: dict[int, bytes] = {}
        self._due: dict[int, float] = {}
        self.latencies: list[float] = []
        self.statuses: dict[str, int] = {}
        self.free: deque[int] = deque()
        for _ in range(count):
            opened = socket.create_connection(("127.0.0.1", port), 10)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._sockets[opened.fileno()] = opened
            self._poller.register(opened.fileno(), select.EPOLLIN)
            self.free.append(opened.fileno())

    @property
    def waiting(self) -> int:
        """Requests without an answer yet."""
        return len(self._due)

    def ask(self, request: bytes, due: float) -> None:
        """Send a request over a free connection."""
        number = self.free.popleft()
        self._due[number], self._received[number] = due, b""
        self._sockets[number].sendall(request)

    def take(self, seconds: float) -> None:
        """Take the answers that arrive within a time."""
        for number, _ in self._poller.poll(seconds):
            data = self._sockets[number].recv(1 << 16)
            if not data:
                raise SystemExit("the worker has closed a connection")
            received = self._received[number] = self._received[number] + data
            head, found, body = received.partition(b"\r\n\r\n")
            length = LENGTH.search(head) if found else None
            if length is not None and len(body) >= int(length[1]):
                self.latencies.append(time.monotonic() - self._due.pop(number))
                status = head[9:12].decode()
                self.statuses[status] = self.statuses.get(status, 0) + 1
                self.free.append(number)


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """Ask for some seconds; return requests/s, latencies in ms, and what asking cost here."""
    asked = requests(given.features, given.target, given.events)
    connections = Connections(given.port, given.connections)
    began, used = time.monotonic(), time.process_time()
    sent = 0
    while (elapsed := time.monotonic() - began) < given.seconds:
        due = int(elapsed * given.rate) + 1 if given.rate else sent + len(connections.free)
        while sent < due and connections.free:
            at = began + sent / given.rate if given.rate else time.monotonic()
            connections.ask(asked[sent % EVENTS], at)
            sent += 1
        connections.take(TURN_SECONDS)
    last = time.monotonic()
    answered = len(connections.latencies)
    used = time.process_time() - used
    while connections.waiting and time.monotonic() - last < DRAIN_SECONDS:
        connections.take(TURN_SECONDS)
    ms = 1000 * np.array(connections.latencies)
    return {
        "requests_per_second": round(answered / (last - began), 1),
        **{name: round(float(np.percentile(ms, q)), 2) for name, q in (("p50", 50), ("p99", 99), ("largest", 100))},
        "refused": len(ms) - connections.statuses.get("200", 0),
        "unanswered": connections.waiting,
        "never_sent": max(0, int(given.rate * given.seconds) - sent),
        "client_us_per_request": round(1e6 * used / max(1, answered), 1),
    }


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, default=2000.0, help="requests a second; 0: as many as are answered")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--events", type=int, default=1, help="of each request; more than one: a list")
    parser.add_argument("--target", default="/v1/predict?partition=0")
    json.dump(measure(parser.parse_args()), sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()

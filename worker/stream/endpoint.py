"""HTTP endpoint: `/metrics` for Prometheus, `/healthz` (it starts, or the loop turns), `/readyz` (tasks run)."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from driftway.worker.errors import TOO_MANY_FILES, UsageFailure, file_shortage
from driftway.worker.stream.worker import Worker

MAX_CONNECTIONS = 64
"""Open connections; for one more the oldest is closed, so that a probe is answered while others hang."""
FULL_SECONDS = 0.5
SILENT_SECONDS = 60.0
"""Least time between two warnings that no connection can be accepted."""
REQUEST_SECONDS = 10.0
"""Time from accepting a connection to the end of its answer."""


class Endpoint:
    """Serves a worker's metrics from a daemon thread.

    Parameters
    ----------
    worker : Worker
        The worker.
    host, port
        Where to listen; port 0 takes a free one.

    Raises
    ------
    UsageFailure
        The port is not available.
    """

    def __init__(self, worker: Worker, host: str, port: int) -> None:
        handler = _handler(worker)
        try:
            self._server = _Server((host, port), handler)
        except OSError as error:
            raise UsageFailure(f"cannot listen on {host}:{port}: {error.strerror}") from None
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True, name="driftway-http")

    def start(self) -> None:
        """Start answering requests."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """A thread for each of a bounded number of connections, each for a bounded time."""

    request_queue_size = 2 * MAX_CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._accepted: dict[socket.socket, float] = {}
        """Open connection -> when it was accepted, the oldest first."""
        self._lock = threading.Lock()
        self._silent_until = 0.0
        super().__init__(address, handler)

    def get_request(self) -> Any:
        """Accept a connection; if the process cannot open more files, say so, and let others close some."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in TOO_MANY_FILES:
                self._tell_of_files()
                time.sleep(FULL_SECONDS)  # the connection still waits: without a pause this would be a busy loop
            raise

    def _tell_of_files(self) -> None:
        if time.monotonic() >= self._silent_until:
            self._silent_until = time.monotonic() + SILENT_SECONDS
            logging.getLogger("driftway").warning("the HTTP endpoint accepts no connections: %s", file_shortage())

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._accepted[request] = time.monotonic()
            surplus = list(self._accepted)[:-MAX_CONNECTIONS]
        for connection in surplus:
            _hang_up(connection)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._accepted.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Close connections that take too long; called about twice a second."""
        with self._lock:
            late = [one for one, since in self._accepted.items() if time.monotonic() - since > REQUEST_SECONDS]
        for connection in late:
            _hang_up(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that has gone."""


def _hang_up(connection: socket.socket) -> None:
    """End a connection's transfers; its thread then closes it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _handler(worker: Worker) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tasks = list(worker.tasks.values())
            if self.path == "/metrics":
                worker.reporter.refresh()
                self._answer(200, generate_latest(worker.metrics.registry), CONTENT_TYPE_LATEST)
            elif self.path == "/healthz":
                health = worker.reporter.health
                alive = health.alive
                ages = {"turn": round(health.idle_seconds, 1), "commit": round(health.uncommitted_seconds, 1)}
                answer = {"alive": alive, "state": health.phase, "seconds_since": ages}
                self._answer(200 if alive else 503, json.dumps(answer).encode(), "application/json")
            elif self.path == "/readyz":
                ready, facts = worker.reporter.health.readiness(tasks)
                self._answer(200 if ready else 503, json.dumps(facts).encode(), "application/json")
            else:
                self._answer(404, b"try /metrics, /healthz or /readyz\n", "text/plain")

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep requests out of the log."""

    return Handler

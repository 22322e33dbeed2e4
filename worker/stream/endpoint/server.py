"""The HTTP server of a worker: a bounded number of connections, each for a bounded time, and what they ask for.

`/metrics` is for Prometheus, `/healthz` says whether it starts, or the loop turns, `/readyz` whether tasks run.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from driftway.worker.errors import TOO_MANY_FILES, UsageFailure, file_shortage
from driftway.worker.stream.endpoint.routes import Refused, Request, Response, Route, as_json, body_length, find
from driftway.worker.stream.worker import Worker

MAX_CONNECTIONS = 64
"""Open connections; for one more the oldest is closed, so that a probe is answered while others hang."""
FULL_SECONDS = 0.5
SILENT_SECONDS = 60.0
"""Least time between two warnings that no connection can be accepted."""
REQUEST_SECONDS = 10.0
"""Time from accepting a connection, or from the last request on it, to the end of its answer."""
MOST_DRAINED = 16 << 20
"""Most bytes of a refused body that are read."""


class Endpoint:
    """Answers requests from daemon threads.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    routes : tuple of Route
        What can be asked for.

    Raises
    ------
    UsageFailure
        The port is not available.
    """

    def __init__(self, host: str, port: int, routes: tuple[Route, ...]) -> None:
        try:
            self._server = _Server((host, port), _Handler)
        except OSError as error:
            raise UsageFailure(f"cannot listen on {host}:{port}: {error.strerror}") from None
        self._server.routes = routes
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
        self.routes: tuple[Route, ...] = ()
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

    def renew(self, request: Any) -> None:
        """Begin a connection's time anew, as it asks for something."""
        with self._lock:
            if request in self._accepted:
                self._accepted[request] = time.monotonic()

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


def worker_routes(worker: Worker) -> tuple[Route, ...]:
    """Return what monitoring and orchestrators ask for."""

    def metrics(_: Request) -> Response:
        worker.reporter.refresh()
        return Response(200, generate_latest(worker.metrics.registry), CONTENT_TYPE_LATEST)

    def alive(_: Request) -> Response:
        health = worker.reporter.health
        living = health.alive
        ages = {"turn": round(health.idle_seconds, 1), "commit": round(health.uncommitted_seconds, 1)}
        answer = {"alive": living, "state": health.phase, "seconds_since": ages}
        return as_json(answer, 200 if living else 503)

    def ready(_: Request) -> Response:
        found, facts = worker.reporter.health.readiness(list(worker.tasks.values()))
        return as_json(facts, 200 if found else 503)

    return Route("GET", "/metrics", metrics), Route("GET", "/healthz", alive), Route("GET", "/readyz", ready)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    """Else an answer in two parts waits for the first one's acknowledgement, 40 ms on a connection that stays open."""
    server: _Server

    def do_GET(self) -> None:
        self._take("GET")

    def do_POST(self) -> None:
        self._take("POST")

    def _take(self, method: str) -> None:
        self.server.renew(self.connection)
        keeps, unread = False, method == "POST"
        try:
            route, query = find(self.server.routes, method, self.path)
            headers = {name.title(): value for name, value in self.headers.items()}
            body = self.rfile.read(body_length(headers, route.most_bytes)) if unread else b""
            unread = False
            keeps = route.keeps
            answer = route.answer(Request(query, headers, body))
        except Refused as refused:
            answer = refused.answer
        self.close_connection = self.close_connection or not keeps
        self._send(answer)
        if unread:
            self._drain()

    def _drain(self) -> None:
        """Read what a refused request still sends: the client would see a reset connection instead of the answer."""
        told = self.headers.get("Content-Length", "")
        left = min(int(told), MOST_DRAINED) if told.isascii() and told.isdigit() and len(told) < 19 else 0
        while left > 0 and (part := self.rfile.read(min(left, 1 << 16))):
            left -= len(part)

    def _send(self, answer: Response) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in answer.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep requests out of the log."""

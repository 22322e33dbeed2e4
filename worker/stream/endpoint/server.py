"""The HTTP server of a worker: a limited number of connections, each for a limited time, and their requests.

`/metrics` is for Prometheus, `/healthz` says whether the worker starts or its loop runs, `/readyz` whether tasks run.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from functools import partial
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from driftway.worker.errors import TOO_MANY_FILES, UsageFailure, file_shortage
from driftway.worker.stream.endpoint.batches import batches_of
from driftway.worker.stream.endpoint.connection import Connection
from driftway.worker.stream.endpoint.routes import Request, Response, Route, as_json
from driftway.worker.stream.worker import Worker

MAX_CONNECTIONS = 256
"""Open connections; for one more the one that asked longest ago is closed, so that a probe is answered while others
hang."""
SILENT_SECONDS = 60.0
"""Least time between two warnings that no connection can be accepted."""
REQUEST_SECONDS = 10.0
"""Time from accepting a connection, or from the last request on it, to the end of its answer."""
LOOK_SECONDS = 0.5
"""How often connections that take too long are looked for."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 takes a free one.

    Raises
    ------
    UsageFailure
        The port is not available; its cause is the system's error.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if not host:
        raise UsageFailure("--http-host is empty: 0.0.0.0 stands for all IPv4 addresses of this machine")
    try:
        host.encode("idna")
        return socket.create_server((host, port), family=family, backlog=MAX_CONNECTIONS)
    except UnicodeError:
        raise UsageFailure(f"cannot listen on {where}: this is no host name") from None
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]
        raise UsageFailure(f"cannot listen on {where}: {reason}") from error


class Endpoint:
    """Answers requests in a daemon thread; what may take long, in further ones, at most one for each route.

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
        self._socket = listen(host, port)
        self.port = int(self._socket.getsockname()[1])
        self._loop = asyncio.new_event_loop()
        self._server = _Server(self._loop, routes)
        self._thread = threading.Thread(target=self._run, daemon=True, name="driftway-http")

    def start(self) -> None:
        """Start answering requests."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._socket.close()
        self._loop.close()

    def _run(self) -> None:
        loop, make = self._loop, partial(Connection, self._server)
        loop.set_exception_handler(self._server.failed)
        self._server.look()
        accepting = loop.run_until_complete(loop.create_server(make, sock=self._socket, backlog=MAX_CONNECTIONS))
        loop.run_forever()
        accepting.close()
        self._server.hang_up()
        loop.run_until_complete(asyncio.sleep(0))  # what closing has left to do


class _Server:
    """A bounded number of connections, each for a bounded time. It runs in the thread of its loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, routes: tuple[Route, ...]) -> None:
        self._loop, self.routes = loop, routes
        self._batches = {(route.method, route.path): batches_of(loop, route) for route in routes}
        self._asked: dict[Connection, float] = {}
        """Open connection -> when it was accepted, or asked last, the longest ago first."""
        self._silent_until = 0.0

    def opened(self, connection: Connection) -> None:
        """Note a new connection; if there are too many, close another one."""
        self._asked[connection] = time.monotonic()
        if len(self._asked) > MAX_CONNECTIONS:
            oldest = next(iter(self._asked))
            del self._asked[oldest]
            oldest.hang_up()

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._asked.pop(connection, None)

    def renew(self, connection: Connection) -> None:
        """Begin a connection's time anew, as it asks for something."""
        if self._asked.pop(connection, None) is not None:
            self._asked[connection] = time.monotonic()

    def look(self) -> None:
        """Close connections that take too long, now and from time to time."""
        since = time.monotonic() - REQUEST_SECONDS
        for connection in [one for one, asked in self._asked.items() if asked < since]:
            connection.hang_up()
        self._loop.call_later(LOOK_SECONDS, self.look)

    def hang_up(self) -> None:
        """Close all connections."""
        for connection in list(self._asked):
            connection.hang_up()

    def answer(self, connection: Connection, route: Route, request: Request) -> None:
        """Answer a request with others of its route: `/healthz` must not wait for `/metrics`."""
        self._batches[route.method, route.path].add(connection, request)

    def failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Tell of what asyncio could not do; if the process cannot open more files, it accepts others in a second."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in TOO_MANY_FILES:
            if time.monotonic() >= self._silent_until:
                self._silent_until = time.monotonic() + SILENT_SECONDS
                logging.getLogger("driftway").warning("the HTTP endpoint accepts no connections: %s", file_shortage())
        elif not isinstance(error, OSError):  # else a client has gone
            logging.getLogger("driftway").error("the HTTP endpoint: %s", context.get("message"), exc_info=error)


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

    answers = {"/metrics": metrics, "/healthz": alive, "/readyz": ready}
    return tuple(Route("GET", path, answer, shared=True) for path, answer in answers.items())

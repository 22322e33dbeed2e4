"""One connection of the worker's HTTP port: its requests one after the other, and their answers in this order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol, cast

import h11

from driftway.worker.stream.endpoint.routes import HttpError, Request, Response, Route, find, require_short

MAX_HEAD = 1 << 16
"""Most bytes of a request's first line and headers."""
MAX_DRAINED = 1 << 30
"""Most bytes that are read after a refusal, within the time of a request. A client that still sends would see a reset
connection, not the answer."""


class ConnectionServer(Protocol):
    """What a connection needs of its server; all is called in the server's thread."""

    routes: tuple[Route, ...]

    def opened(self, connection: Connection) -> None:
        """Note a new connection."""

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""

    def renew(self, connection: Connection) -> None:
        """Begin a connection's time anew, as it asks for something."""

    def answer(self, connection: Connection, route: Route, request: Request) -> None:
        """Answer a request later, by `Connection.send`."""


class Connection(asyncio.Protocol):
    """Reads requests and sends answers, as h11 says that HTTP/1.1 has them.

    Parameters
    ----------
    server : ConnectionServer
        What answers.
    """

    def __init__(self, server: ConnectionServer) -> None:
        self._server = server
        self._transport: asyncio.Transport
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._asked: tuple[Route, Mapping[str, Sequence[str]], Mapping[str, str]] | None = None
        """Route, query and headers of a request whose head has been read."""
        self._body = bytearray()
        self._ahead = 0
        """Bytes received while nothing was read."""
        self._with_body = True
        """Whether the answer has its body: not where HEAD asks."""
        self._answering = self._unread = self._paused = False
        """Whether a request is being answered; answers wait for the client to read them; nothing is read."""
        self._drained = -1
        """Bytes read after a refusal; negative: there was none."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.opened(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._drained >= 0:
            self._drained += len(data)
            if self._drained > MAX_DRAINED:
                self._transport.abort()
            return
        self._http.receive_data(data)
        self._ahead += len(data)
        self._go_on()

    def eof_received(self) -> bool:
        """Send what is being answered, although the client sends no more."""
        if self._drained >= 0:
            return False
        self._http.receive_data(b"")
        self._go_on()
        return True

    def pause_writing(self) -> None:
        """Answer no more: who sends requests and never reads must not fill the memory."""
        self._unread = True

    def resume_writing(self) -> None:
        self._unread = False
        self._go_on()

    def hang_up(self) -> None:
        """End the connection at once."""
        self._transport.abort()

    def send(self, answer: Response) -> None:
        """Send the answer to the request that is being answered, and go on with the next one."""
        if self._transport.is_closing():
            return
        self._answering = False
        keeps = self._asked is not None and self._asked[0].keeps
        self._write(answer, keeps)
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._asked, self._with_body = None, True
            self._go_on()
        else:
            self._transport.close()

    def _write(self, answer: Response, keeps: bool) -> None:
        """Write an answer, at once; h11 says too that the connection ends, where the client wishes it."""
        headers = [
            ("Content-Type", answer.kind),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Length", str(len(answer.body))),
            ("Date", _date(int(time.time()))),
            *answer.headers,
            *(() if keeps else (("Connection", "close"),)),
        ]
        body = h11.Data(answer.body if self._with_body else b"")
        phrase = HTTPStatus(answer.status).phrase
        first = h11.Response(status_code=answer.status, reason=phrase, headers=headers)
        self._transport.write(b"".join(self._http.send(part) or b"" for part in (first, body, h11.EndOfMessage())))

    def _go_on(self) -> None:
        """Take the next request, unless the one before is still to be answered, or read."""
        try:
            while not (self._answering or self._unread or self._transport.is_closing()) and self._take():
                pass
        except HttpError as refused:
            self._refuse(refused)
        except h11.RemoteProtocolError as error:
            self._refuse(HttpError(error.error_status_hint, f"this is not HTTP/1.1: {error}"))
        if not (self._answering or self._unread):
            self._ahead = 0
        if self._paused != (self._ahead > MAX_HEAD) and not self._transport.is_closing():
            self._paused = not self._paused
            if self._paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _take(self) -> bool:
        """Take the next part of a request; return whether there was one."""
        event = self._http.next_event()
        if isinstance(event, h11.Request):
            self._begin(event)
        elif isinstance(event, h11.Data):
            self._body += event.data
            if self._asked is not None:
                require_short(len(self._body), self._asked[0].most_bytes)
        elif isinstance(event, h11.EndOfMessage) and self._asked is not None:
            route, query, headers = self._asked
            self._answering = True
            self._server.answer(self, route, Request(query, headers, bytes(self._body)))
        else:
            if isinstance(event, h11.ConnectionClosed):
                self._transport.close()
            return False
        return True

    def _begin(self, event: h11.Request) -> None:
        """Find the route of a request whose head has been read."""
        self._server.renew(self)
        self._asked, self._with_body = None, event.method != b"HEAD"
        self._body.clear()
        headers: dict[str, str] = {}
        for name, value in event.headers:
            key, text = name.decode().title(), value.decode("latin-1")
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
        size = len(event.target) + sum(len(name) + len(value) for name, value in event.headers)
        if size > MAX_HEAD:  # h11 checks only a head that has not ended yet
            raise HttpError(431, f"the first line and the headers have {size:,} bytes, more than {MAX_HEAD:,}")
        if {"Content-Length", "Transfer-Encoding"} <= headers.keys():
            # Somebody before this port may have gone by the other one, and taken the rest for the next request.
            raise HttpError(400, "a request has Content-Length or Transfer-Encoding, not both")
        method = event.method.decode() if self._with_body else "GET"
        route, query = find(self._server.routes, method, event.target.decode("latin-1"))
        require_short(int(headers.get("Content-Length", "0")), route.most_bytes)
        self._asked = route, query, headers
        if self._http.they_are_waiting_for_100_continue:
            more = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
            self._transport.write(self._http.send(more) or b"")

    def _refuse(self, refused: HttpError) -> None:
        """Answer a request that is not read to its end, and drop what the client still sends."""
        self._asked = None
        self._write(refused.answer, keeps=False)
        self._drained = self._ahead
        if self._transport.can_write_eof() and self._http.their_state is not h11.CLOSED:
            self._transport.write_eof()
        else:
            self._transport.close()


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)

"""One connection of the worker's HTTP port: its requests one after the other, and their answers in this order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol, cast

from driftway.worker.stream.endpoint.messages import CONTINUE, MOST_HEAD, as_bytes, parse_head
from driftway.worker.stream.endpoint.routes import Refused, Request, Response, Route, body_length, find

END = b"\r\n\r\n"
MOST_DRAINED = 16 << 20
"""Most bytes that are read after a refusal. A client that still sends would see a reset connection, not the answer."""


class Answering(Protocol):
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
    """Reads requests and sends answers.

    Parameters
    ----------
    server : Answering
        What answers.
    """

    def __init__(self, server: Answering) -> None:
        self._server = server
        self._transport: asyncio.Transport
        self._received = bytearray()
        self._searched = 0
        """Bytes received in which no head ends."""
        self._asked: tuple[Route, Mapping[str, str], Mapping[str, str], int] | None = None
        """Route, query, headers and length of the body of a request whose head has been read."""
        self._keeps, self._with_body = False, True
        self._answering = self._unread = self._ended = self._paused = False
        """Whether a request is being answered; answers wait for the client to read them; it has said that it sends no
        more; nothing is read."""
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
            if self._drained > MOST_DRAINED:
                self._transport.abort()
            return
        self._received += data
        self._go_on()

    def pause_writing(self) -> None:
        """Answer no more: who sends requests and never reads must not fill the memory."""
        self._unread = True

    def resume_writing(self) -> None:
        self._unread = False
        self._go_on()

    def eof_received(self) -> bool:
        """Send what is being answered, although the client sends no more; else close."""
        self._ended = True
        return self._answering

    def hang_up(self) -> None:
        """End the connection at once."""
        self._transport.abort()

    def send(self, answer: Response) -> None:
        """Send the answer to the request that is being answered, and go on with the next one."""
        if self._transport.is_closing():
            return
        self._answering = False
        keeps = self._keeps and not self._ended
        self._transport.write(as_bytes(answer, keeps, self._with_body))
        if keeps:
            self._go_on()
        else:
            self._transport.close()

    def _go_on(self) -> None:
        """Take the next request, unless the one before is still to be answered, or read."""
        if self._transport.is_closing():
            return
        busy = self._answering or self._unread
        if self._received and not busy:
            self._take()
        if self._paused != (busy and len(self._received) > MOST_HEAD):
            self._paused = not self._paused
            (self._transport.pause_reading if self._paused else self._transport.resume_reading)()

    def _take(self) -> None:
        """Begin to answer the next request, if it has arrived."""
        try:
            asked = self._asked or self._read_head()
        except Refused as refused:
            self._refuse(refused)
            return
        if asked is None or len(self._received) < asked[3]:
            return
        route, query, headers, length = asked
        body = bytes(self._received[:length])
        del self._received[:length]
        self._asked, self._answering = None, True
        self._server.answer(self, route, Request(query, headers, body))

    def _read_head(self) -> tuple[Route, Mapping[str, str], Mapping[str, str], int] | None:
        """Read the head of a request, if it is whole."""
        self._with_body = True
        end = self._received.find(END, self._searched)
        if end > MOST_HEAD or (end < 0 and len(self._received) > MOST_HEAD + len(END)):
            raise Refused(431, f"the first line and the headers have more than {MOST_HEAD:,} bytes")
        if end < 0:
            self._searched = max(0, len(self._received) - len(END) + 1)
            return None
        head = parse_head(bytes(self._received[:end]))
        del self._received[: end + len(END)]
        self._searched = 0
        self._server.renew(self)
        self._with_body = head.method != "HEAD"
        route, query = find(self._server.routes, head.method, head.target)
        posted = head.method == "POST" or {"Content-Length", "Transfer-Encoding"} & head.headers.keys()
        length = body_length(head.headers, route.most_bytes) if posted else 0
        self._keeps = head.keeps and route.keeps
        if len(self._received) < length and head.headers.get("Expect", "").lower() == "100-continue":
            self._transport.write(CONTINUE)
        self._asked = route, query, head.headers, length
        return self._asked

    def _refuse(self, refused: Refused) -> None:
        """Answer a request that is not read to its end, and drop what the client still sends."""
        self._transport.write(as_bytes(refused.answer, False, self._with_body))
        self._drained = len(self._received)
        self._received.clear()
        if self._transport.can_write_eof() and not self._ended:
            self._transport.write_eof()
        else:
            self._transport.close()

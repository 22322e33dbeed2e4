"""A proxy between a client and the broker that knows where frames begin, and can lose the broker's replies.

A client asks the broker for its address and would go there directly: in replies to Metadata and FindCoordinator the
broker's port is replaced by the proxy's, which takes as many bytes.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import Self

METADATA, FIND_COORDINATOR, END_TXN = 3, 10, 26
"""Api keys of requests."""
HOST = "127.0.0.1"


class Proxy:
    """A listener whose connections lead to the broker at `bootstrap`; a context manager.

    Attributes
    ----------
    swallowed : int
        Replies lost so far.
    """

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._broker = host, int(port)
        self._listener = socket.create_server((HOST, 0))
        self._port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._swallow = 0
        self._cut = False
        self._sockets: list[socket.socket] = []
        self.swallowed = 0

    @property
    def bootstrap(self) -> str:
        """Where clients go."""
        return f"{HOST}:{self._port}"

    def swallow(self, replies: int, cut: bool = False) -> None:
        """Lose the next replies to EndTxn; with `cut`, the connection along with each."""
        with self._lock:
            self._swallow, self._cut = replies, cut

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True, name="proxy").start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in [self._listener, *self._sockets]:
            _close(one)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection(self._broker)
                self._sockets += [client, broker]
                asked: dict[int, int] = {}
                for target, ways in ((self._ask, (client, broker)), (self._reply, (broker, client))):
                    threading.Thread(target=target, args=(*ways, asked), daemon=True, name="proxy").start()

    def _ask(self, client: socket.socket, broker: socket.socket, asked: dict[int, int]) -> None:
        """Pass requests on; note which api each correlation id asks."""
        with contextlib.suppress(OSError):
            while frame := _frame(client):
                key, _, correlation = struct.unpack_from(">hhi", frame)
                asked[correlation] = key
                broker.sendall(struct.pack(">i", len(frame)) + frame)
        _close(client), _close(broker)

    def _reply(self, broker: socket.socket, client: socket.socket, asked: dict[int, int]) -> None:
        """Pass replies on, but for those to be lost."""
        with contextlib.suppress(OSError):
            while frame := _frame(broker):
                key = asked.pop(struct.unpack_from(">i", frame)[0], None)
                if key == END_TXN and self._lose():
                    if self._cut:
                        break
                    continue
                if key in (METADATA, FIND_COORDINATOR):
                    frame = frame.replace(_address(self._broker[1]), _address(self._port))
                client.sendall(struct.pack(">i", len(frame)) + frame)
        _close(client), _close(broker)

    def _lose(self) -> bool:
        with self._lock:
            if self._swallow == 0:
                return False
            self._swallow -= 1
            self.swallowed += 1
            return True


def _address(port: int) -> bytes:
    """Host and port as they stand in a reply, behind the length of the host."""
    return HOST.encode() + struct.pack(">i", port)


def _frame(source: socket.socket) -> bytes:
    """The next frame without its length; empty at the end of the connection."""
    head = _exactly(source, 4)
    return _exactly(source, struct.unpack(">i", head)[0]) if head else b""


def _exactly(source: socket.socket, size: int) -> bytes:
    pieces = bytearray()
    while len(pieces) < size:
        piece = source.recv(size - len(pieces))
        if not piece:
            return b""
        pieces += piece
    return bytes(pieces)


def _close(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()

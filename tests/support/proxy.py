"""A frame-aware proxy between a client and the broker: it can drop, alter and delay frames.

A client learns the broker's address from the broker and would connect to it directly. So in replies to Metadata and
FindCoordinator the broker's port is replaced by the proxy's, which has the same length.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

PRODUCE, METADATA, OFFSET_FETCH, FIND_COORDINATOR, CREATE_TOPICS = 0, 3, 9, 10, 19
INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, OFFSET_COMMIT = 22, 24, 25, 26, 28
"""Api keys of requests; the last five are sent by transactional producers."""
HEARTBEAT = 68
"""Api key of ConsumerGroupHeartbeat, of the `consumer` group protocol."""
IN_TRANSACTION = (PRODUCE, ADD_PARTITIONS, ADD_OFFSETS, OFFSET_COMMIT, END_TXN)
"""Requests that make up a transaction."""
LEADER_NOT_AVAILABLE = 5
ILLEGAL_GENERATION, INVALID_RECORD = 22, 87
"""The last two make a transaction abortable: the first in the reply to TxnOffsetCommit, the second in any."""
UNKNOWN_SERVER_ERROR, GROUP_ID_NOT_FOUND = -1, 69
HOST = "127.0.0.1"
AFTER_SECONDS = 30.0
"""Longest time that an altered reply waits for its condition."""


@dataclass
class Rule:
    """What to do with the next requests of some apis, or with the replies to them.

    Parameters
    ----------
    apis : tuple of int
        Api keys of the requests.
    about : bytes
        Match only requests that contain these bytes, such as a topic name or a record key.
    left : int
        How many more requests the rule applies to.
    cut : bool
        Also close the client's connection each time.
    error : int or None
        Error code to put into the reply; None drops the reply.
    brokerless : bool
        Remove all brokers from the reply to a metadata request.
    after : callable
        An altered reply is sent once this returns true.
    """

    apis: tuple[int, ...]
    about: bytes
    left: int
    cut: bool = False
    error: int | None = None
    brokerless: bool = False
    after: Callable[[], bool] = field(default=lambda: True)

    def matches(self, api: int, request: bytes) -> bool:
        """Whether the rule applies to this request."""
        return self.left > 0 and api in self.apis and self.about in request


class Proxy:
    """A listener that forwards connections to the broker at `bootstrap`; a context manager.

    Attributes
    ----------
    lost, failed, held : Counter
        Api key -> number of replies dropped, replies altered, requests held back so far.
    shut : bool
        Whether new connections are refused; open ones stay open.
    advertised : bytes
        Host and port that replies name as the broker's, encoded; by default its own.
    """

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._broker = host, int(port)
        self._listener = socket.create_server((HOST, 0))
        self._port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._of_replies: list[Rule] = []
        self._of_requests: list[Rule] = []
        self._held: list[tuple[socket.socket, bytes]] = []
        self._sockets: list[socket.socket] = []
        self.shut = False
        self.advertised = encoded_address(HOST, self._port)
        self._missed_at: dict[int, float] = {}
        self.lost: Counter[int] = Counter()
        self.failed: Counter[int] = Counter()
        self.held: Counter[int] = Counter()

    @property
    def bootstrap(self) -> str:
        """Address for clients to connect to."""
        return f"{HOST}:{self._port}"

    def lose(self, *apis: int, replies: int = 1, cut: bool = False, about: bytes = b"") -> None:
        """Drop the next replies to the apis; with `cut`, close the connection each time."""
        self._add(self._of_replies, Rule(apis, about, replies, cut))

    def fail(
        self, api: int, error: int, about: bytes = b"", replies: int = 1, after: Callable[[], bool] = lambda: True
    ) -> None:
        """Turn the next replies to AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit or a heartbeat into errors.

        The broker has executed the request; the client receives the error once `after` returns true.
        """
        self._add(self._of_replies, Rule((api,), about, replies, error=error, after=after))

    def hide_brokers(self, replies: int, after: Callable[[], bool] = lambda: True) -> None:
        """Remove all brokers from the next replies to metadata requests, as if the cluster had fenced all brokers.

        The client receives them once `after` returns true.
        """
        self._add(self._of_replies, Rule((METADATA,), b"", replies, brokerless=True, after=after))

    def hold(self, *apis: int, requests: int = 1, about: bytes = b"") -> None:
        """Hold back the next requests of the apis, as a slow network does; close the client's connection each time."""
        self._add(self._of_requests, Rule(apis, about, requests, cut=True))

    def release(self) -> None:
        """Send the held requests to the broker, each over its original connection."""
        with self._lock:
            held, self._held = self._held, []
        for broker, frame in held:
            with contextlib.suppress(OSError):
                broker.sendall(struct.pack(">i", len(frame)) + frame)

    def missed(self, api: int, seconds: float = 0.5) -> Callable[[], bool]:
        """Return a condition: the last dropped reply or held request of `api` is so old that the client has noticed."""
        return lambda: time.monotonic() - self._missed_at.get(api, float("inf")) > seconds

    def forget(self) -> None:
        """Remove all rules; requests held back remain held."""
        with self._lock:
            self._of_replies.clear()
            self._of_requests.clear()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True, name="proxy").start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in [self._listener, *self._sockets]:
            close_socket(one)

    def _add(self, rules: list[Rule], rule: Rule) -> None:
        with self._lock:
            rules.append(rule)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = self._connected()
                if broker is None:  # closing the connection tells the client
                    close_socket(client)
                    continue
                self._sockets = [one for one in self._sockets if one.fileno() >= 0] + [client, broker]
                asked: dict[int, tuple[int, bytes]] = {}
                for target, ends in ((self._ask, (client, broker)), (self._reply, (broker, client))):
                    threading.Thread(target=target, args=(*ends, asked), daemon=True, name="proxy").start()

    def _connected(self) -> socket.socket | None:
        with contextlib.suppress(OSError):
            return None if self.shut else socket.create_connection(self._broker)
        return None

    def _ask(self, client: socket.socket, broker: socket.socket, asked: dict[int, tuple[int, bytes]]) -> None:
        """Forward requests, except those to hold back; remember the request of each correlation id."""
        held = False
        with contextlib.suppress(OSError):
            while frame := _frame(client):
                api, _, correlation = struct.unpack_from(">hhi", frame)
                if self._take(self._of_requests, api, frame) is not None:
                    self.held[api] += 1
                    self._missed_at[api] = time.monotonic()
                    with self._lock:
                        self._held.append((broker, frame))
                    held = True
                    break
                asked[correlation] = api, frame
                broker.sendall(struct.pack(">i", len(frame)) + frame)
        close_socket(client)
        if not held:  # held requests still have to be sent over it
            close_socket(broker)

    def _reply(self, broker: socket.socket, client: socket.socket, asked: dict[int, tuple[int, bytes]]) -> None:
        """Forward replies, except those to drop or alter."""
        sending = threading.Lock()
        with contextlib.suppress(OSError):
            while frame := _frame(broker):
                api, request = asked.pop(struct.unpack_from(">i", frame)[0], (-1, b""))
                rule = self._take(self._of_replies, api, request)
                if rule is not None and rule.error is None and not rule.brokerless:
                    self.lost[api] += 1
                    self._missed_at[api] = time.monotonic()
                    if rule.cut:
                        break
                    continue
                if rule is not None:
                    false = (
                        without_brokers(frame) if rule.error is None else altered(api, frame, rule.error, rule.about)
                    )
                    threading.Thread(
                        target=self._send_altered, args=(client, false, rule, sending), daemon=True
                    ).start()
                    self.failed[api] += 1
                    continue
                if api in (METADATA, FIND_COORDINATOR):
                    frame = frame.replace(encoded_address(HOST, self._broker[1]), self.advertised)
                with sending:
                    client.sendall(struct.pack(">i", len(frame)) + frame)
        close_socket(client), close_socket(broker)

    def _take(self, rules: list[Rule], api: int, request: bytes) -> Rule | None:
        """Return the rule that matches this request, if any, and count its use."""
        with self._lock:
            found = next((rule for rule in rules if rule.matches(api, request)), None)
            if found is not None:
                found.left -= 1
            return found

    def _send_altered(self, client: socket.socket, reply: bytes, rule: Rule, sending: threading.Lock) -> None:
        """Send an altered reply once its condition holds; later replies may overtake it, as clients match ids."""
        deadline = time.monotonic() + AFTER_SECONDS
        while not rule.after() and time.monotonic() < deadline:
            time.sleep(0.005)
        with contextlib.suppress(OSError), sending:
            client.sendall(struct.pack(">i", len(reply)) + reply)


def altered(api: int, reply: bytes, error: int, about: bytes) -> bytes:
    """Return the reply with its error code replaced; if it lists several topics, only that of the topic `about`."""
    altered = bytearray(reply)
    if api == ADD_OFFSETS:  # version 0: correlation, throttle, error
        places = [8]
    elif api == ADD_PARTITIONS:  # version 0: correlation, throttle, topics
        places = _errors_of_partitions(reply, about)
    elif api == OFFSET_COMMIT:  # version 3: as above, in the compact form; one topic, one partition
        name = 4 + 1 + 4 + 1
        places = [name + 1 + (reply[name] - 1) + 1 + 4]
    elif api == HEARTBEAT:  # correlation, tags, throttle, error
        places = [9]
    else:
        raise ValueError(f"replies of api {api} cannot be altered")
    for place in places:
        struct.pack_into(">h", altered, place, error)
    return bytes(altered)


def without_brokers(reply: bytes) -> bytes:
    """Return a reply to a metadata request, of version 10 or later, that names no broker, and no leader of a partition.

    All lengths and counts in it must be below 127: each then takes one byte, whose value is one more.
    """
    brokers = 4 + 1 + 4  # behind correlation, tags and throttle time
    at = brokers + 1
    for _ in range(reply[brokers] - 1):
        at += 4  # node
        at += reply[at] + 4  # host, port
        at += max(1, reply[at]) + 1  # rack, tags
    altered, at = bytearray(reply[:brokers] + b"\1" + reply[at:]), brokers + 1
    at += max(1, altered[at]) + 4  # cluster, controller
    topics, at = altered[at] - 1, at + 1
    for _ in range(topics):
        at += 2  # error
        at += altered[at] + 16 + 1  # name, id, whether internal
        partitions, at = altered[at] - 1, at + 1
        for _ in range(partitions):
            struct.pack_into(">h", altered, at, LEADER_NOT_AVAILABLE)
            struct.pack_into(">i", altered, at + 6, -1)
            at += 2 + 4 + 4 + 4  # error, partition, leader, leader's epoch
            for _ in range(3):  # replicas, those in sync, those offline
                at += 1 + 4 * (altered[at] - 1)
            at += 1  # tags
        at += 4 + 1  # operations, tags
    return bytes(altered)


def _errors_of_partitions(reply: bytes, about: bytes) -> list[int]:
    (topics,), at, found = struct.unpack_from(">i", reply, 8), 12, []
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", reply, at)
        name = reply[at + 2 : at + 2 + length]
        at += 2 + length
        (partitions,) = struct.unpack_from(">i", reply, at)
        found += [at + 4 + 6 * i + 4 for i in range(partitions) if about in name]
        at += 4 + 6 * partitions
    return found


def encoded_address(host: str, port: int) -> bytes:
    """Host and port as encoded in a reply, without the length prefix of the host, which is nine bytes long as HOST."""
    return host.encode() + struct.pack(">i", port)


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


def close_socket(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()

"""The worker's HTTP port over real sockets: whole and broken requests, many connections, slow and silent clients."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import re
import resource
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Self

import pytest

from driftway.worker.errors import UsageFailure
from driftway.worker.stream.endpoint import batches, connection, server
from driftway.worker.stream.endpoint.batches import QUICK_BYTES
from driftway.worker.stream.endpoint.connection import MAX_HEAD
from driftway.worker.stream.endpoint.routes import Request, Response, Route
from driftway.worker.stream.endpoint.server import Endpoint
from tests.support.kafka import await_until

MOST = 40_000
ASK = b"GET /plain HTTP/1.1\r\nHost: w\r\n\r\n"
POST = b"POST /echo?n=1 HTTP/1.1\r\nHost: w\r\nContent-Length: %d\r\n\r\n%s"


class PortWithRoutes:
    """A port with three routes, and what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []
        self.held, self.holding = threading.Event(), threading.Event()
        self.endpoint = Endpoint("127.0.0.1", 0, (
            Route("GET", "/plain", lambda _: Response(200, b"plain", "text/plain")),
            Route("GET", "/broken", self.broken),
            Route("GET", "/held", self.hold, keeps=True, shared=True),
            Route("POST", "/echo", lambda r: self.echo([r])[0], MOST, keeps=True, together=self.echo),
        ))  # fmt: skip
        self.endpoint.start()

    def echo(self, requests: Sequence[Request]) -> list[Response]:
        self.batches.append([request.body for request in requests])
        if any(b"hold" in request.body for request in requests):
            self.holding.set()
            assert self.held.wait(20)
        if any(b"broken" in request.body for request in requests):
            raise KeyError("broken")
        return [Response(200, request.body[::-1], "text/plain") for request in requests]

    def hold(self, _: Request) -> Response:
        self.holding.set()
        assert self.held.wait(20)
        return Response(200, b"held", "text/plain")

    def broken(self, _: Request) -> Response:
        raise KeyError("broken")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.held.set()
        self.endpoint.stop()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.endpoint.port), timeout=10)

    def exchange(self, sent: bytes) -> bytes:
        """Send bytes, and return everything that comes until the server closes."""
        with self.connect() as client:
            client.sendall(sent)
            return everything(client)

    def statuses(self, sent: bytes) -> list[int]:
        return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", self.exchange(sent))]


def everything(client: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(1 << 16):
            received += part
    return received


@pytest.fixture
def port() -> Iterator[PortWithRoutes]:
    with PortWithRoutes() as made:
        yield made


def test_requests_arrive_in_any_pieces_and_are_answered_in_order(port: PortWithRoutes) -> None:
    chosen = random.Random(3)
    bodies = [os.urandom(chosen.choice((0, 1, 30, 5000))).hex().encode() for _ in range(40)]
    sent = b"".join(POST % (len(body), body) for body in bodies) + ASK
    with port.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        at = 0
        while at < len(sent):
            size = chosen.choice((1, 2, 3, 17, 400, 9000))
            client.sendall(sent[at : at + size])
            at += size
        answers = http_answers(client, 41)
    assert [body for _, body in answers] == [*(body[::-1] for body in bodies), b"plain"]
    assert {status for status, _ in answers} == {200}


def test_a_request_may_be_cut_anywhere(port: PortWithRoutes) -> None:
    sent = POST % (3, b"abc")
    with port.connect() as client, port.connect() as other:
        for cut in range(1, len(sent)):
            client.sendall(sent[:cut])
            other.sendall(POST % (1, b"x"))
            assert http_answers(other, 1) == [(200, b"x")]  # so the first part has been read
            client.sendall(sent[cut:])
            assert http_answers(client, 1) == [(200, b"cba")]


def http_answers(client: socket.socket, count: int) -> list[tuple[int, bytes]]:
    found = []
    with client.makefile("rb") as file:
        for _ in range(count):
            status = int(file.readline().split()[1])
            headers = http.client.parse_headers(file)
            found.append((status, file.read(int(headers["Content-Length"]))))
    return found


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"", 400),
        (b"GET /plain", 400),
        (b"GET  /plain HTTP/1.1", 400),
        (b"GET /pl\xc3\xa4in HTTP/1.1", 400),
        (b"GET /plain HTTP/1.1\r\nHost : w", 400),
        (b"GET /plain HTTP/1.1\r\nHost: w\r\nA: b\0", 400),
        (b"GET /plain HTTP/1.1\r\nHost: w\r\n: b", 400),
        (b"GET /plain HTTP/1.1\r\nA: b", 400),  # names no host
        (b"GET /plain HTTP/1.1\r\nHost: w\r\nContent-Length: 5", 413),
        (b"GET /plain HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0", 413),
        (b"POST /echo HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\nnumber", 400),
        (b"POST /echo HTTP/1.1\r\nHost: w\r\nContent-Length: 3\r\nContent-Length: 4", 400),
        (b"POST /echo HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: gzip", 501),
        (b"POST /echo HTTP/1.1\r\nHost: w\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0", 400),
        (b"POST /echo HTTP/1.1\r\nHost: w\r\nContent-Length: -3", 400),
        (b"POST /echo HTTP/1.1\r\nHost: w\r\nContent-Length: 40001", 413),
        (b"DELETE /echo HTTP/1.1\r\nHost: w", 405),
        (b"GET /nothing HTTP/1.1\r\nHost: w", 404),
    ],
)
def test_an_invalid_request_is_refused_and_ends_the_connection(port: PortWithRoutes, head: bytes, status: int) -> None:
    """Nothing that follows is treated as a request."""
    assert port.statuses(head + b"\r\n\r\n" + ASK) == [status]
    assert port.batches == []


def test_head_has_the_headers_of_get_and_no_body(port: PortWithRoutes) -> None:
    """As probes and load balancers ask."""
    answer = port.exchange(b"HEAD /plain HTTP/1.1\r\nHost: w\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nContent-Length: 5\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")
    assert port.statuses(b"HEAD /echo HTTP/1.1\r\nHost: w\r\n\r\n") == [405]


def test_a_head_without_an_end_is_refused(port: PortWithRoutes) -> None:
    assert port.statuses(b"GET /plain HTTP/1.1\r\nHost: w\r\nA: " + 2 * MAX_HEAD * b"b") == [431]


def test_a_refused_body_is_read_so_that_the_response_arrives(port: PortWithRoutes) -> None:
    size = 100_000_000
    assert port.statuses(b"POST /echo HTTP/1.1\r\nHost: w\r\nContent-Length: %d\r\n\r\n" % size + size * b"x") == [413]


def test_a_client_cannot_keep_sending_after_a_refusal(port: PortWithRoutes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_DRAINED", 1 << 20)
    with port.connect() as client:
        client.sendall(b"\r\n\r\n")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            client.sendall((64 << 20) * b"x")


def test_a_connection_ends_as_the_request_says(port: PortWithRoutes) -> None:
    plain = port.exchange(b"GET /plain HTTP/1.1\r\nHost: w\r\n\r\nGET /plain HTTP/1.1\r\nHost: w\r\n\r\n")
    assert plain.count(b"HTTP/1.1 200 OK") == plain.count(b"\r\nConnection: close\r\n") == 1
    for line in (b"Date: ", b"Content-Type: text/plain", b"X-Content-Type-Options: nosniff", b"Content-Length: 5"):
        assert b"\r\n" + line in plain
    assert port.exchange(b"POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nab").endswith(b"\r\n\r\nba")
    closing = b"POST /echo HTTP/1.1\r\nHost: w\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab"
    assert b"\r\nConnection: close\r\n" in port.exchange(closing + closing)
    assert port.exchange(b"HEAD /plain HTTP/1.1\r\nHost: w\r\n\r\n").endswith(b"\r\n\r\n")
    with port.connect() as client:  # no more requests, but it waits for the answer
        client.sendall(b"GET /held HTTP/1.1\r\nHost: w\r\n\r\n")
        assert port.holding.wait(10)
        client.shutdown(socket.SHUT_WR)
        assert port.statuses(ASK) == [200]
        port.held.set()
        assert everything(client).endswith(b"\r\n\r\nheld")
    with port.connect() as client:
        client.sendall(b"POST /echo HTTP/1.1\r\nHost: w\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"ab")
        assert client.recv(1000).endswith(b"\r\n\r\nba")


def test_requests_that_arrive_during_an_answer_are_answered_together(port: PortWithRoutes) -> None:
    held = b"hold" + QUICK_BYTES * b"x"  # so long that a thread answers it
    with contextlib.ExitStack() as opened:
        first, *others = [opened.enter_context(port.connect()) for _ in range(21)]
        first.sendall(POST % (len(held), held))
        assert port.holding.wait(10)
        for i, client in enumerate(others):
            client.sendall(POST % (2, b"%02d" % i))
        assert port.statuses(ASK) == [200]  # what others ask for is answered meanwhile
        assert len(port.batches) == 1
        port.held.set()
        for i, client in enumerate(others):
            assert client.recv(1000).endswith(b"\r\n\r\n" + (b"%02d" % i)[::-1])
    assert sorted(port.batches[1]) == [b"%02d" % i for i in range(20)]


def test_one_failed_request_does_not_affect_the_others(port: PortWithRoutes, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.ExitStack() as opened:
        clients = [opened.enter_context(port.connect()) for _ in range(4)]
        held = b"hold" + QUICK_BYTES * b"x"
        clients[0].sendall(POST % (len(held), held))
        assert port.holding.wait(10)
        for client, body in zip(clients[1:], (b"a", b"broken", b"c"), strict=True):
            client.sendall(POST % (len(body), body))
        assert port.statuses(ASK) == [200]
        port.held.set()
        found = [client.recv(1000) for client in clients[1:]]
    assert [answer[9:12] for answer in found] == [b"200", b"500", b"200"]
    assert found[1].endswith(b'{"error":"the worker failed to answer; its log says why"}')
    assert port.statuses(b"GET /broken HTTP/1.1\r\nHost: w\r\n\r\n") == [500]
    assert [record.message for record in caplog.records] == 2 * ["a request was not answered"]


def test_batches_begin_with_as_many_requests_as_the_last(port: PortWithRoutes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for others that do not come longer than the pause."""
    monkeypatch.setattr(batches, "GATHER_SECONDS", 1.0)
    with port.connect() as one, port.connect() as other:
        began = time.monotonic()
        for _ in range(20):  # alone: never waits
            one.sendall(POST % (1, b"a"))
            assert one.recv(1000)
        assert time.monotonic() - began < 1.0
        held = b"hold" + QUICK_BYTES * b"x"
        other.sendall(POST % (len(held), held))
        assert port.holding.wait(10)
        with port.connect() as third:
            for client in (one, third):
                client.sendall(POST % (1, b"b"))
            assert port.statuses(ASK) == [200]
            port.held.set()
            assert one.recv(1000)
            assert third.recv(1000)
        began = time.monotonic()
        one.sendall(POST % (1, b"c"))  # the last batch had two
        assert one.recv(1000)
        assert 0.5 < time.monotonic() - began < 5.0
    assert [len(batch) for batch in port.batches] == [*20 * [1], 1, 2, 1]


def test_connections_of_slow_and_silent_clients_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(server, "LOOK_SECONDS", 0.1)
    large = Response(200, bytes(50_000_000))
    made = Endpoint(
        "127.0.0.1", 0, (Route("POST", "/", lambda _: large, 10, True, None, lambda rs: [large] * len(rs)),)
    )
    made.start()
    try:
        sent = b"", b"POST / HT", b"POST / HTTP/1.1\r\nHost: w\r\nContent-Length: 3\r\n\r\nab"
        with contextlib.ExitStack() as opened:
            clients = [
                opened.enter_context(socket.create_connection(("127.0.0.1", made.port), timeout=10)) for _ in range(5)
            ]
            for client, text in zip(clients, sent, strict=False):
                client.sendall(text)
            whole = b"POST / HTTP/1.1\r\nHost: w\r\nContent-Length: 0\r\n\r\n"
            clients[3].sendall(whole)  # and reads nothing of the answer
            began = time.monotonic()
            assert [everything(client) for client in clients[:3]] == [b"", b"", b""]
            assert 0.8 < time.monotonic() - began < 8.0
            for text in (
                b"P",
                *(whole[i : i + 1] for i in range(1, 8)),
            ):  # an occasional byte does not keep a connection open
                with contextlib.suppress(OSError):
                    clients[4].sendall(text)
                time.sleep(0.2)
            assert everything(clients[4]) == b""
            assert len(everything(clients[3])) < len(large.body)
    finally:
        made.stop()


def test_the_connection_of_a_client_that_never_reads_is_closed(port: PortWithRoutes) -> None:
    one = POST % (30_000, 30_000 * b"x")
    with port.connect() as client:
        client.settimeout(1.0)
        with pytest.raises(TimeoutError):
            client.sendall(2000 * one)  # 60 MB, more than all buffers
        answered = len(port.batches)
        assert answered < 1000
        client.settimeout(10.0)
        with client.makefile("rb") as file:
            for _ in range(answered):
                assert file.readline() == b"HTTP/1.1 200 OK\r\n"
                file.read(int(http.client.parse_headers(file)["Content-Length"]))
        await_until(lambda: len(port.batches) > answered, 10, "it goes on once answers are read")


def test_one_connection_too_many_closes_the_one_idle_for_longest(
    port: PortWithRoutes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 5)
    with contextlib.ExitStack() as opened:
        clients = []
        for _ in range(5):
            clients.append(opened.enter_context(port.connect()))
            clients[-1].sendall(POST % (1, b"a"))
            assert clients[-1].recv(1000)
        clients[0].sendall(POST % (1, b"b"))
        assert clients[0].recv(1000)
        for client in (opened.enter_context(port.connect()) for _ in range(2)):
            client.sendall(POST % (1, b"c"))
            assert client.recv(1000)
        assert [everything(client) for client in clients[1:3]] == [b"", b""]
        for client in (clients[0], *clients[3:]):
            client.sendall(POST % (1, b"d"))
            assert client.recv(1000)


def test_too_many_open_files_are_logged_and_connections_accepted_later(
    port: PortWithRoutes, caplog: pytest.LogCaptureFixture
) -> None:
    assert port.statuses(ASK) == [200]
    with socket.socket() as client:
        client.settimeout(20)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))), hard))
        spare = []
        try:
            with contextlib.suppress(OSError):
                while True:
                    spare.append(os.open(os.devnull, os.O_RDONLY))
            client.connect(("127.0.0.1", port.endpoint.port))
            client.sendall(ASK)
            await_until(lambda: caplog.records, 10, "a warning")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for number in spare:
                os.close(number)
        assert everything(client).endswith(b"plain")
    (record,) = caplog.records
    assert record.message == (
        "the HTTP endpoint accepts no connections: this process cannot open more files: raise its limit (ulimit -n)"
    )


def test_stopping_frees_the_port_and_ends_connections(port: PortWithRoutes) -> None:
    with port.connect() as idle, port.connect() as asking:
        asking.sendall(b"GET /held HTTP/1.1\r\nHost: w\r\n\r\n")
        assert port.holding.wait(10)
        with pytest.raises(UsageFailure, match=r"cannot listen on 127\.0\.0\.1:\d+: Address already in use$"):
            Endpoint("127.0.0.1", port.endpoint.port, ())
        port.endpoint.stop()
        assert everything(idle) == everything(asking) == b""
        again = Endpoint("127.0.0.1", port.endpoint.port, ())
        again.stop()
    port.held.set()  # its answer has no recipient

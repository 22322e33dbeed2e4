"""The worker's HTTP port: addresses, clients that send what browsers do not, and the threads that answer."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from driftway.worker.errors import UsageFailure
from driftway.worker.stream.endpoint.connection import MAX_HEAD
from driftway.worker.stream.endpoint.routes import Request, Response, Route
from driftway.worker.stream.endpoint.server import Endpoint
from tests.unit.worker.stream.test_http_port import ASK, POST, PortWithRoutes, everything, http_answers


@pytest.fixture
def port() -> Iterator[PortWithRoutes]:
    with PortWithRoutes() as made:
        yield made


def test_a_refusal_after_head_has_a_body_again(port: PortWithRoutes, caplog: pytest.LogCaptureFixture) -> None:
    port.held.set()
    answer = port.exchange(b"HEAD /held HTTP/1.1\r\nHost: w\r\n\r\nno request\r\n\r\n")
    assert re.findall(rb"HTTP/1\.1 (\d{3}) ", answer) == [b"200", b"400"]
    assert b'\r\n\r\n{"error":"this is not HTTP/1.1: ' in answer
    both = b"HEAD /held HTTP/1.1\r\nHost: w\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert port.exchange(both).endswith(b"\r\n\r\n")
    assert port.statuses(both) == [400]
    assert caplog.records == []


@pytest.mark.parametrize(
    "much", [b"GET /plain HTTP/1.1\r\nHost: w\r\nA: %s\r\n\r\n", b"GET /plain?%s HTTP/1.1\r\nHost: w\r\n\r\n"]
)
def test_a_long_head_is_refused_also_if_it_arrives_at_once(port: PortWithRoutes, much: bytes) -> None:
    assert port.statuses(much % (MAX_HEAD * b"a")) == [431]
    assert port.statuses(much % (MAX_HEAD // 2 * b"a")) == [200]


def test_a_request_to_change_the_protocol_is_answered_in_http_1_1(port: PortWithRoutes) -> None:
    """As Java's client sends it."""
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"
    with port.connect() as client:
        for _ in range(2):
            client.sendall((POST % (3, b"abc")).replace(b"Host: w\r\n", b"Host: w\r\n" + upgrade))
            assert http_answers(client, 1) == [(200, b"cba")]


def test_requests_that_wait_for_an_answer_need_one_thread(port: PortWithRoutes) -> None:
    """Threads that answer share the interpreter with the worker's loop."""
    ask = b"GET /held HTTP/1.1\r\nHost: w\r\n\r\n"
    with contextlib.ExitStack() as opened:
        clients = [opened.enter_context(port.connect()) for _ in range(50)]
        clients[0].sendall(ask)
        assert port.holding.wait(10)
        before = threading.active_count()
        for client in clients[1:]:
            client.sendall(ask)
        assert port.statuses(ASK) == [200]
        assert threading.active_count() <= before + 1
        port.held.set()
        assert [http_answers(client, 1) for client in clients] == 50 * [[(200, b"held")]]


def test_without_a_thread_a_request_is_refused_and_the_next_one_answered(
    port: PortWithRoutes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", no_thread)
        assert port.exchange(ASK).endswith(b'{"error":"this process cannot start more threads: try again"}')
    assert port.statuses(ASK) == [200]


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("host", "sentence"),
    [
        ("", "--http-host is empty: 0.0.0.0 stands for all IPv4 addresses of this machine"),
        ("a..b", "cannot listen on a..b:0: this is no host name"),
        ("ä..b", "cannot listen on ä..b:0: this is no host name"),
        (70 * "é", f"cannot listen on {70 * 'é'}:0: this is no host name"),
        ("[::1]", "cannot listen on [[::1]]:0: "),
        ("203.0.113.1", "cannot listen on 203.0.113.1:0: Cannot assign requested address"),
    ],
)
def test_an_address_that_is_none_is_refused(host: str, sentence: str) -> None:
    with pytest.raises(UsageFailure) as refused:
        Endpoint(host, 0, ())
    assert str(refused.value).startswith(sentence)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 on this machine")
def test_the_port_listens_on_an_ipv6_address() -> None:
    answer: Callable[[Request], Response] = lambda _: Response(200, b"six")  # noqa: E731
    made = Endpoint("::1", 0, (Route("GET", "/", answer),))
    made.start()
    try:
        with socket.create_connection(("::1", made.port), timeout=10) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: w\r\n\r\n")
            assert everything(client).endswith(b"six")
    finally:
        made.stop()

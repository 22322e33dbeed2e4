"""HTTP/1.1 as the worker's port reads and writes it: heads of requests, and answers. No sockets here."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from driftway.worker.stream.endpoint.routes import Refused, Response

MOST_HEAD = 1 << 16
"""Most bytes of a request's first line and headers."""
MOST_HEADERS = 100
FIRST_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([!-~]+) HTTP/1\.([0-9])")
HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*)")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Head(NamedTuple):
    """A request's first line and headers."""

    method: str
    target: str
    headers: Mapping[str, str]
    """By name, each word of which begins with a capital. Values of a name that comes twice are joined by a comma."""
    keeps: bool
    """Whether another request may follow on the connection."""


def parse_head(text: bytes) -> Head:
    """Read a request's first line and headers, without the empty line at their end.

    What HTTP forbids is refused, not guessed: a proxy in front might read it otherwise.

    Raises
    ------
    Refused
        They are not HTTP/1.0 or 1.1.
    """
    first, *lines = text.decode("latin-1").split("\r\n")
    found = FIRST_LINE.fullmatch(first)
    if found is None:
        raise Refused(400, "the first line is not that of an HTTP/1.1 request")
    if len(lines) > MOST_HEADERS:
        raise Refused(431, f"the request has {len(lines)} headers, more than {MOST_HEADERS}")
    headers: dict[str, str] = {}
    for line in lines:
        one = HEADER.fullmatch(line)
        if one is None:
            raise Refused(400, "a header cannot be read: it is NAME: VALUE")
        name, value = one[1].title(), one[2].rstrip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    method, target, minor = found.groups()
    closes = minor == "0" or "close" in headers.get("Connection", "").lower()
    return Head(method, target, headers, not closes)


def as_bytes(answer: Response, keeps: bool, with_body: bool = True) -> bytes:
    """Return an answer as it is sent; without `keeps` it says that the connection ends."""
    more = [*answer.headers, *(() if keeps else (("Connection", "close"),))]
    further = "".join(f"{name}: {value}\r\n" for name, value in more)
    start = b"%s%d\r\n%s%s\r\n" % (
        _start(answer.status, answer.kind), len(answer.body), _date(int(time.time())), further.encode("latin-1"),
    )  # fmt: skip
    return start + answer.body if with_body else start


@lru_cache(maxsize=64)
def _start(status: int, kind: str) -> bytes:
    phrase = HTTPStatus(status).phrase
    return (
        f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {kind}\r\nX-Content-Type-Options: nosniff\r\nContent-Length: "
    ).encode("latin-1")


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return f"Date: {formatdate(second, usegmt=True)}\r\n".encode()

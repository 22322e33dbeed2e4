"""Requests, answers and routes of the worker's HTTP port. No sockets here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from driftway.worker.wire.codec import write_json

JSON = "application/json"
MAX_PARAMETERS = 20


class Request(NamedTuple):
    """A request whose route was found."""

    query: Mapping[str, Sequence[str]]
    """Name -> values of the query's parameters; bytes that are not UTF-8 are surrogates."""
    headers: Mapping[str, str]
    """Headers by name; each word of a name begins with a capital."""
    body: bytes = b""

    def parameter(self, name: str) -> str | None:
        """Return the value of a parameter of the query; None: it is not there.

        Raises
        ------
        HttpError
            It is there more than once: the client and the worker could mean different ones.
        """
        values = self.query.get(name, ())
        if len(values) > 1:
            raise HttpError(400, f"{name} is there {len(values)} times: send it once")
        return values[0] if values else None


class Response(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    kind: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class Route(NamedTuple):
    """A method and a path, and the function that answers."""

    method: str
    path: str
    answer: Callable[[Request], Response]
    most_bytes: int = 0
    """Largest body that is read."""
    keeps: bool = False
    """Whether the connection stays open for the next request."""
    described: Mapping[str, Any] | None = None
    """Its OpenAPI operation; None: it is not part of the described interface."""
    together: Callable[[Sequence[Request]], list[Response]] | None = None
    """Answers several requests at once, in their order, and is used instead of `answer`; it raises nothing."""
    shared: bool = False
    """Whether the answer does not depend on the request, so that all who wait for it get the same one."""


class HttpError(Exception):
    """A request that cannot be answered as asked.

    Parameters
    ----------
    status : int
        The HTTP status, 400 to 599.
    sentence : str
        Why, for whoever asks.
    headers : tuple
        Further headers of the answer.
    """

    def __init__(self, status: int, sentence: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers

    @property
    def answer(self) -> Response:
        """The refusal as JSON with one sentence."""
        return Response(self.status, write_json({"error": self.sentence}), headers=self.headers)


def as_json(value: Any, status: int = 200) -> Response:
    """Return an answer of JSON."""
    return Response(status, write_json(value))


def find(routes: tuple[Route, ...], method: str, target: str) -> tuple[Route, Mapping[str, Sequence[str]]]:
    """Return the route of a request, and its query.

    Raises
    ------
    HttpError
        There is no such path, or it is not asked for with this method.
    """
    try:
        parts = urlsplit(f"http://worker{target}" if target.startswith("/") else target)  # //a is a path, not a host
        query = parse_qs(parts.query, True, max_num_fields=MAX_PARAMETERS, errors="surrogateescape")
    except ValueError as error:
        raise HttpError(400, f"the address cannot be read: {error}") from None
    path = unquote(parts.path)
    methods = [route.method for route in routes if route.path == path]
    if not methods:
        known = ", ".join(dict.fromkeys(route.path for route in routes))
        raise HttpError(404, f"there is no {path[:100]}; try {known}")
    for route in routes:
        if (route.method, route.path) == (method, path):
            return route, query
    allowed = ", ".join(methods).replace("GET", "GET, HEAD")  # HEAD is answered as GET, without the body
    raise HttpError(405, f"{path} is asked for with {allowed}", (("Allow", allowed),))


def require_short(length: int, limit: int) -> None:
    """Check the length of a body, in bytes.

    Raises
    ------
    HttpError
        It has more than `limit`.
    """
    if length > limit:
        raise HttpError(413, f"the body has {length:,} bytes, more than {limit:,}")

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

    query: Mapping[str, str]
    """Name -> last value of the query's parameters."""
    headers: Mapping[str, str]
    """Headers by name; each word of a name begins with a capital."""
    body: bytes = b""


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


def find(routes: tuple[Route, ...], method: str, target: str) -> tuple[Route, Mapping[str, str]]:
    """Return the route of a request, and its query.

    Raises
    ------
    Refused
        There is no such path, or it is not asked for with this method.
    """
    try:
        parts = urlsplit(target)
        query = parse_qs(parts.query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError as error:
        raise HttpError(400, f"the address cannot be read: {error}") from None
    path = unquote(parts.path)
    methods = [route.method for route in routes if route.path == path]
    if not methods:
        known = ", ".join(dict.fromkeys(route.path for route in routes))
        raise HttpError(404, f"there is no {path[:100]}; try {known}")
    for route in routes:
        if (route.method, route.path) == (method, path):
            return route, {name: values[-1] for name, values in query.items()}
    allowed = ", ".join(methods).replace("GET", "GET, HEAD")  # HEAD is answered as GET, without the body
    raise HttpError(405, f"{path} is asked for with {allowed}", (("Allow", allowed),))


def require_short(length: int, limit: int) -> None:
    """Check the length of a body, in bytes.

    Raises
    ------
    Refused
        It has more than `limit`.
    """
    if length > limit:
        raise HttpError(413, f"the body has {length:,} bytes, more than {limit:,}")

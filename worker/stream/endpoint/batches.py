"""Requests of one route that are answered together: those that have arrived since the last ones."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence

from driftway.worker.stream.endpoint.connection import Connection
from driftway.worker.stream.endpoint.routes import HttpError, Request, Response, Route

GATHER_SECONDS = 0.002
"""A batch begins with as many requests as the last one had, or this long after it. So under load they share what a call
of the model costs, and who asks again only after the answer does not wait."""
QUICK_BYTES = 1 << 14
"""Bodies up to this size together are answered in the server's thread, which serves nobody else meanwhile."""
FAILED = HttpError(500, "the worker failed to answer; its log says why")
NO_THREAD = HttpError(503, "this process cannot start more threads: try again", (("Retry-After", "1"),))

Answer = Callable[[Sequence[Request]], list[Response]]


def batches_of(loop: asyncio.AbstractEventLoop, route: Route) -> Batches:
    """Return what gathers a route's requests.

    Without `together`, a route has one thread at a time: answers are Python code, and with each further thread the
    worker's loop would get less of the interpreter.
    """
    if route.together is not None:
        return Batches(loop, route.together)

    def one_for_all(requests: Sequence[Request]) -> list[Response]:
        try:
            answer = route.answer(requests[0])
        except HttpError as refused:
            answer = refused.answer
        return [answer] * len(requests)

    return Batches(loop, one_for_all, max_bytes=0 if route.shared else -1, quick_bytes=-1)


class Batches:
    """Gathers a route's requests; all but `_work` runs in the server's thread.

    Parameters
    ----------
    loop : asyncio.AbstractEventLoop
        The server's.
    answer : callable
        Answers requests, in their order. It is never called by two threads at once.
    max_bytes, quick_bytes : int
        Limits of the bodies of a batch together: of a batch of several requests, and of one that is answered in the
        server's thread. Negative: there are no such batches.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        answer: Answer,
        max_bytes: int = QUICK_BYTES,
        quick_bytes: int = QUICK_BYTES,
    ) -> None:
        self._loop, self._answer, self._max_bytes, self._quick_bytes = loop, answer, max_bytes, quick_bytes
        self._waiting: deque[tuple[Connection, Request]] = deque()
        self._working = False
        self._planned: asyncio.Handle | None = None
        """The call that begins the next batch; `_soon`: at the end of this turn of the loop."""
        self._soon = False
        self._last, self._size = float("-inf"), 1
        """When the last batch began, and how many it had."""

    def add(self, connection: Connection, request: Request) -> None:
        """Answer a request with the next batch."""
        self._waiting.append((connection, request))
        self._plan()

    def _plan(self) -> None:
        if self._working or self._soon or not self._waiting:
            return
        at = self._last + GATHER_SECONDS
        self._soon = len(self._waiting) >= self._size or at <= self._loop.time()
        if self._soon:
            if self._planned is not None:
                self._planned.cancel()
            self._planned = self._loop.call_soon(self._begin)  # after all that has arrived by now
        elif self._planned is None:
            self._planned = self._loop.call_at(at, self._begin)

    def _begin(self) -> None:
        """Answer as many as are quick, or else the first one, in a thread of its own."""
        self._planned, self._soon, self._last = None, False, self._loop.time()
        batch: list[tuple[Connection, Request]] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0][1].body) <= self._max_bytes):
            batch.append(self._waiting.popleft())
            size += len(batch[-1][1].body)
        self._size, self._working = len(batch), True
        if size <= self._quick_bytes:
            self._end(batch, self._answers(batch))
        else:
            try:
                threading.Thread(target=self._work, args=(batch,), daemon=True, name="driftway-http-batch").start()
            except RuntimeError:  # the system gives no more threads
                self._end(batch, [NO_THREAD.answer] * len(batch))

    def _work(self, batch: list[tuple[Connection, Request]]) -> None:
        answers = self._answers(batch)
        with contextlib.suppress(RuntimeError):  # the server has been stopped
            self._loop.call_soon_threadsafe(self._end, batch, answers)

    def _answers(self, batch: list[tuple[Connection, Request]]) -> list[Response]:
        requests = [request for _, request in batch]
        try:
            return self._answer(requests)
        except Exception:
            if len(batch) > 1:  # whichever it was, the others get their answers
                return [self._answers([one])[0] for one in batch]
            logging.getLogger("driftway").exception("a request was not answered")
            return [FAILED.answer]

    def _end(self, batch: list[tuple[Connection, Request]], answers: list[Response]) -> None:
        self._working = False
        for (connection, _), answer in zip(batch, answers, strict=True):
            connection.send(answer)
        self._plan()

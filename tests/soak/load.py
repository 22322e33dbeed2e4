"""The paced load: drifting rows, about one in a thousand malformed; none are lost during a broker outage."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import islice
from typing import Self

import numpy as np

from driftway.workbench.bench.workload import Loader
from driftway.worker.errors import Failure
from driftway.worker.wire.codec import encode_events

FEATURES = 8
BLOCK_ROWS = 2_000
DIGITS = 6
TURN_ROWS = 200_000
"""Rows in which the labelling rule rotates once."""
FLIP_ROWS = 150_000
"""Rows between two sudden drifts, where the rule changes its sign."""
NOISE = 0.3
BAD_SHARE = 1e-3
BAD: tuple[bytes | None, ...] = (
    b"{not json", b"[1,2]", b'{"y":1}', b'{"id":7,"y":1}', b'{"x":[1,2,3],"y":0}', b'{"x":[0,0,0,0,0,0,0,"a"],"y":0}',
    b'{"x":[0,0,0,0,0,0,0,0],"y":7}', b'{"x":{"a":1},"y":0}', b"", None,
)  # fmt: skip
"""One value per way in which an event can be unusable."""

SLICE_SECONDS = 0.01
PATIENCE: dict[str, int] = {"message.timeout.ms": 0, "reconnect.backoff.max.ms": 500}
"""A row is retried until the broker has it: nothing times out."""
JOIN_SECONDS = 10.0


def events(seed: int) -> Iterator[bytes | None]:
    """Yield the values of a seed's rows, without end."""
    rng = np.random.default_rng(seed)
    first = 0
    while True:
        rows = np.arange(first, first + BLOCK_ROWS)
        X = rng.normal(size=(BLOCK_ROWS, FEATURES)).round(DIGITS)
        turn, sign = 2 * np.pi * rows / TURN_ROWS, np.where(rows // FLIP_ROWS % 2 == 0, 1.0, -1.0)
        rule = X[:, 0] * np.cos(turn) + X[:, 1] * np.sin(turn) + 0.5 * X[:, 2]
        y = (sign * rule + NOISE * rng.normal(size=BLOCK_ROWS) > 0).astype(np.float64)
        values: list[bytes | None] = [*encode_events(X, y, first)]
        for place in np.flatnonzero(rng.random(BLOCK_ROWS) < BAD_SHARE).tolist():
            values[place] = BAD[rng.integers(len(BAD))]
        yield from values
        first += BLOCK_ROWS


class Load(threading.Thread):
    """Thread that sends rows at a fixed rate to all partitions, until `finish` or the end of its ``with`` block.

    Parameters
    ----------
    bootstrap : str
        Bootstrap address of the broker.
    topic : str
        Input topic.
    partitions : int
        Partitions of the topic.
    rate : float
        Rows per second over all partitions. Rows due during a broker outage are sent after it.
    seed : int
        Seed of the rows.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, rate: float, seed: int) -> None:
        super().__init__(name="load", daemon=True)
        self.sent = 0
        self._rate, self._events = rate, events(seed)
        self._loader = Loader(bootstrap, PATIENCE, topic, partitions, linger_ms=5)
        self._ended = threading.Event()
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join(JOIN_SECONDS)

    def run(self) -> None:
        """Send the rows that are due."""
        started = time.monotonic()
        try:
            while not self._ended.wait(SLICE_SECONDS):
                due = int((time.monotonic() - started) * self._rate) - self.sent
                if due > 0:
                    self._loader.send(list(islice(self._events, due)))  # type: ignore[arg-type]  # None: no value
                    self.sent += due
        except BaseException as error:
            self._error = error

    def require_running(self) -> None:
        """Raise Failure if the load has ended by itself."""
        if self._error is not None:
            raise Failure(f"the load has ended: {self._error!r}") from self._error

    def finish(self) -> int:
        """Stop, wait for the delivery reports, and return the number of rows.

        Raises
        ------
        Failure
            The load had ended by itself, or the broker did not accept all rows.
        """
        self._ended.set()
        self.join(JOIN_SECONDS)
        self.require_running()
        self._loader.finish()
        return self.sent

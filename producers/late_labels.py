"""Labels that travel later than their rows, as messages of their own behind later rows."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from learners.elementary.logarithm import log
from producers.draws import DELAYS, Draws
from producers.messages import Messages
from worker.errors import UsageFailure
from worker.wire import codec

GEOMETRIC = "geometric"


class LateLabels:
    """Holds labels back until so many later rows have been sent.

    A label's message has its row's id and key, and goes to its row's partition.

    Parameters
    ----------
    text : str
        Rows: a number, or ``geometric:MEAN`` for one drawn for each row.
    seed : int
        Of the draws, 0 <= seed < 2^64.
    labels : tuple of str or None
        What classes are called.

    Raises
    ------
    UsageFailure
        The text is neither.
    """

    def __init__(self, text: str, seed: int, labels: tuple[str, ...] | None) -> None:
        word, colon, rest = text.partition(":")
        number = rest if colon else text
        if (colon and word != GEOMETRIC) or not number.isdecimal() or (colon and int(number) < 1):
            raise UsageFailure(f"--label-delay {text!r}: write a number of rows, or {GEOMETRIC}:MEAN")
        self._rows = int(number)
        self._draws = Draws(seed, DELAYS, 1) if colon else None
        self._labels = labels
        self._due: list[tuple[int, int, float, bytes | None]] = []
        """Behind which row, which row's, the label, the key; a heap."""

    def among(self, messages: Messages, y: NDArray[np.float64]) -> Messages:
        """Rows' messages, one per row and without labels, and those of the labels that are due. Shapes: y f8[n]."""
        delays = self._delays(messages.first, messages.rows)
        values: list[bytes | None] = []
        keys: list[bytes] | None = None if messages.keys is None else []
        positions, homes = list[int](), list[int]()

        def put(value: bytes | None, key: bytes | None, position: int, home: int) -> None:
            values.append(value)
            positions.append(position)
            homes.append(home)
            if keys is not None:
                keys.append(key or b"")

        for i, value in enumerate(messages.values):
            row = messages.first + i
            key = None if messages.keys is None else messages.keys[i]
            put(value, key, row, row)
            if not math.isnan(y[i]):
                heapq.heappush(self._due, (row + int(delays[i]), row, float(y[i]), key))
            while self._due and self._due[0][0] <= row:
                _, home, label, its_key = heapq.heappop(self._due)
                put(codec.write_label(home, label, self._labels), its_key, row, home)
        places = np.array(positions, np.int64)
        return Messages(messages.first, messages.rows, values, keys, None, places, homes=np.array(homes, np.int64))

    def _delays(self, first: int, rows: int) -> NDArray[np.int64]:
        if self._draws is None:
            return np.full(rows, self._rows, np.int64)
        share = self._draws.of(first, rows)[:, 0].tolist()
        stays = log(self._rows / (self._rows + 1.0))
        return np.array([math.floor(log(1.0 - one) / stays) for one in share], np.int64)

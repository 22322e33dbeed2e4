"""Watching an input live: accuracy points, newest predictions and ends, folded into a board."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from worker.client import require_broker
from worker.errors import Failure, UsageFailure
from worker.topics import Topics, partition_counts
from worker.watch.board import Board, Row
from worker.watch.tail import Ends, Tail, near, outcome_place, points

POINTS_BACK = 400
"""Records read again at the end of each accuracy partition: the newest of some 100 learners, markers included."""
OUTCOMES_BACK = 50
"""Records before the end among which the newest prediction must be; each commit adds one marker."""
OUTCOMES_BEHIND = 5_000
CATCH_UP_SECONDS = 30.0


class Observation:
    """An input under observation.

    Parameters
    ----------
    bootstrap, passthrough
        Of the client.
    input_topic : str
        The input.
    from_start : bool
        Read all accuracy points there are, not only the newest.
    board : Board
        Where everything is folded into.

    Raises
    ------
    Unreachable
        No broker answers.
    UsageFailure
        The input or its accuracy topic does not exist.
    """

    def __init__(
        self, bootstrap: str, passthrough: Mapping[str, Any], input_topic: str, from_start: bool, board: Board
    ) -> None:
        names = Topics(input_topic, "")
        counts = require_topics(bootstrap, passthrough, input_topic)
        self.board = board
        self._input = {input_topic: counts[input_topic]}
        self._outcomes = {name: counts[name] for name in (names.predictions, names.rejected) if name in counts}
        accuracy = {names.accuracy: counts[names.accuracy]}
        self._ends = Ends(bootstrap, passthrough)
        starts = None if from_start else near(self._ends.of(accuracy), POINTS_BACK)
        self._points = Tail(bootstrap, passthrough, accuracy, starts)
        newest = near(self._ends.of(self._outcomes), OUTCOMES_BACK)
        self._newest = Tail(bootstrap, passthrough, self._outcomes, newest)

    def catch_up(self) -> list[Row]:
        """Read to the present end; return the rows.

        Raises
        ------
        Failure
            That takes too long.
        """
        deadline = time.monotonic() + CATCH_UP_SECONDS
        while not (self._points.at_end and self._newest.at_end):
            self._read(0.05)
            if time.monotonic() > deadline:
                raise Failure(f"the end of the accuracy points was not reached in {CATCH_UP_SECONDS:.0f} s")
        return self.refresh(0.0)

    def refresh(self, seconds: float) -> list[Row]:
        """Read for that long; return the rows."""
        until = time.monotonic() + seconds
        self._read(seconds / 4)
        while (left := until - time.monotonic()) > 0:
            self._read(min(left, seconds / 4))
        ends = self._ends.of({**self._input, **self._outcomes})
        (topic,) = self._input
        self.board.ends({p: end for (name, p), end in ends.items() if name == topic})
        self._newest.jump(ends, OUTCOMES_BACK, OUTCOMES_BEHIND)
        return self.board.rows()

    def close(self) -> None:
        """Let go of the clients."""
        self._points.close()
        self._newest.close()

    def _read(self, seconds: float) -> None:
        for point, written_at in points(self._points.take(seconds)):
            self.board.fold(point, written_at)
        # The last record of each partition says it all; reading every prediction would be work for nothing.
        last = {(message.topic(), message.partition()): message for message in self._newest.take(0.0)}
        for message in last.values():
            self.board.account(*outcome_place(message))


def require_topics(bootstrap: str, passthrough: Mapping[str, Any], input_topic: str) -> dict[str, int]:
    """Topic -> partitions of the cluster, the input and its accuracy topic among them.

    Raises
    ------
    UsageFailure
        One of the two is missing.
    """
    counts = partition_counts(require_broker(bootstrap, passthrough))
    if input_topic not in counts:
        raise UsageFailure(f"there is no topic {input_topic}")
    accuracy = Topics(input_topic, "").accuracy
    if accuracy not in counts:
        raise UsageFailure(f"there is no topic {accuracy}: no worker has run on {input_topic} yet")
    return counts

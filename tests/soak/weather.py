"""The broker of a soak: struck by SIGKILL, away for a while, and back on the same port and data."""

from __future__ import annotations

import threading
import time

from worker.broker import LocalKafka
from worker.errors import Failure

ATTEMPTS = 3


class Weather:
    """Strikes the broker beside the main loop, one strike at a time.

    Parameters
    ----------
    kafka : LocalKafka
        Running.
    """

    def __init__(self, kafka: LocalKafka) -> None:
        self.kafka = kafka
        self.away: list[tuple[float, float]] = []
        """From when until when it could not be used, on the clock of `time.monotonic`; infinity: still away."""
        self.failure: Failure | None = None
        """Why it did not come back."""
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None

    def strike(self, seconds: float) -> bool:
        """Kill the broker and start it again after `seconds`; False if the last strike is not over yet."""
        if self._thread is not None and self._thread.is_alive():
            return False
        self._thread = threading.Thread(target=self._strike, args=(seconds,), name="weather", daemon=True)
        self.away.append((time.monotonic(), float("inf")))
        self._thread.start()
        return True

    def settle(self) -> None:
        """Have the broker back, now.

        Raises
        ------
        Failure
            It does not come back.
        """
        self._hurry.set()
        if self._thread is not None:
            self._thread.join()
        self.require_well()

    def require_well(self) -> None:
        """Raise the failure of a broker that did not come back."""
        if self.failure is not None:
            raise self.failure

    def away_between(self, begin: float, end: float) -> float:
        """Seconds of that time that it was away."""
        return sum(max(0.0, min(end, until) - max(begin, since)) for since, until in self.away)

    def away_lately(self, seconds: float) -> bool:
        """Whether it was away at any moment of the last `seconds`."""
        return bool(self.away) and self.away[-1][1] > time.monotonic() - seconds

    def _strike(self, seconds: float) -> None:
        try:
            self.kafka.kill()
            self._hurry.wait(seconds)
            self._start()
        except Failure as failure:
            self.failure = failure
        else:
            self.away[-1] = self.away[-1][0], time.monotonic()

    def _start(self) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.kafka.restart()
                return
            except Failure:
                if attempt == ATTEMPTS:
                    raise

"""The broker of a soak, struck by SIGKILL, away for a while, and back on the same port and data; and its network."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from driftway.workbench.broker import LocalKafka
from driftway.worker.errors import Failure
from tests.support.kafka import await_until
from tests.support.proxy import ADD_OFFSETS, END_TXN, OFFSET_COMMIT, PRODUCE, Proxy

ATTEMPTS = 3
LOADED_SECONDS = 60.0
LOSABLE = (PRODUCE, END_TXN, OFFSET_COMMIT, ADD_OFFSETS)
"""Requests whose answers get lost, with their connection."""


class NetworkFaults:
    """The members' way to the broker: loses an answer now and then, and delivers a request late.

    Parameters
    ----------
    proxy : Proxy
        Through which they go.
    """

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._release_at: float | None = None

    def lose(self, choice: float) -> None:
        """Lose the next answer to one kind of request."""
        self._proxy.lose(LOSABLE[int(choice * len(LOSABLE))], cut=True)

    def delay(self, seconds: float) -> None:
        """Keep the next Produce request for so long; the client will have sent it again by then, or given it up."""
        self._proxy.hold(PRODUCE)
        self._release_at = time.monotonic() + seconds

    def tend(self) -> None:
        """Deliver what has been kept long enough."""
        if self._release_at is not None and time.monotonic() >= self._release_at:
            self._release_at = None
            self._proxy.release()

    def settle(self) -> None:
        """Deliver everything, and do nothing any more."""
        self._proxy.forget()
        self._proxy.release()


class BrokerFaults:
    """Strikes the broker beside the main loop, one strike at a time.

    Parameters
    ----------
    kafka : LocalKafka
        Running.
    answers : callable
        Whether it can be used, all of it: a broker that takes connections may still be loading its coordinators.
    """

    def __init__(self, kafka: LocalKafka, answers: Callable[[], bool]) -> None:
        self.kafka, self._answers = kafka, answers
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
        log = self.kafka.log
        if log.exists():  # the next start begins a new one
            log.replace(log.with_name(f"server-{len(self.away)}.log"))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.kafka.restart()
                await_until(self._answers, LOADED_SECONDS, "the group's coordinator answers", poll=0.1)
                return
            except Failure:
                if attempt == ATTEMPTS:
                    raise

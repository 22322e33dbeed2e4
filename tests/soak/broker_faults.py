"""Broker and network faults of a soak: SIGKILL, an outage, and a restart on the same port and data."""

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
"""Requests whose replies get lost, along with their connection."""


class NetworkFaults:
    """Faults between the members and the broker: lost replies and late requests.

    Parameters
    ----------
    proxy : Proxy
        Proxy that the members connect through.
    """

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._release_at: float | None = None

    def lose(self, choice: float) -> None:
        """Lose the next reply to one kind of request."""
        self._proxy.lose(LOSABLE[int(choice * len(LOSABLE))], cut=True)

    def delay(self, seconds: float) -> None:
        """Hold back the next Produce request for `seconds`; by then the client has resent it or given up."""
        self._proxy.hold(PRODUCE)
        self._release_at = time.monotonic() + seconds

    def tend(self) -> None:
        """Deliver the requests that have been held back long enough."""
        if self._release_at is not None and time.monotonic() >= self._release_at:
            self._release_at = None
            self._proxy.release()

    def settle(self) -> None:
        """Drop all pending faults and deliver everything held back."""
        self._proxy.forget()
        self._proxy.release()


class BrokerFaults:
    """Kills and restarts the broker in a background thread, one strike at a time.

    Parameters
    ----------
    kafka : LocalKafka
        A running broker.
    answers : callable
        Whether it is fully usable: a broker that accepts connections may still be loading its coordinators.
    """

    def __init__(self, kafka: LocalKafka, answers: Callable[[], bool]) -> None:
        self.kafka, self._answers = kafka, answers
        self.away: list[tuple[float, float]] = []
        """Start and end of each outage, by `time.monotonic`; the end is infinite while it lasts."""
        self.failure: Failure | None = None
        """Why it did not come back."""
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None

    def strike(self, seconds: float) -> bool:
        """Kill the broker and restart it after `seconds`; return False if the last strike is not over yet."""
        if self._thread is not None and self._thread.is_alive():
            return False
        self._thread = threading.Thread(target=self._strike, args=(seconds,), name="weather", daemon=True)
        self.away.append((time.monotonic(), float("inf")))
        self._thread.start()
        return True

    def settle(self) -> None:
        """End the current outage now, and wait for the broker.

        Raises
        ------
        Failure
            The broker does not come back.
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
        """Return the seconds of outage between two moments."""
        return sum(max(0.0, min(end, until) - max(begin, since)) for since, until in self.away)

    def away_lately(self, seconds: float) -> bool:
        """Return whether there was an outage at any moment of the last `seconds`."""
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
        if log.exists():  # the next start writes a new one
            log.replace(log.with_name(f"server-{len(self.away)}.log"))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.kafka.restart()
                await_until(self._answers, LOADED_SECONDS, "the group's coordinator answers", poll=0.1)
                return
            except Failure:
                if attempt == ATTEMPTS:
                    raise

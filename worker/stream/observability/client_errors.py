"""Errors that Kafka clients report by themselves (lost brokers, failing TLS, throttling): counted, logged sparingly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError

from driftway.worker.kafka.client_config import THROTTLING
from driftway.worker.stream.observability.event_log import EventLog

REPEAT_SECONDS = 10.0
"""Least interval between two lines about the same kind."""


class ClientErrors:
    """Callbacks for the clients' own threads; may be called from any thread.

    Parameters
    ----------
    event_log : EventLog
        Where the first error of each kind is logged at once, later ones with their number every ten seconds.
    count : callable
        Called with the kind of each error.
    count_throttled : callable
        Called for each request that a broker has throttled.
    clock : callable
        Monotonic time in seconds.
    """

    def __init__(
        self,
        event_log: EventLog,
        count: Callable[[str], None],
        count_throttled: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._event_log, self._count, self._count_throttled, self._clock = event_log, count, count_throttled, clock
        self._lock = threading.Lock()
        self._logged: dict[str, tuple[float, int]] = {}
        """Kind -> when it was last logged, and how many came since."""

    def error(self, error: KafkaError) -> None:
        """A client's `error_cb`."""
        kind = error.name() or str(error.code())
        self._count(kind)
        self._log(kind, "client error", error.str())

    def throttled(self, event: Any) -> None:
        """A client's `throttle_cb`."""
        self._count_throttled()
        THROTTLING.note(event)
        self._log("throttled", "throttled", f"broker {event.broker_name} for {event.throttle_time:.1f} s")

    def _log(self, kind: str, what: str, sentence: str) -> None:
        now = self._clock()
        with self._lock:
            logged_at, more = self._logged.get(kind, (float("-inf"), 0))
            due = now - logged_at >= REPEAT_SECONDS
            self._logged[kind] = (now, 0) if due else (logged_at, more + 1)
        if due:
            since = {"more_since_the_last_line": more} if more else {}
            self._event_log.warning(what, kind=kind, error=sentence, **since)

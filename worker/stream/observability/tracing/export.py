"""Where spans go: OpenTelemetry's SDK, which sends them in batches on a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from driftway import __version__
from driftway.worker.stream.observability.event_log import EventLog

LOGGER = "opentelemetry"
UNKNOWN_SERVICE = "unknown_service"
"""Beginning of the name that the SDK gives to a service without a name."""
DEFAULT_SERVICE = "driftway"
QUIET_SECONDS = 60.0
"""Least time between two lines about warnings of the SDK: a collector that is down fails every few seconds."""
END_SECONDS = 3.0
"""How long the end of the worker waits for the last spans."""


class SdkLogHandler(logging.Handler):
    """Writes warnings of the SDK to the event log, at most one line in QUIET_SECONDS.

    Parameters
    ----------
    event_log : EventLog
        The log.
    clock : callable
        Monotonic time in seconds.
    """

    def __init__(self, event_log: EventLog, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._event_log, self._clock = event_log, clock
        self._left_out, self._written_at = 0, float("-inf")

    def emit(self, record: logging.LogRecord) -> None:
        """Write the message, or count it."""
        if (now := self._clock()) - self._written_at < QUIET_SECONDS:
            self._left_out += 1
            return
        more = {"left_out": self._left_out} if self._left_out else {}
        self._left_out, self._written_at = 0, now
        self._event_log.warning("spans may be lost", error=record.getMessage(), **more)


class Export:
    """The SDK's provider of tracers, with a thread that sends what has ended; made from the environment's variables.

    Parameters
    ----------
    event_log : EventLog
        Where its warnings are logged.
    """

    def __init__(self, event_log: EventLog) -> None:
        self._logger, self._handler = logging.getLogger(LOGGER), SdkLogHandler(event_log)
        self._propagated = self._logger.propagate
        self._logger.addHandler(self._handler)
        self._logger.propagate = False
        resource = Resource.create({SERVICE_VERSION: __version__})
        if str(resource.attributes.get(SERVICE_NAME, UNKNOWN_SERVICE)).startswith(UNKNOWN_SERVICE):
            resource = resource.merge(Resource({SERVICE_NAME: DEFAULT_SERVICE}))
        # The SDK would otherwise wait for the collector when the interpreter exits, for up to half a minute.
        self.provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

    def end(self) -> None:
        """Send what is left, waiting at most END_SECONDS."""
        thread = threading.Thread(target=self.provider.shutdown, name="last spans", daemon=True)
        thread.start()
        thread.join(END_SECONDS)
        self._logger.removeHandler(self._handler)
        self._logger.propagate = self._propagated

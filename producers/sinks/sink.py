"""The interface through which a replay sends messages: to a topic, in transactions, or to a file."""

from __future__ import annotations

from abc import ABC, abstractmethod

from driftway.producers.messages import Messages
from driftway.producers.streams.stream import Array

MAX_IDLE_SECONDS = 0.1
"""Longest wait before a stop is noticed."""


class StopRequest:
    """Signal handler that counts the user's requests to stop: 1 = deliver what is queued, 2 = exit now."""

    def __init__(self) -> None:
        self.requests = 0
        self.signal: int | None = None

    def __call__(self, signal: int, _frame: object = None) -> None:
        """Record a request."""
        self.requests += 1
        self.signal = signal


class Sink(ABC):
    """Destination of messages.

    Parameters
    ----------
    stop : StopRequest
        Ends every wait.

    Attributes
    ----------
    errors : int
        Messages that were not delivered.
    first_error : str or None
        Reason of the first failure.
    """

    def __init__(self, stop: StopRequest) -> None:
        self.stop = stop
        self.errors = 0
        self.first_error: str | None = None

    @property
    def max_rows(self) -> int | None:
        """Most rows that the next `send` may have; None: any number."""
        return None

    @abstractmethod
    def open(self) -> None:
        """Prepare for the first row."""

    @abstractmethod
    def wait_for_capacity(self, messages: int, message_bytes: int) -> bool:
        """Wait until `messages` more of at most `message_bytes` each can be sent; False if stopped."""

    @abstractmethod
    def send(self, messages: Messages, due: Array | None = None) -> None:
        """Send, after `wait_for_capacity` returned True. Shapes: due f8[m], times on the monotonic clock, if needed."""

    def sent_until(self, position: int) -> None:
        """Record that all rows before `position` have been sent; called after each `send`."""
        return

    @abstractmethod
    def idle(self, seconds: float) -> None:
        """Do nothing for `seconds`, or for `MAX_IDLE_SECONDS` if that is shorter."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until everything sent has arrived or failed."""

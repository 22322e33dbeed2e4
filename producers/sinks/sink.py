"""Where a replay's messages go, as the replay sees it: a topic, transactions on one, or a file."""

from __future__ import annotations

from abc import ABC, abstractmethod

from driftway.producers.messages import Messages
from driftway.producers.streams.stream import Array

MAX_IDLE_SECONDS = 0.1
"""A stop is noticed that soon."""


class StopRequest:
    """Whether the user asked to stop: once = deliver what is queued, twice = leave now. A signal handler."""

    def __init__(self) -> None:
        self.requests = 0
        self.signal: int | None = None

    def __call__(self, signal: int, _frame: object = None) -> None:
        """Ask once more."""
        self.requests += 1
        self.signal = signal


class Sink(ABC):
    """Where messages go.

    Parameters
    ----------
    stop : StopRequest
        Ends every wait.

    Attributes
    ----------
    errors : int
        Messages that were not delivered.
    first_error : str or None
        Why the first of them was not.
    """

    def __init__(self, stop: StopRequest) -> None:
        self.stop = stop
        self.errors = 0
        self.first_error: str | None = None

    @property
    def max_rows(self) -> int | None:
        """How many rows the next `send` may bring at most; None: any number."""
        return None

    @abstractmethod
    def open(self) -> None:
        """Be ready for the first row."""

    @abstractmethod
    def wait_for_capacity(self, messages: int, message_bytes: int) -> bool:
        """Wait until `messages` more of at most `message_bytes` each can be sent; False if stopped before."""

    @abstractmethod
    def send(self, messages: Messages, due: Array | None = None) -> None:
        """Send, once `wait_for_capacity` allows it. Shapes: due f8[m], moments on the monotonic clock, if wanted."""

    def sent_until(self, position: int) -> None:
        """Take note that all rows before `position` have been sent; called after each `send`."""
        return

    @abstractmethod
    def idle(self, seconds: float) -> None:
        """Do nothing for `seconds`, or for `MAX_IDLE_SECONDS` if that is shorter."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until what was sent has arrived, or will not."""

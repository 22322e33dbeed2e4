"""Where a replay's messages go, as the replay sees it: a topic, transactions on one, or a file."""

from __future__ import annotations

from abc import ABC, abstractmethod

from driftway.producers.messages import Messages
from driftway.producers.streams.stream import Array

LONGEST_REST_SECONDS = 0.1
"""A stop is noticed that soon."""


class Stop:
    """Whether the user asked to stop: once = deliver what is queued, twice = leave now. A signal handler."""

    def __init__(self) -> None:
        self.requests = 0
        self.signal: int | None = None

    def __call__(self, signal: int, _frame: object = None) -> None:
        """Ask once more."""
        self.requests += 1
        self.signal = signal


class Outlet(ABC):
    """Where messages go.

    Parameters
    ----------
    stop : Stop
        Ends every wait.

    Attributes
    ----------
    errors : int
        Messages that were not delivered.
    first_error : str or None
        Why the first of them was not.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.errors = 0
        self.first_error: str | None = None

    @property
    def at_once(self) -> int | None:
        """How many rows the next `send` may bring at most; None: any number."""
        return None

    @abstractmethod
    def open(self) -> None:
        """Be ready for the first row."""

    @abstractmethod
    def room(self, messages: int, message_bytes: int) -> bool:
        """Wait until `messages` more of at most `message_bytes` each can be sent; False if stopped before."""

    @abstractmethod
    def send(self, messages: Messages, due: Array | None = None) -> None:
        """Send, after `room` has said yes. Shapes: due f8[m], moments on the monotonic clock, if wanted."""

    def reached(self, position: int) -> None:
        """Take note that all rows before `position` have been sent; called after each `send`."""
        return

    @abstractmethod
    def rest(self, seconds: float) -> None:
        """Do nothing for `seconds`, or for `LONGEST_REST_SECONDS` if that is shorter."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until what was sent has arrived, or will not."""

"""A background thread that works until the worker ends."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

CLOSE_SECONDS = 0.5
"""How long the worker waits for the thread when it ends."""


class BackgroundThread(ABC):
    """What runs on a daemon thread from `begin` to `close`; subclasses say in `_run` what it does.

    Parameters
    ----------
    name : str
        Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._over = threading.Event()
        """Set once the worker ends; `_run` returns soon after."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._last_error = ""

    @abstractmethod
    def _run(self) -> None:
        """Work until `_over` is set."""

    def begin(self) -> None:
        """Start the thread, unless it was started."""
        if self._thread.ident is None:
            self._thread.start()

    def close(self) -> None:
        """Ask the thread to end, and wait for its client to be closed unless it is stuck."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)

    def _is_news(self, sentence: str) -> bool:
        """Whether an error is another one than the last that was asked about."""
        last, self._last_error = self._last_error, sentence
        return sentence != last

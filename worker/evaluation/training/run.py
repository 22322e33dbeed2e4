"""A training run: one advance of the procedure after the other, saved now and then, stopped by a signal."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftway.learners.online_to_batch.procedure import Procedure, TrainingProgress

SAVE_SECONDS = 30.0
"""Of work between two resume files."""


class StopSignal:
    """Whether somebody has asked the run to end: Ctrl-C or SIGTERM, once. A second one ends the process at once."""

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals over for the ``with`` block; outside the main thread there are none."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, _frame: Any) -> None:
        self.asked = True
        signal.signal(number, signal.SIG_DFL)


def run(
    procedure: Procedure,
    save: Callable[[bytes], None],
    told: Callable[[TrainingProgress], None],
    every: float = SAVE_SECONDS,
    stop: StopSignal | None = None,
) -> bool:
    """Advance until the procedure is done; return False if it was stopped before, and saved.

    Parameters
    ----------
    procedure : Procedure
        As it stands.
    save : callable
        Keeps the bytes of `Procedure.save`; called after every `every` seconds of work, and when stopped.
    told : callable
        Gets the progress after each advance.
    every : float
        Seconds, >= 0; 0 saves after each advance.
    stop : StopSignal or None
        Asked after each advance.
    """
    saved = time.monotonic()
    while not procedure.done:
        procedure.advance()
        told(procedure.progress)
        if stop is not None and stop.asked and not procedure.done:
            save(procedure.save())
            return False
        if time.monotonic() - saved >= every and not procedure.done:
            save(procedure.save())
            saved = time.monotonic()
    return True

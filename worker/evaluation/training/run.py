"""A training run: advance the procedure step by step, save it from time to time, stop on a signal."""

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
"""Time between two saves of the resume file."""


class StopSignal:
    """Records whether Ctrl-C or SIGTERM has requested the end of the run; a second signal ends the process at once."""

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the signals within the ``with`` block; outside the main thread this does nothing."""
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
    on_progress: Callable[[TrainingProgress], None],
    every: float = SAVE_SECONDS,
    stop: StopSignal | None = None,
) -> bool:
    """Advance until the procedure is done; return False if it was stopped, and saved, before that.

    Parameters
    ----------
    procedure : Procedure
        The procedure, at its start or partly done.
    save : callable
        Called with the bytes of `Procedure.save` every `every` seconds, and when stopped.
    on_progress : callable
        Called with the progress after each advance.
    every : float
        Seconds, >= 0; 0 saves after each advance.
    stop : StopSignal or None
        Checked after each advance.
    """
    saved = time.monotonic()
    while not procedure.done:
        procedure.advance()
        on_progress(procedure.progress)
        if stop is not None and stop.asked and not procedure.done:
            save(procedure.save())
            return False
        if time.monotonic() - saved >= every and not procedure.done:
            save(procedure.save())
            saved = time.monotonic()
    return True

"""Uncaught exceptions, also those of threads, warnings and stacks are logged as JSON, too.

In the text log, they are as Python prints them, on several lines.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from driftway.worker.stream.observability.event_log import JSON, EventLog, LoggingBridge


@contextmanager
def logged_as_events(event_log: EventLog) -> Iterator[None]:
    """Write to the log what the `logging` module gets, and in JSON all that Python would print to standard error.

    What this changes in the process stays if the block ends by an exception, which is to be logged, too.
    """
    as_json = event_log.form == JSON
    logger = logging.getLogger(None if as_json else "driftway")  # libraries have loggers of their own
    bridge = LoggingBridge(event_log)
    logger.addHandler(bridge)
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    if as_json:
        logging.captureWarnings(True)
        _set_hooks(event_log)
    yield
    sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
    if as_json:
        logging.captureWarnings(False)
    logger.removeHandler(bridge)


def _set_hooks(event_log: EventLog) -> None:
    before = sys.unraisablehook

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        event_log.error("uncaught exception", **_described(kind, error, trace))

    def in_thread(given: threading.ExceptHookArgs) -> None:
        name = given.thread.name if given.thread is not None else ""
        event_log.error(
            "uncaught exception", thread=name, **_described(given.exc_type, given.exc_value, given.exc_traceback)
        )

    def unraisable(given: sys.UnraisableHookArgs) -> None:
        if issubclass(given.exc_type, KeyboardInterrupt):
            before(given)  # a Ctrl-C that a library has lost
            return
        what = _described(given.exc_type, given.exc_value, given.exc_traceback)
        event_log.error("ignored exception", where=repr(given.object), **what)

    sys.excepthook, threading.excepthook, sys.unraisablehook = uncaught, in_thread, unraisable


def _described(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> dict[str, str]:
    text = "".join(traceback.format_exception(kind, error, trace))
    return {"error": str(error), "error_type": kind.__name__, "traceback": text}


def stacks() -> dict[str, list[str]]:
    """Return the stack of each Python thread, the innermost call last: name of the thread -> ``file:line function``."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    found = {}
    for number, frame in sys._current_frames().items():  # noqa: SLF001 - the documented way to see other threads
        calls = traceback.extract_stack(frame)
        found[names.get(number) or str(number)] = [f"{one.filename}:{one.lineno} {one.name}" for one in calls]
    return found

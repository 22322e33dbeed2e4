"""The worker's log: one event a line, as text or JSON, on standard error."""

from __future__ import annotations

import io
import json
import logging
import math
import sys
import time
from datetime import UTC, datetime
from typing import Any, TextIO

from driftway.worker.errors import shown

TEXT, JSON = "text", "json"
INFO, WARNING, ERROR = "info", "warning", "error"
LOGGER = "driftway.worker"
"""The logger that JSON lines name, unless they come from the `logging` module."""


class EventLog:
    """Writes events as they happen.

    A log that cannot be written (its disk is full, its reader has gone) stops nothing: lost lines are counted, and
    their number is logged before the next line that can be written.

    Parameters
    ----------
    form : str
        ``text`` or ``json``.
    out : TextIO or None
        Where to; standard error by default.
    """

    def __init__(self, form: str = TEXT, out: TextIO | None = None) -> None:
        self.form = form
        self._out: TextIO | None = out or sys.stderr  # None in a process that was started without one
        self._missing = 0

    def event(self, what: str, **facts: Any) -> None:
        """Write one line; `facts` must not hold secrets."""
        self.log(INFO, what, facts)

    def warning(self, what: str, **facts: Any) -> None:
        """Write one line on what an operator should know, because something may have to be done."""
        self.log(WARNING, what, facts)

    def error(self, what: str, **facts: Any) -> None:
        """Write one line on what keeps the worker from its work, or ends it."""
        self.log(ERROR, what, facts)

    def log(self, level: str, what: str, facts: dict[str, Any], logger: str = LOGGER) -> None:
        """Write one line of a level."""
        if self._missing:
            lost = self._line(WARNING, "log was interrupted", {"lines_missing": self._missing}, LOGGER)
            if self._write(lost):
                self._missing = 0
        if not self._write(self._line(level, what, facts, logger)):
            self._missing += 1

    def _line(self, level: str, what: str, facts: dict[str, Any], logger: str) -> str:
        if self.form == JSON:
            now = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            entry = {"time": now, "level": level, "logger": logger, "event": what, **facts}
            return json.dumps(_plain(entry), allow_nan=False) + "\n"
        clock = time.strftime("%H:%M:%S", time.localtime())
        line = " ".join([clock, what, *(f"{key}={value}" for key, value in facts.items())])
        return shown(" ".join(line.splitlines())) + "\n"  # errors of the broker may have line breaks

    def _write(self, line: str) -> bool:
        """Write a line at once; return False if it was not written completely.

        Bypasses the stream's buffer: the interpreter would try to flush a failed line again at exit, and then change
        the exit code to 120.
        """
        out = self._out
        buffer = getattr(out, "buffer", None)
        raw = getattr(buffer, "raw", buffer)
        try:
            if out is None:
                return False
            if isinstance(raw, io.RawIOBase):
                text = line.encode(out.encoding, out.errors or "strict")
                return raw.write(text) == len(text)
            out.write(line)
            out.flush()
        except OSError:
            return False
        return True


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers of numpy as numbers, what JSON lacks as text."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return _plain(value.tolist()) if hasattr(value, "tolist") else str(value)


def _level(number: int) -> str:
    """Return the level of a line for one of the `logging` module."""
    if number >= logging.ERROR:
        return ERROR
    return WARNING if number >= logging.WARNING else INFO


class LoggingBridge(logging.Handler):
    """Writes records of the `logging` module to the event log.

    Parameters
    ----------
    event_log : EventLog
        Where they are written.
    """

    def __init__(self, event_log: EventLog) -> None:
        super().__init__()
        self._event_log = event_log

    def emit(self, record: logging.LogRecord) -> None:
        traceback = {}
        if record.exc_info and self._event_log.form == JSON:
            traceback = {"traceback": logging.Formatter().formatException(record.exc_info)}
        self._event_log.log(_level(record.levelno), record.getMessage(), traceback, record.name)

"""The worker's log: one event a line, as text or JSON, on standard error."""

from __future__ import annotations

import io
import json
import logging
import sys
import time
from typing import Any, TextIO

TEXT, JSON = "text", "json"


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
        if self._missing and self._write(self._line("log was interrupted", {"lines_missing": self._missing})):
            self._missing = 0
        if not self._write(self._line(what, facts)):
            self._missing += 1

    def _line(self, what: str, facts: dict[str, Any]) -> str:
        if self.form == JSON:
            return json.dumps({"time": round(time.time(), 3), "event": what, **facts}, default=str) + "\n"
        clock = time.strftime("%H:%M:%S", time.localtime())
        line = " ".join([clock, what, *(f"{key}={value}" for key, value in facts.items())])
        return " ".join(line.splitlines()) + "\n"  # errors of the broker may have line breaks

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
        self._event_log.event(record.getMessage())

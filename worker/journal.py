"""The worker's log: one event a line, as text or JSON, on standard error."""

from __future__ import annotations

import json
import sys
import time
from typing import Any, TextIO

TEXT, JSON = "text", "json"


class Journal:
    """Writes events as they happen.

    Parameters
    ----------
    form : str
        ``text`` or ``json``.
    out : TextIO or None
        Where to; standard error by default.
    """

    def __init__(self, form: str = TEXT, out: TextIO | None = None) -> None:
        self.form = form
        self._out = out or sys.stderr

    def event(self, what: str, **facts: Any) -> None:
        """Write one line; `facts` must not hold secrets."""
        if self.form == JSON:
            line = json.dumps({"time": round(time.time(), 3), "event": what, **facts}, default=str)
        else:
            clock = time.strftime("%H:%M:%S", time.localtime())
            line = " ".join([clock, what, *(f"{key}={value}" for key, value in facts.items())])
            line = " ".join(line.splitlines())  # errors of the broker may have line breaks
        self._out.write(line + "\n")
        self._out.flush()

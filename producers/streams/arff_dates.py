"""Dates of ARFF files, whose format is written in the letters of Java's SimpleDateFormat."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

DIRECTIVES = {
    "y": "%Y", "yy": "%y", "yyyy": "%Y", "M": "%m", "MM": "%m", "MMM": "%b", "MMMM": "%B", "d": "%d", "dd": "%d",
    "H": "%H", "HH": "%H", "h": "%I", "hh": "%I", "m": "%M", "mm": "%M", "s": "%S", "ss": "%S", "S": "%f", "SSS": "%f",
    "a": "%p", "E": "%a", "EEE": "%a", "EEEE": "%A", "Z": "%z", "X": "%z", "XX": "%z", "XXX": "%z", "z": "%Z",
    "DDD": "%j",
}  # fmt: skip
"""Letters of SimpleDateFormat -> directive of strptime."""
PART = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")


def parse(text: str, form: str) -> datetime | None:
    """Parse a date; None if it does not have this form, or the form has letters that are not known."""
    directives = _directives(form)
    try:
        return None if directives is None else datetime.strptime(text, directives)  # noqa: DTZ007
    except ValueError:
        return None


@lru_cache(64)
def _directives(form: str) -> str | None:
    found = list[str]()
    for part in PART.finditer(form):
        if part[2] is None:
            literal = part[0] if part[1] is None else part[1].replace("''", "'") or "'"
            found.append(literal.replace("%", "%%"))
        elif (directive := DIRECTIVES.get(part[0])) is None:
            return None
        else:
            found.append(directive)
    return "".join(found)

"""What a value that is no JSON object shows that it is: the end of the reason for which it is rejected."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

LONGEST_SEARCHED = 2**20
"""Bytes of a value in which something is looked for."""
BEGINNINGS = (
    (b"\xef\xbb\xbf", "it begins with a byte order mark"),
    (b"\xff\xfe", "it is UTF-16, JSON is UTF-8"),
    (b"\xfe\xff", "it is UTF-16, JSON is UTF-8"),
    (b"{\0", "it is UTF-16, JSON is UTF-8"),
    (b"\0{", "it is UTF-16, JSON is UTF-8"),
    (b"\x1f\x8b", "it is compressed with gzip"),
    (b"\x28\xb5\x2f\xfd", "it is compressed with zstd"),
    (b"{'", "it has single quotes, as Python prints objects"),
    (b"\0", "it begins with byte 0, as the formats of a schema registry do, see --format"),
)
"""First bytes of values that are often taken for JSON, and what they say."""
NO_NUMBER = re.compile(rb"[:,\[]\s*-?(?:NaN|Infinity)\s*[,}\]]")
"""Numbers as Python, JavaScript and Java print them, unless they are told not to."""
LARGE_NUMBER = re.compile(rb"[:,\[]\s*(-?(?:\d{309,}|\d+(?:\.\d+)?[eE]\+?\d{3,}))\s*[,}\]]")
"""Numbers that may be beyond the largest float64: JSON has them, no float does."""
HALF = re.compile(rb"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})(?!\\u[dD][c-fC-F])")
"""The first half of a surrogate pair without the second, as JavaScript writes text that was cut inside of an emoji."""
SHOWN_NUMBER = 40
NEXT_OBJECT = re.compile(rb"\}\s*\{")


def why_not_json(reason: str, value: bytes, parse: Callable[[bytes], Any], error: str) -> str:
    """Return the reason of a value that is not JSON, with what it shows that it is; `parse` raised a ValueError."""
    found = next((what for start, what in BEGINNINGS if value.startswith(start)), None)
    if error.startswith("depth limit"):
        found = "it is nested more than 1,024 levels deep"
    if found is None and NO_NUMBER.search(value[:LONGEST_SEARCHED]):
        found = "it has NaN or Infinity, which JSON does not have"
    if found is None and value.endswith(b"}\0"):
        found = "byte 0 follows it, as it does strings in C"
    if found is None and len(value) <= LONGEST_SEARCHED and _has_several(value, parse):
        found = "it has several objects, and a message is one event"
    if found is None and len(value) <= LONGEST_SEARCHED:
        found = _wrong_inside(value)
    return reason if found is None else f"{reason}: {found}"


def _wrong_inside(value: bytes) -> str | None:
    """What a value has that no reader of JSON accepts, or only some do."""
    if not value.strip():
        return "it is empty"
    try:
        value.decode()
    except UnicodeDecodeError:
        return "its text is not UTF-8"
    large = next((one for one in LARGE_NUMBER.findall(value) if math.isinf(float(one))), b"")[:SHOWN_NUMBER].decode()
    if large:
        return f"it has a number that is too large for 64 bits, {large}"
    half = HALF.search(value)
    return half and f"it has half of a character, {half[1].decode()}, as in a cut text"


def _has_several(value: bytes, parse: Callable[[bytes], Any]) -> bool:
    """Whether a value is several JSON objects, one after the other.

    Where commas are put into a text inside of an object, it stays one.
    """
    listed, n = NEXT_OBJECT.subn(b"},{", value)
    try:
        return n > 0 and len(parse(b"[%b]" % listed)) > 1
    except ValueError:
        return False


def why_no_object(reason: str, value: Any) -> str:
    """Return the reason of a JSON value that is no object, with what it shows that it is."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return f"{reason}: it is text that holds one, so it was encoded twice"
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return f"{reason}: it is a list of objects, and a message is one event"
    return reason

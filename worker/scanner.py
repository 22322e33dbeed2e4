"""Plain JSON events straight into arrays, in one kernel call per batch.

Plain means: one object; `x` a list of d numbers; `y` a number or null; `id` an integer or a simple string;
`t` an integer; other fields holding numbers, simple strings, true, false or null. Everything else (escapes,
non-ASCII, nesting, repeated keys, anything malformed) is marked and left to orjson, which decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learners.jit import fragment, kernel
from worker.decimals import (
    EXACT_INTEGERS,
    MINUS,
    MOST_DIGITS,
    NINE_DIGIT,
    POINT,
    POWERS_OF_TEN,
    ZERO_DIGIT,
    Text,
    read_number,
)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

QUOTE, BACKSLASH, COLON, COMMA = 34, 92, 58, 44
OPEN, CLOSE, OPEN_LIST, CLOSE_LIST = 123, 125, 91, 93
LOWER_X, LOWER_Y, LOWER_T, LOWER_I, LOWER_D, LOWER_N = 120, 121, 116, 105, 100, 110
SEEN_X, SEEN_Y, SEEN_ID, SEEN_T = 1, 2, 4, 8
MAX_INTEGER_DIGITS = 18
MOST_PLACES = 22
SPACE = 32
NO_TIME = np.iinfo(np.int64).min


def scan(
    text: Text, starts: Integers, ends: Integers, n_features: int
) -> tuple[Floats, Floats, Integers, Integers, NDArray[np.bool_]]:
    """Read plain events.

    Parameters
    ----------
    text : u1[bytes]
        The events' text; event i is text[starts[i]:ends[i]], and a byte follows it that is no part of a number.
    starts, ends : i8[n]
        Bounds of the events.
    n_features : int
        d, the length that `x` must have to be plain.

    Returns
    -------
    X : f8[n, d]
    y : f8[n]
        NaN where `y` is null or absent.
    spans : i8[2, n]
        Bounds of the `id` value in `text`; empty where there is none.
    t : i8[n]
        `t`, or NO_TIME.
    plain : bool[n]
        False where the event was left to orjson; its other outputs are then undefined.
    """
    n = len(starts)
    X = np.empty((n, n_features))
    y = np.empty(n)
    spans = np.zeros((2, n), np.int64)
    t = np.empty(n, np.int64)
    plain = np.empty(n, np.bool_)
    _scan(text, starts, ends, X, y, spans, t, plain)
    return X, y, spans, t, plain


@kernel
def _scan(
    text: Text,
    starts: Integers,
    ends: Integers,
    X: Floats,
    y: Floats,
    spans: Integers,
    t: Integers,
    plain: NDArray[np.bool_],
) -> None:
    """Read event after event; shapes as in `scan`."""
    for i in range(len(starts)):
        y[i] = np.nan
        t[i] = NO_TIME
        plain[i] = _event(text, starts[i], ends[i], X, y, spans, t, i)


@fragment
def _event(text: Text, p: int, end: int, X: Floats, y: Floats, spans: Integers, t: Integers, i: int) -> bool:
    """Read one event into row i; False if it is not plain."""
    p = _skip(text, p, end)
    if p >= end or text[p] != OPEN:
        return False
    p = _skip(text, p + 1, end)
    seen = 0
    while True:
        if p >= end or text[p] != QUOTE:
            return False
        name = p + 1
        p = _string(text, p, end)
        if p < 0:
            return False
        length = p - 1 - name
        p = _skip(text, p, end)
        if p >= end or text[p] != COLON:
            return False
        p = _skip(text, p + 1, end)
        if p >= end:
            return False
        field = 0
        if length == 1:
            if text[name] == LOWER_X:
                field = SEEN_X
            elif text[name] == LOWER_Y:
                field = SEEN_Y
            elif text[name] == LOWER_T:
                field = SEEN_T
        elif length == 2 and text[name] == LOWER_I and text[name + 1] == LOWER_D:
            field = SEEN_ID
        if seen & field:
            return False
        seen |= field
        value = p
        if field == SEEN_X:
            p = _features(text, p, end, X, i)
        elif text[p] == QUOTE and field in (0, SEEN_ID):
            p = _string(text, p, end)
        elif field in (SEEN_T, SEEN_ID):
            p = _integer(text, p, end)
            if p >= 0 and field == SEEN_T:
                t[i] = _integer_value(text, value, p)
        elif text[p] == MINUS or ZERO_DIGIT <= text[p] <= NINE_DIGIT:
            p, number = read_number(text, p, end)
            if field == SEEN_Y:
                y[i] = number
        elif field == 0 or text[p] == LOWER_N:
            p = _word(text, p, end)
        else:
            p = -1
        if p < 0:
            return False
        if field == SEEN_ID:
            spans[0, i] = value
            spans[1, i] = p
        p = _skip(text, p, end)
        if p >= end:
            return False
        if text[p] == COMMA:
            p = _skip(text, p + 1, end)
            continue
        if text[p] != CLOSE:
            return False
        return (seen & SEEN_X) != 0 and _skip(text, p + 1, end) == end


@fragment
def _features(text: Text, p: int, end: int, X: Floats, i: int) -> int:
    """Read a list of exactly d numbers into row i; the position after it, or -1.

    The common number, digits with at most one point, is read right here; any other by `read_number`.
    """
    if text[p] != OPEN_LIST:
        return -1
    d = X.shape[1]
    p += 1
    for j in range(d):
        c = text[p]
        if c == SPACE:
            p = _skip(text, p, end)
            c = text[p]
        start = p
        if c == MINUS:
            p += 1
            c = text[p]
        first, w = p, 0
        while ZERO_DIGIT <= c <= NINE_DIGIT:
            w = w * 10 + (c - ZERO_DIGIT)
            p += 1
            c = text[p]
        digits, places = p - first, 0
        if c == POINT:
            point = p
            p += 1
            c = text[p]
            while ZERO_DIGIT <= c <= NINE_DIGIT:
                w = w * 10 + (c - ZERO_DIGIT)
                p += 1
                c = text[p]
            places = p - point - 1
            digits = digits + places if digits > 0 and places > 0 else 0
        closing = COMMA if j < d - 1 else CLOSE_LIST
        if (
            c == closing
            and 0 < digits <= MOST_DIGITS
            and places <= MOST_PLACES
            and 0 < w <= EXACT_INTEGERS
            and (text[first] != ZERO_DIGIT or text[first + 1] == POINT)
        ):
            value = w / POWERS_OF_TEN[places]
            X[i, j] = -value if first > start else value
        else:
            if start >= end:
                return -1
            p, X[i, j] = read_number(text, start, end)
            if p < 0:
                return -1
            p = _skip(text, p, end)
            if p >= end or text[p] != closing:
                return -1
        p += 1
    return p if p <= end else -1


@fragment
def _skip(text: Text, p: int, end: int) -> int:
    """The position of the next byte that is not white space."""
    while p < end and (text[p] == 32 or text[p] == 10 or text[p] == 13 or text[p] == 9):
        p += 1
    return p


@fragment
def _string(text: Text, p: int, end: int) -> int:
    """The position after a string of printable ASCII without escapes, or -1."""
    p += 1
    while p < end and text[p] != QUOTE:
        if text[p] < 32 or text[p] > 126 or text[p] == BACKSLASH:
            return -1
        p += 1
    return p + 1 if p < end else -1


@fragment
def _integer(text: Text, p: int, end: int) -> int:
    """The position after a canonical integer that fits 64 bits, or -1 (also for -0)."""
    if text[p] == MINUS:
        p += 1
        if p < end and text[p] == 48:
            return -1
    first = p
    while p < end and 48 <= text[p] <= 57:
        p += 1
    digits = p - first
    if digits == 0 or digits > MAX_INTEGER_DIGITS or (digits > 1 and text[first] == 48):
        return -1
    if p < end and (text[p] == 46 or text[p] == 101 or text[p] == 69):
        return -1
    return p


@fragment
def _integer_value(text: Text, p: int, end: int) -> int:
    """The value of a canonical integer."""
    negative = text[p] == MINUS
    value = 0
    for q in range(p + 1 if negative else p, end):
        value = value * 10 + int(text[q] - 48)
    return -value if negative else value


@fragment
def _word(text: Text, p: int, end: int) -> int:
    """The position after true, false or null, or -1."""
    for word in ("null", "true", "false"):
        n = len(word)
        if end - p >= n:
            same = True
            for k in range(n):
                if text[p + k] != ord(word[k]):
                    same = False
                    break
            if same:
                return p + n
    return -1

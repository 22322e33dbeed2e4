"""Read JSON tokens in kernels; for anything but the common simple form they return NOWHERE and leave it to orjson.

No fragment skips a byte that it has not recognised, and none recognises a zero byte, so all of them stop at the end of
a text that ends with one.
"""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import fragment, load8, trailing_zeros
from driftway.worker.wire.columns import Text
from driftway.worker.wire.json_tokens.decimals import (
    ALL_ONES,
    EIGHT,
    FOUR,
    HIGH_BITS,
    LOWER_E,
    MINUS,
    NINE,
    NOWHERE,
    ONE,
    PLUS,
    POINT,
    THREE,
    UPPER_E,
    ZERO,
    ZERO_DIGIT,
)

QUOTE, COLON, COMMA = 34, 58, 44
OPEN, CLOSE, OPEN_LIST, CLOSE_LIST = 123, 125, 91, 93
LOWER_N = 110
SPACE, TAB, NEWLINE, RETURN = 32, 9, 10, 13
LEAST_LEADER, LAST_LEADER, FIRST_MIDDLE, LAST_MIDDLE = 0xC2, 0xF4, 0x80, 0xBF
"""Ranges of UTF-8 bytes: the first byte of a multi-byte character, and its continuation bytes."""
MAX_INTEGER_DIGITS = np.uint64(18)


def load_word(text: bytes) -> np.uint64:
    """Return up to eight bytes as the word that `load8` reads."""
    return np.uint64(int.from_bytes(text, "little"))


TWO, FIVE = np.uint64(2), np.uint64(5)
THREE_BYTES, FOUR_BYTES, FIVE_BYTES = (np.uint64(256**n - 1) for n in (3, 4, 5))
NULL, TRUE, FALSE = load_word(b"null"), load_word(b"true"), load_word(b"false")
LOW_BITS, SPACES, QUOTES, BACKSLASHES = (
    load_word(b"\1" * 8),
    load_word(b" " * 8),
    load_word(b'"' * 8),
    load_word(b"\\" * 8),
)


@fragment
def same(text: Text, p: np.uint64, other: Text, start: np.uint64, end: np.uint64) -> bool:
    """Whether text[p:] begins with other[start:end], which has at least one byte and no zero byte."""
    while end - start > EIGHT:
        if load8(text, p) != load8(other, start):
            return False
        p += EIGHT
        start += EIGHT
    beyond = (EIGHT - (end - start)) << THREE
    return bool((load8(text, p) ^ load8(other, start)) & (ALL_ONES >> beyond) == ZERO)


@fragment
def skip(text: Text, p: np.uint64) -> np.uint64:
    """Return the position of the next byte that is not white space."""
    while text[p] <= SPACE and (text[p] == SPACE or text[p] == NEWLINE or text[p] == RETURN or text[p] == TAB):
        p += ONE
    return p


@fragment
def string(text: Text, p: np.uint64) -> np.uint64:
    """Return the position after an ASCII string without escapes whose quote is at p, or NOWHERE."""
    p += ONE
    eight = load8(text, p)
    others = _no_letters(eight)
    while others == ZERO:
        p += EIGHT
        others = _no_letters(load8(text, p))
    p += trailing_zeros(others) >> THREE
    return p + ONE if text[p] == QUOTE else NOWHERE


@fragment
def any_string(text: Text, p: np.uint64) -> np.uint64:
    """Return the position after a UTF-8 string without escapes whose quote is at p, or NOWHERE."""
    p += ONE
    while True:
        others = _no_letters(load8(text, p))
        while others == ZERO:
            p += EIGHT
            others = _no_letters(load8(text, p))
        p += trailing_zeros(others) >> THREE
        if text[p] < LEAST_LEADER:
            return p + ONE if text[p] == QUOTE else NOWHERE
        p = _letter(text, p)
        if p == NOWHERE:
            return NOWHERE


@fragment
def _letter(text: Text, p: np.uint64) -> np.uint64:
    """Return the position after a character of two to four bytes, or NOWHERE if it is not UTF-8.

    Source: The Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing beyond U+10FFFF.
    """
    first, second = text[p], text[p + ONE]
    low, high, more = FIRST_MIDDLE, LAST_MIDDLE, ZERO
    if first >= 0xF0:
        more = TWO
        low = 0x90 if first == 0xF0 else FIRST_MIDDLE
        high = 0x8F if first == 0xF4 else LAST_MIDDLE
    elif first >= 0xE0:
        more = ONE
        low = 0xA0 if first == 0xE0 else FIRST_MIDDLE
        high = 0x9F if first == 0xED else LAST_MIDDLE
    if first > LAST_LEADER or second < low or second > high:
        return NOWHERE
    p += TWO
    while more > ZERO:
        if text[p] < FIRST_MIDDLE or text[p] > LAST_MIDDLE:
            return NOWHERE
        p += ONE
        more -= ONE
    return p


@fragment
def _no_letters(eight: np.uint64) -> np.uint64:
    """Set the high bit of quotes, backslashes, controls and non-ASCII; valid up to the first, as in `_no_digits`."""
    marks = ((eight ^ QUOTES) - LOW_BITS) | ((eight ^ BACKSLASHES) - LOW_BITS)
    return (marks | (eight - SPACES) | eight) & HIGH_BITS


@fragment
def integer(text: Text, p: np.uint64) -> tuple[np.uint64, np.int64]:
    """Read an integer of up to 18 digits in canonical form (not -0): (position after it, value), else NOWHERE."""
    negative = text[p] == MINUS
    p += np.uint64(negative)
    first, value = p, np.int64(0)
    digit = np.uint64(text[p]) - ZERO_DIGIT
    while digit <= NINE:
        value = value * 10 + np.int64(digit)
        p += ONE
        digit = np.uint64(text[p]) - ZERO_DIGIT
    digits = p - first
    sound = ZERO < digits <= MAX_INTEGER_DIGITS and (text[first] != ZERO_DIGIT or (digits == ONE and not negative))
    if text[p] == POINT or text[p] == LOWER_E or text[p] == UPPER_E:
        sound = False
    return (p if sound else NOWHERE), (-value if negative else value)


@fragment
def number_end(text: Text, p: np.uint64) -> np.uint64:
    """Return the position after a JSON number of any length at p, or NOWHERE; also for -0, which orjson reads as 0."""
    negative = text[p] == MINUS
    p += np.uint64(negative)
    first, p = p, _past_digits(text, p)
    sound = p > first and (text[first] != ZERO_DIGIT or p == first + ONE)
    whole = p
    if text[p] == POINT:
        p = _past_digits(text, p + ONE)
        sound = sound and p > whole + ONE
    if text[p] == LOWER_E or text[p] == UPPER_E:
        p += ONE
        if text[p] == MINUS or text[p] == PLUS:
            p += ONE
        start, p = p, _past_digits(text, p)
        sound = sound and p > start
    if negative and p == whole and text[first] == ZERO_DIGIT:
        sound = False
    return p if sound else NOWHERE


@fragment
def _past_digits(text: Text, p: np.uint64) -> np.uint64:
    """Return the position after the digits at p."""
    while np.uint64(text[p]) - ZERO_DIGIT <= NINE:
        p += ONE
    return p


@fragment
def literal(text: Text, p: np.uint64) -> np.uint64:
    """Return the position after null, true or false, or NOWHERE."""
    eight = load8(text, p)
    if eight & FOUR_BYTES == NULL or eight & FOUR_BYTES == TRUE:
        return p + FOUR
    return p + FIVE if eight & FIVE_BYTES == FALSE else NOWHERE

"""Count the words of a list, or add up the values of an object by the names of their fields, in hashed columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftway.learners.engine.jit import fragment, kernel
from driftway.worker.wire.columns import SPARE, Floats, Integers, Text
from driftway.worker.wire.json_tokens.decimals import MINUS, NINE, ONE, ZERO_DIGIT, Words, read_number
from driftway.worker.wire.json_tokens.tokens import (
    CLOSE,
    CLOSE_LIST,
    COMMA,
    LOWER_N,
    OPEN,
    OPEN_LIST,
    QUOTE,
    literal,
    skip,
)
from driftway.worker.wire.schema.cell_table import (
    FALSE,
    LARGEST_EXACT,
    NESTED,
    NO_TEXT,
    TRUE,
    CellTable,
    ExtraText,
    put,
)
from driftway.worker.wire.schema.conversion.convert import (
    GOOD,
    INFINITE,
    NEEDS_PARSER,
    OFFSET_BASIS,
    PRIME,
    WRONG,
    Codes,
    FeatureSlot,
    bits_hash,
    bucket_of,
    digits_hash,
    read_hashes,
)
from driftway.worker.wire.schema.fields import pass_over

SLOTS = 1 << 12
"""Size of the table of names that an object has had; objects with more than half as many fields are left to Python."""
LOWER_T = 116


@kernel
def count_words(
    cells: CellTable,
    spot: FeatureSlot,
    text: Text,
    names: bool,
    event: Integers,
    hashes: Words,
    X: Floats,
    codes: Codes,
) -> None:
    """Write the sums of lists, or with `names` of objects, as `word_counts` does; leave cells of other kinds.

    An object in which two names may be the same is NEEDS_PARSER, and so is what has no text. Shapes: event i8[SLOTS],
    zeros at first, and hashes u8[SLOTS], a table of which event had a name of which hash last; X f8[n, columns], codes
    i1[n, features].
    """
    last = np.uint64(SLOTS - 1)
    for i in range(X.shape[0]):
        if cells.kind[i, spot.field] != NESTED:
            continue
        if cells.start[i, spot.field] == NO_TEXT:
            codes[i, spot.feature] = NEEDS_PARSER
            continue
        p = np.uint64(cells.start[i, spot.field])
        code = GOOD if (text[p] == OPEN) == names else WRONG
        for k in range(spot.width):
            X[i, spot.column + k] = 0.0
        fields = 0
        p = skip(text, p + ONE)
        while code == GOOD and text[p] != CLOSE and text[p] != CLOSE_LIST:
            h, number = OFFSET_BASIS, 1.0
            if names:
                p, h = _text_hash(text, p)
                at = h & last
                while event[at] == i + 1 and hashes[at] != h:
                    at = (at + ONE) & last
                fields += 1
                if event[at] == i + 1 or 2 * fields > SLOTS:
                    code = NEEDS_PARSER
                event[at], hashes[at] = i + 1, h
                p = skip(text, skip(text, p) + ONE)
            counts = text[p] != LOWER_N
            if text[p] == QUOTE and not names:
                p, h = _text_hash(text, p)
            elif text[p] == OPEN or text[p] == OPEN_LIST or text[p] == QUOTE:
                code = code if names else WRONG
                p = pass_over(text, p)
            elif text[p] == MINUS or np.uint64(text[p]) - ZERO_DIGIT <= NINE:
                start = p
                p, value = read_number(text, start)
                if names:
                    number = value
                else:
                    h = bits_hash(value) if abs(value) < LARGEST_EXACT else digits_hash(text, int(start))
            else:
                truth = text[p] == LOWER_T
                if names:
                    number = 1.0 if truth else 0.0
                else:
                    h = (h ^ np.uint64(TRUE if truth else FALSE)) * PRIME
                p = literal(text, p)
            if counts:
                X[i, spot.column + bucket_of(h, spot.width)] += number
            p = skip(text, p)
            if text[p] == COMMA:
                p = skip(text, p + ONE)
        for k in range(spot.width):
            if code == GOOD and not math.isfinite(X[i, spot.column + k]):
                code = INFINITE
        codes[i, spot.feature] = code


@fragment
def _text_hash(text: Text, p: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the position after the string without escapes at p, and its FNV-1a."""
    h = OFFSET_BASIS
    p += ONE
    while text[p] != QUOTE:
        h = (h ^ np.uint64(text[p])) * PRIME
        p += ONE
    return p + ONE, h


def word_counts(value: list[Any] | dict[str, Any], width: int, names: bool) -> tuple[Floats, int]:
    """Return the sums per column, f8[width], and the outcome of reading; sums that are not GOOD are NaN.

    A value that is null is not counted.

    Parameters
    ----------
    value : list or dict
        A list counts 1 for each of its values. An object adds numbers and truth values as they are, and 1 for others.
    width : int
        Number of columns.
    names : bool
        Whether an object is expected.
    """
    unusable = np.full(width, math.nan)
    if isinstance(value, dict):
        pairs = [(name, _number_in(one)) for name, one in value.items() if one is not None]
        wrong = not names
    else:
        pairs = [(one, 1.0) for one in value if one is not None]
        wrong = names or any(isinstance(one, list | dict) for one, _ in pairs)
    if wrong:
        return unusable, WRONG
    cells, tail, n = CellTable.of(len(pairs), 1), ExtraText(0), len(pairs)
    for k, (word, _) in enumerate(pairs):
        put(cells, k, 0, word, tail)
    text = np.frombuffer(b"".join(tail.texts) + bytes(SPARE), np.uint8)
    column = np.empty(n, np.int64)
    read_hashes(cells, FeatureSlot(0, 0, 0, width), text, width, column, np.empty((n, 1), np.int8))
    sums = [0.0] * width
    for k, (_, number) in zip(column.tolist(), pairs, strict=True):
        sums[k] += number
    return (np.array(sums), GOOD) if all(map(math.isfinite, sums)) else (unusable, INFINITE)


def _number_in(value: Any) -> float:
    try:
        return float(value) if isinstance(value, int | float) else 1.0
    except OverflowError:
        return math.inf

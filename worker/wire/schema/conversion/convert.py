"""Convert cells to columns of numbers, with a kernel for each kind of feature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import fragment, kernel, load8
from driftway.worker.wire.columns import SPARE, Floats, Integers, Text
from driftway.worker.wire.json_tokens.decimals import (
    ALL_ONES,
    EIGHT,
    LOWER_E,
    MINUS,
    PLUS,
    POINT,
    THREE,
    UPPER_E,
    Words,
    read_number,
)
from driftway.worker.wire.json_tokens.text_values import NUMBER as NUMBER_IN_TEXT
from driftway.worker.wire.json_tokens.text_values import TRUTH_WORDS, as_number, truth_indices
from driftway.worker.wire.json_tokens.tokens import load_word, same
from driftway.worker.wire.schema.cell_table import (
    FALSE,
    LARGEST_EXACT,
    NESTED,
    NO_TEXT,
    NULL,
    NUMBER,
    TEXT,
    TRUE,
    CellTable,
)
from driftway.worker.wire.schema.conversion.times import NO_UNIT, NOT_A_TIME
from driftway.worker.wire.schema.feature import OTHERS

Codes = NDArray[np.int8]
"""i1[n, features]: outcome of reading each value."""

GOOD, MISSING, WRONG, INFINITE, NEEDS_PARSER, WITHOUT_UNIT = range(6)
"""Outcomes of reading a value: read, missing, of a wrong kind, not finite, left to Python, or a time whose unit is not
known."""
JSON_TRUTHS = b"false", b"true"
TRUTHS = np.array([load_word(word.encode()) for words in TRUTH_WORDS for word in words])
"""The words of TRUTH_WORDS, those for false first."""
FALSE_WORDS, LONGEST_TRUTH = len(TRUTH_WORDS[0]), 5
LOWER_CASE = load_word(b" " * 8)
"""The bits that make letters small."""
OFFSET_BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
HASHED_NUMBER, HASHED_DIGITS = np.uint64(1), np.uint64(2)
"""Hashed before the bits or the digits of a number, so that numbers and texts have different hashes."""
WHOLE_LARGEST_EXACT, DIGITS_OF_LARGEST_EXACT = 1 << 53, 16
LARGEST_EXPONENT, LEAST_POWER = 10_000, -(1 << 40)
"""Larger exponents, which no float64 has, count as this one; no text is long enough for a smaller power."""


class Categories(NamedTuple):
    """Texts to compare with, and the numbers that they represent."""

    text: Text
    """Concatenated texts, then SPARE bytes."""
    bounds: Words
    """u8[k + 1]: start of each text, then the end of the last."""
    number: Floats
    """f8[k], NaN if the text is not a number."""
    digits: Words
    """u8[k]: `digits_hash` of the numbers beyond LARGEST_EXACT, which may be one and the same float64."""
    truth: Integers
    """i8[2]: indices of the categories of false and true; -1: none."""
    any_spelling: bool
    """Whether texts that are truth words in another spelling are those categories, too."""
    others: int
    """Index of the category of all other values; -1: none."""

    @classmethod
    def of(cls, names: tuple[str, ...], with_others: bool = True, any_spelling: bool = True) -> Categories:
        """Build categories in this order; if `with_others`, OTHERS stands for all values that are not listed.

        If one name is a word for false, another one for true, and there are no others, these are the categories of all
        such words; not without `any_spelling`.
        """
        texts = [name.encode() for name in names]
        bounds = np.cumsum([0, *map(len, texts)], dtype=np.uint64)
        numbers = [as_number(name) for name in names]
        values = [math.nan if isinstance(number, str) else float(number) for number in numbers]
        pairs = zip(names, values, strict=True)
        digits = [_digits_of(name) if abs(value) >= LARGEST_EXACT else 0 for name, value in pairs]
        others = names.index(OTHERS) if with_others and OTHERS in names else -1
        truth = list(truth_indices([name for k, name in enumerate(names) if k != others])) if any_spelling else [-1, -1]
        any_spelling = truth[0] >= 0
        if not any_spelling:
            truth = [texts.index(word) if word in texts else -1 for word in JSON_TRUTHS]
        all_text = np.frombuffer(b"".join(texts) + bytes(SPARE), np.uint8)
        numbers_and_digits = np.array(values), np.array(digits, np.uint64)
        return cls(all_text, bounds, *numbers_and_digits, np.array(truth, np.int64), any_spelling, others)


class FeatureSlot(NamedTuple):
    """Where a feature is read and written."""

    field: int
    """Its field, a column of the cells."""
    feature: int
    """Its index, which is its column in the codes."""
    column: int
    """Its first column in a row."""
    width: int
    """Its number of columns."""


class FeatureSlots(NamedTuple):
    """Slots of several features of one column each."""

    feature: Integers
    field: Integers
    column: Integers

    @classmethod
    def of(cls, spots: Sequence[FeatureSlot]) -> FeatureSlots:
        """Convert slots to columns, i8[k] each."""
        rows = [(spot.feature, spot.field, spot.column) for spot in spots]
        return cls(*np.ascontiguousarray(np.array(rows, np.int64).reshape(-1, 3).T))


def _digits_of(name: str) -> int:
    """Return `digits_hash` of a category that is a number."""
    return int(digits_hash(np.frombuffer(name.removeprefix("+").encode() + bytes(SPARE), np.uint8), 0))


@kernel
def read_numbers(cells: CellTable, spots: FeatureSlots, text: Text, X: Floats, codes: Codes) -> bool:
    """Read numbers, truth values as 0 and 1, and numbers in text; return whether none is NEEDS_PARSER.

    Shapes: X f8[n, columns], NaN where not GOOD; codes i1[n, features].
    """
    easy = True
    for i in range(X.shape[0]):
        for k in range(spots.field.shape[0]):
            field = spots.field[k]
            kind, value, code = cells.kind[i, field], math.nan, GOOD
            if kind == NUMBER:
                value = cells.number[i, field]
                if not math.isfinite(value):
                    value, code = math.nan, INFINITE
            elif FALSE <= kind <= TRUE:
                value = 1.0 if kind == TRUE else 0.0
            elif kind == TEXT:
                start, end = cells.start[i, field], cells.end[i, field]
                if start == end:
                    code = MISSING
                else:
                    p, value = read_number(text, np.uint64(start))
                    if p != np.uint64(end):
                        value, code, easy = math.nan, NEEDS_PARSER, False
            else:
                code = WRONG if kind == NESTED else MISSING
            X[i, spots.column[k]] = value
            codes[i, spots.feature[k]] = code
    return easy


def number_in_text(text: bytes) -> tuple[float, int]:
    """Read a text that `read_numbers` left, which may be a number that JSON does not allow: (value, code)."""
    stripped = text.decode(errors="replace").strip()
    if not stripped:
        return math.nan, MISSING
    if not NUMBER_IN_TEXT.fullmatch(stripped):
        return math.nan, WRONG
    value = float(stripped)
    return (value, GOOD) if math.isfinite(value) else (math.nan, INFINITE)


@kernel
def read_categories(
    cells: CellTable, spot: FeatureSlot, text: Text, known: Categories, out: Integers, codes: Codes
) -> None:
    """Write the index of each value's category, -1: none. Shapes: out i8[n], codes i1[n, features]."""
    for i in range(out.shape[0]):
        kind = cells.kind[i, spot.field]
        out[i] = known.others
        codes[i, spot.feature] = GOOD
        if kind == TEXT:
            start, end = cells.start[i, spot.field], cells.end[i, spot.field]
            found = _index_of(text, start, end, known)
            if found < 0 and known.any_spelling:
                truth = _truth_in(text, start, end)
                found = known.truth[truth] if truth >= 0 else -1
            if found >= 0:
                out[i] = found
        elif kind == NUMBER:
            number, start = cells.number[i, spot.field], cells.start[i, spot.field]
            for k in range(known.number.shape[0]):
                if known.number[k] == number and (
                    abs(number) < LARGEST_EXACT or start == NO_TEXT or known.digits[k] == digits_hash(text, start)
                ):
                    out[i] = k
                    break
        elif FALSE <= kind <= TRUE:
            found = known.truth[1 if kind == TRUE else 0]
            if found >= 0:
                out[i] = found
        else:
            codes[i, spot.feature] = WRONG if kind == NESTED else MISSING


@fragment
def _index_of(text: Text, start: int, end: int, known: Categories) -> int:
    """Return the index of the category whose text is text[start:end], or -1."""
    size = np.uint64(end - start)
    for k in range(known.number.shape[0]):
        first, last = known.bounds[k], known.bounds[k + 1]
        if last - first == size and (size == np.uint64(0) or same(text, np.uint64(start), known.text, first, last)):
            return k
    return -1


@fragment
def _truth_in(text: Text, start: int, end: int) -> int:
    """Return `events.truth_in` of text[start:end]."""
    size = end - start
    if 0 < size <= LONGEST_TRUTH:
        beyond = (EIGHT - np.uint64(size)) << THREE
        word = (load8(text, np.uint64(start)) | LOWER_CASE) & (ALL_ONES >> beyond)
        for k in range(TRUTHS.shape[0]):
            if TRUTHS[k] == word:
                return 1 if k >= FALSE_WORDS else 0
    return -1


@kernel
def as_classes(index: Integers, codes: Codes, y: Floats) -> None:
    """Write class indices; a label that is no category is WRONG. Shapes: index i8[n], codes i1[n, 1], y f8[n, 1]."""
    for i in range(y.shape[0]):
        known = codes[i, 0] == GOOD and index[i] >= 0
        y[i, 0] = float(index[i]) if known else math.nan
        if codes[i, 0] == GOOD and not known:
            codes[i, 0] = WRONG


@kernel
def one_hot(index: Integers, spot: FeatureSlot, codes: Codes, X: Floats) -> None:
    """Write 1 to the column of the index, if >= 0; NaN to all if not GOOD. Shapes: index i8[n], X f8[n, columns]."""
    for i in range(X.shape[0]):
        good = codes[i, spot.feature] == GOOD
        for k in range(spot.width):
            X[i, spot.column + k] = 0.0 if good else math.nan
        if good and index[i] >= 0:
            X[i, spot.column + index[i]] = 1.0


@kernel
def read_hashes(cells: CellTable, spot: FeatureSlot, text: Text, count: int, out: Integers, codes: Codes) -> None:
    """Write each value's hash modulo `count`: FNV-1a of the text, or of a number's bits or digits.

    A float64 has the bits of a number up to 2^53, and of several numbers beyond it, which are hashed by their digits.
    Shapes: out i8[n], codes i1[n, features].
    """
    for i in range(out.shape[0]):
        kind, h = cells.kind[i, spot.field], OFFSET_BASIS
        out[i] = -1
        codes[i, spot.feature] = GOOD
        if kind == TEXT:
            for p in range(cells.start[i, spot.field], cells.end[i, spot.field]):
                h = (h ^ np.uint64(text[p])) * PRIME
        elif kind == NUMBER:
            number, start = cells.number[i, spot.field], cells.start[i, spot.field]
            by_bits = abs(number) < LARGEST_EXACT or start == NO_TEXT
            h = bits_hash(number) if by_bits else digits_hash(text, start)
        elif FALSE <= kind <= TRUE:
            h = (h ^ np.uint64(kind)) * PRIME
        else:
            codes[i, spot.feature] = WRONG if kind == NESTED else MISSING
            continue
        out[i] = bucket_of(h, count)


@fragment
def bucket_of(h: np.uint64, count: int) -> int:
    """Return a hash modulo `count`. FNV's low bits alone are poor, so the high ones are folded in."""
    return np.int64((h ^ (h >> np.uint64(32))) % np.uint64(count))  # type: ignore[return-value]


@fragment
def bits_hash(number: float) -> np.uint64:
    """Return FNV-1a of a number's bits."""
    bits = np.float64(number + 0.0).view(np.uint64)  # -0.0 is 0
    h = (OFFSET_BASIS ^ HASHED_NUMBER) * PRIME
    for k in range(8):
        h = (h ^ ((bits >> np.uint64(8 * k)) & np.uint64(255))) * PRIME
    return h


@kernel
def digits_hash(text: Text, p: int) -> np.uint64:
    """Return the hash of the JSON number at text[p:], |number| >= LARGEST_EXACT; equal numbers have equal hashes.

    FNV-1a of the digits from the first to the last that is not 0, of the power of ten of the last, and of the sign.
    For LARGEST_EXACT itself, which is hashed by its bits as all smaller numbers are, `bits_hash`.
    """
    negative = text[p] == MINUS
    p += 1 if negative else 0
    h, value, digits, zeros, places, behind = (OFFSET_BASIS ^ HASHED_DIGITS) * PRIME, 0, 0, 0, 0, False
    digit = digit_at(text, p)
    while digit >= 0 or text[p] == POINT:
        behind = behind or digit < 0
        if digit > 0:
            for _ in range(zeros if digits else 0):  # those between digits
                h *= PRIME
                value, digits = 10 * value, digits + 1
            h = (h ^ np.uint64(digit)) * PRIME
            value, digits, zeros = 10 * value + digit, digits + 1, 0
        elif digit == 0:
            zeros += 1
        places += 1 if behind and digit >= 0 else 0
        p += 1
        digit = digit_at(text, p)
    exponent, below = 0, False
    if text[p] == LOWER_E or text[p] == UPPER_E:
        p += 1
        below = text[p] == MINUS
        p += 1 if below or text[p] == PLUS else 0
        while digit_at(text, p) >= 0:
            exponent = min(10 * exponent + digit_at(text, p), LARGEST_EXPONENT)
            p += 1
    power = (-exponent if below else exponent) - places + zeros
    if digits == DIGITS_OF_LARGEST_EXACT and value == WHOLE_LARGEST_EXACT and power == 0:
        return bits_hash(-LARGEST_EXACT if negative else LARGEST_EXACT)
    h = (h ^ np.uint64(power - LEAST_POWER)) * PRIME
    return (h ^ np.uint64(negative)) * PRIME


@fragment
def digit_at(text: Text, p: int) -> int:
    """Return the digit at p, or -1."""
    digit = int(text[p]) - 48
    return digit if 0 <= digit <= 9 else -1


@kernel
def write_index(cells: CellTable, spot: FeatureSlot, count: int, hashed: Integers, codes: Codes, X: Floats) -> None:
    """Write each value as a whole number below `count`: itself if it is one, else its hash; NaN where not GOOD.

    Shapes: hashed i8[n], codes i1[n, features], X f8[n, columns].
    """
    for i in range(X.shape[0]):
        value = float(hashed[i])
        if codes[i, spot.feature] != GOOD:
            value = math.nan
        elif cells.kind[i, spot.field] == NUMBER:
            number = cells.number[i, spot.field]
            if 0.0 <= number < count and number == math.floor(number):
                value = number + 0.0
        X[i, spot.column] = value


@kernel
def judge_times(cells: CellTable, spot: FeatureSlot, times: Integers, codes: Codes) -> None:
    """Write the outcome of reading a field's times; NO_UNIT becomes NOT_A_TIME.

    Shapes: times i8[n], codes i1[n, features].
    """
    for i in range(times.shape[0]):
        kind, code = cells.kind[i, spot.field], GOOD
        if times[i] == NO_UNIT:
            times[i], code = NOT_A_TIME, WITHOUT_UNIT
        elif times[i] == NOT_A_TIME:
            empty = kind == TEXT and cells.start[i, spot.field] == cells.end[i, spot.field]
            code = MISSING if kind <= NULL or empty else WRONG
        codes[i, spot.feature] = code

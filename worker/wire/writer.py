"""Write a batch's outputs into one buffer: a template's constant pieces with each row's values between them.

Text is copied 8 or 32 bytes at a time, so a copy writes up to 31 bytes too many, which the next copy overwrites.
Every buffer that is written, or read by `_copy`, therefore has SPARE unused bytes at its end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import fragment, kernel, load8, store8, trailing_zeros
from driftway.worker.wire.columns import Integers, Text
from driftway.worker.wire.json_tokens.buffer_pool import PooledColumn, give_buffer, slices, take_buffer
from driftway.worker.wire.json_tokens.decimals import HIGH_BITS, MINUS, THREE
from driftway.worker.wire.json_tokens.tokens import CLOSE, LOW_BITS
from driftway.worker.wire.scanner import NO_TIME

Column = tuple[Text, Integers]
"""Text, and the bounds i8[2, n] of each row's part of it."""

SPARE = 32
DECIMALS = 6
"""Of a fraction."""
LONGEST_INTEGER = len(str(-(2**63)))
MAX_PADDING = 2
"""Bytes that `cut` may allocate per byte of text: one very long row must not multiply the memory of all rows."""

# Words of eight bytes; the first byte of text is the lowest byte.
ALL_COMMAS, ALL_ZEROS = np.uint64(0x2C2C2C2C2C2C2C2C), np.uint64(0x3030303030303030)
MINUS_SIGN, NULL = np.uint64(MINUS), np.uint64(int.from_bytes(b"null", "little"))

ZERO, ONE, TEN, HUNDRED = np.uint64(0), np.uint64(1), np.uint64(10), np.uint64(100)
TEN_THOUSAND, HUNDRED_MILLION = np.uint64(10**4), np.uint64(10**8)
BYTE, HALF_WORD, TOP_BYTE = np.uint64(8), np.uint64(32), np.uint64(56)


class RowTemplate:
    """The text that the records of one `write` share.

    Parameters
    ----------
    before_id, before_offset : bytes
        Constant text.
    before_numbers : sequence of bytes
        Alternatives for the text before a row's numbers; each row selects one.
    between_numbers : sequence of bytes
        Text after each of a row's numbers but the last.
    before_time : sequence of bytes
        Alternatives for the text after a row's numbers; each row selects one.
    timed : bool
        Whether that text is followed by an integer or null.
    before_fraction : bytes or None
        Constant text behind the numbers, which ends with ``0.``; six decimals of a fraction follow. None: no fraction.
    before_words : bytes or None
        Constant text behind these; a text of the row's own follows. None: rows have no such text.
    """

    def __init__(
        self,
        before_id: bytes,
        before_offset: bytes,
        before_numbers: Sequence[bytes],
        between_numbers: Sequence[bytes],
        before_time: Sequence[bytes],
        timed: bool = True,
        before_fraction: bytes | None = None,
        before_words: bytes | None = None,
    ) -> None:
        more = [text for text in (before_fraction, before_words) if text is not None]
        constant = [before_id, before_offset, *between_numbers, *more]
        pieces = [*constant, *before_numbers, *before_time]
        self.text = as_text(b"".join(pieces) + bytes(SPARE))
        self.cuts = np.cumsum([0, *map(len, pieces)])
        has_more = before_fraction is not None, before_words is not None
        self.counts = len(between_numbers), len(before_numbers), len(before_time), timed, *has_more
        chosen = max(map(len, before_numbers)) + max(map(len, before_time))
        self.longest = sum(map(len, constant)) + chosen + DECIMALS + len("}")


def as_text(data: bytes) -> Text:
    """View bytes as a read-only u1[n], without a copy."""
    return np.frombuffer(data, np.uint8)


def write(
    template: RowTemplate,
    ids: Column,
    offsets: Integers,
    front: Integers,
    listed: bytes,
    back: Integers,
    t: Integers,
    fraction: Integers | None = None,
    words: Column | None = None,
) -> PooledColumn:
    """Write one record per row: id, offset, numbers and time between the template's pieces, then a closing brace.

    Parameters
    ----------
    template : RowTemplate
        The constant pieces.
    ids : Column
        Copied verbatim. The text is the entire input of a batch; only the ids are copied from it.
    offsets : i8[n]
        Written as integers; n > 0.
    front : i8[n]
        Index into `before_numbers` for each row.
    listed : bytes
        The numbers of all rows as one flat JSON list, e.g. ``b"[1.5,2,null]"``; each row has one number more than
        there are `between_numbers`.
    back : i8[n]
        Index into `before_time` for each row.
    t : i8[n]
        Written as integers, NO_TIME as null; ignored unless the template is timed.
    fraction : i8[n] or None
        Millionths, 0 <= fraction < 10^6; only if the template has a fraction.
    words : Column or None
        A text for each row, with SPARE bytes behind the last; only if the template has such texts.

    Raises
    ------
    IndexError
        `front` or `back` has an index that the template does not have.
    """
    source, bounds = ids
    if len(source) < 8:
        source = as_text(source.tobytes() + bytes(8))
    n = len(offsets)
    # Commas after the last number too, so that its end is found like that of the others.
    numbers = as_text(listed[1:-1] + b"," * SPARE)
    own, spans = ids if words is None else words
    size = n * (template.longest + 2 * LONGEST_INTEGER) + int((bounds[1] - bounds[0]).sum()) + len(numbers)
    out = take_buffer(size + (0 if words is None else len(own)) + SPARE)
    ends = np.empty(n, np.int64)
    decimals = offsets if fraction is None else fraction
    values = offsets, front, numbers, decimals, own, spans, back, t
    if not _write(template.text, template.cuts, template.counts, source, bounds, values, out, ends):
        raise IndexError("a row refers to a text that the template does not have")
    return PooledColumn(out, ends, cut)


def cut(text: Text, ends: Integers) -> list[bytes]:
    """Return the rows of a text as bytes.

    Parameters
    ----------
    text : u1[bytes]
        The concatenated rows, then at least SPARE bytes. No row is empty or ends with a zero byte.
    ends : i8[n]
        Where each row ends; n > 0.
    """
    n, total = len(ends), int(ends[-1])
    width = int(np.diff(ends, prepend=0).max())
    if n * width > MAX_PADDING * total:
        return slices(text, ends)
    # numpy converts rows of equal width to bytes, without trailing zeros, in a third of the time of slicing.
    padded = take_buffer(n * width + SPARE)
    _pad(text, ends, width, padded)
    rows: list[bytes] = padded[: n * width].view(f"S{width}").tolist()
    give_buffer(padded)
    return rows


@kernel
def _pad(text: Text, ends: Integers, width: int, padded: Text) -> None:
    """Copy rows to multiples of `width`, padded with zeros; shapes as in `cut`, padded u1[n * width + SPARE]."""
    start = 0
    for i in range(len(ends)):
        q = i * width
        _copy(text, start, ends[i], padded, q)
        for p in range(q + ends[i] - start, q + width, 8):
            store8(padded, p, ZERO)
        start = ends[i]


@kernel
def _write(
    pieces: Text,
    cuts: Integers,
    counts: tuple[int, int, int, bool, bool, bool],
    source: Text,
    bounds: Integers,
    values: tuple[Integers, Integers, Text, Integers, Text, Integers, Integers, Integers],
    out: Text,
    ends: NDArray[np.int64],
) -> bool:
    """Write the records and their ends i8[n]; False if an index is out of range. Shapes: `write`, `RowTemplate`.

    The row loop has a single exit and accesses arrays unconditionally: otherwise numba counts references in it, which
    doubles the time.
    """
    between, fronts, backs, timed, has_fraction, has_words = counts
    offsets, front, numbers, fraction, words, spans, back, t = values
    more = int(has_fraction) + int(has_words)
    first_front = 2 + between + more
    first_back = first_front + fronts
    for i in range(len(offsets)):
        if not (0 <= front[i] < fronts and 0 <= back[i] < backs):
            return False
    p, q = 0, 0
    for i in range(len(offsets)):
        q = _piece(pieces, cuts, 0, out, q)
        q = _id(source, bounds[0, i], bounds[1, i], out, q)
        q = _piece(pieces, cuts, 1, out, q)
        q = _integer(offsets[i], out, q)
        q = _piece(pieces, cuts, first_front + front[i], out, q)
        for j in range(between + 1):
            length = _number(numbers, p, out, q)
            p += length + 1
            following = 2 + j if j < between + more else first_back + back[i]
            q = _piece(pieces, cuts, following, out, q + length)
        if has_fraction:
            q = _decimals(fraction[i], out, q)
            following = 3 + between if has_words else first_back + back[i]
            q = _piece(pieces, cuts, following, out, q)
        if has_words:
            start, end = spans[0, i], spans[1, i]
            _copy(words, start, end, out, q)
            q = _piece(pieces, cuts, first_back + back[i], out, q + end - start)
        if not timed:
            pass
        elif t[i] == NO_TIME:
            store8(out, q, NULL)
            q += 4
        else:
            q = _integer(t[i], out, q)
        out[q] = CLOSE
        q += 1
        ends[i] = q
    return True


@fragment
def _piece(pieces: Text, cuts: Integers, c: int, out: Text, q: int) -> int:
    """Copy piece c to out[q:]; return the position after it."""
    start, end = int(cuts[c]), int(cuts[c + 1])
    _copy(pieces, start, end, out, q)
    return q + end - start


@fragment
def _copy(text: Text, start: int, end: int, out: Text, q: int) -> None:
    """Copy text[start:end] to out[q:], and up to 31 bytes more."""
    shift = q - start
    for p in range(start, end, 32):
        # All four are read before any is written, so that the compiler merges them into one move.
        a, b, c, d = load8(text, p), load8(text, p + 8), load8(text, p + 16), load8(text, p + 24)
        store8(out, p + shift, a)
        store8(out, p + shift + 8, b)
        store8(out, p + shift + 16, c)
        store8(out, p + shift + 24, d)


@fragment
def _id(text: Text, start: int, end: int, out: Text, q: int) -> int:
    """Copy text[start:end] to out[q:]; return the position after it.

    The batch's input has no SPARE bytes: within its last 8 bytes, the last full word is read and shifted.
    """
    last = len(text) - 8
    for p in range(start, end, 8):
        inside = min(p, last)
        store8(out, q + p - start, load8(text, inside) >> (BYTE * np.uint64(p - inside)))
    return q + end - start


@fragment
def _number(text: Text, start: int, out: Text, q: int) -> int:
    """Copy text[start:] up to the next comma to out[q:]; return the length copied."""
    p, commas = start, ZERO
    while commas == ZERO:
        word = load8(text, p)
        store8(out, q + p - start, word)
        # Only a zero byte borrows from its own high bit, so the lowest high bit set is that of the first comma.
        others = word ^ ALL_COMMAS
        commas = (others - LOW_BITS) & ~others & HIGH_BITS
        p += 8
    return p - 8 - start + _bytes_below(commas)


@fragment
def _bytes_below(word: np.uint64) -> int:
    """Count the bytes of a nonzero word below the byte with its lowest set bit."""
    return int(np.int64(trailing_zeros(word) >> THREE))


@fragment
def _integer(value: int, out: Text, q: int) -> int:
    """Write the digits of an integer to out[q:]; return the position after them.

    A sign or groups of eight digits that the number does not have are written all the same, then overwritten.
    """
    store8(out, q, MINUS_SIGN)
    q += value < 0
    rest = np.uint64(value)
    rest = ZERO - rest if value < 0 else rest  # right for -2^63 too
    upper = rest // HUNDRED_MILLION
    uppermost = upper // HUNDRED_MILLION
    first = _eight_digits(rest if upper == ZERO else upper if uppermost == ZERO else uppermost)
    zeros = _bytes_below(first | (ONE << TOP_BYTE))  # the eighth digit is written even if it is a zero
    store8(out, q, (first | ALL_ZEROS) >> (BYTE * np.uint64(zeros)))
    q += 8 - zeros
    middle = _eight_digits(upper % HUNDRED_MILLION) if uppermost != ZERO else ZERO
    store8(out, q, middle | ALL_ZEROS)
    q += 8 * int(uppermost != ZERO)
    last = _eight_digits(rest % HUNDRED_MILLION) if upper != ZERO else ZERO
    store8(out, q, last | ALL_ZEROS)
    return q + 8 * int(upper != ZERO)


@fragment
def _decimals(millionths: int, out: Text, q: int) -> int:
    """Write the six decimals of a fraction to out[q:]; return the position after them."""
    store8(out, q, (_eight_digits(np.uint64(millionths)) | ALL_ZEROS) >> (BYTE * np.uint64(8 - DECIMALS)))
    return q + DECIMALS


@fragment
def _eight_digits(value: np.uint64) -> np.uint64:
    """Return the decimal digits of value < 10^8, one per byte of a word, the first digit in the lowest byte.

    The value is split into halves, pairs and digits, all parts of the word at once: x // 100 is x * 10486 >> 20 for
    x < 10^4, x // 10 is x * 103 >> 10 for x < 100.
    """
    halves = value // TEN_THOUSAND | (value % TEN_THOUSAND) << HALF_WORD
    upper = ((halves * np.uint64(10486)) >> np.uint64(20)) & np.uint64(0x0000007F0000007F)
    pairs = upper | (halves - HUNDRED * upper) << np.uint64(16)
    upper = ((pairs * np.uint64(103)) >> np.uint64(10)) & np.uint64(0x000F000F000F000F)
    return upper | (pairs - TEN * upper) << BYTE

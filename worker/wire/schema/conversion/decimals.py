"""Read decimals in kernels: base64 with a scale next to it, or in the event's own Connect schema."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from driftway.learners.engine.jit import fragment, kernel, load8
from driftway.worker.wire.codec import parse_json
from driftway.worker.wire.columns import Flags, Integers, Text
from driftway.worker.wire.json_tokens.decimals import NOWHERE, ONE, POWERS_OF_TEN
from driftway.worker.wire.json_tokens.tokens import (
    CLOSE,
    COMMA,
    OPEN,
    QUOTE,
    integer,
    load_word,
    same,
    skip,
    string,
)
from driftway.worker.wire.schema.cell_table import LARGEST_EXACT, NESTED, NO_TEXT, NUMBER, TEXT, CellTable
from driftway.worker.wire.schema.debezium import scale_in, schema_at
from driftway.worker.wire.schema.fields import pass_over

NO_DECIMAL, ANY_SCALE = -2, -1
"""Stands for a scale: the field is not a decimal, or its scale is one that the kernel does not read."""
MAX_SCHEMAS = 1000
"""Connect schemas whose scales are kept."""
SCALE_NAME, VALUE_NAME = load_word(b'"scale"'), load_word(b'"value"')
SEVEN, SEVEN_BYTES = np.uint64(7), np.uint64(256**7 - 1)
OTHER, READ, UNSURE = range(3)
"""Outcomes of reading a list or object: no decimal, read, or left to Python."""
MAX_BYTES, PAD, ABSENT = 7, 61, -1
"""Bytes that hold every number below LARGEST_EXACT; the sign that fills up the last four characters of base64."""
ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
DIGITS = np.array([ALPHABET.find(bytes([k])) for k in range(256)])
"""Value of each character, ABSENT for others."""


class DecimalReader:
    """Replaces decimals in cells by numbers.

    Parameters
    ----------
    steps : mapping
        Field -> the steps to it in an event's Connect schema; None: texts are no decimals there.
    schema_field : int
        Field that holds the Connect schemas.
    """

    def __init__(self, steps: Mapping[int, tuple[str, ...] | None], schema_field: int) -> None:
        self._fields, self._steps = np.array(list(steps), np.int64), list(steps.values())
        self._schema_field, self._known = schema_field, dict[bytes, list[int]]()

    def read(self, cells: CellTable, text: Text, plain: Flags) -> None:
        """Replace the decimals of plain events; an event with one that the kernel does not read is no longer plain."""
        changed = np.zeros(len(plain), np.bool_)
        _mark_changes(cells, self._schema_field, text, plain, changed)
        found = [self._scales(cells, text, i) for i in np.flatnonzero(changed).tolist()]
        if found:
            _read(cells, self._fields, text, np.array(found, np.int64), changed, plain)

    def _scales(self, cells: CellTable, text: Text, i: int) -> list[int]:
        """Return the scale of each field by the Connect schema of event i."""
        if cells.kind[i, self._schema_field] != NESTED:
            return [NO_DECIMAL] * len(self._steps)
        start = np.uint64(cells.start[i, self._schema_field])
        raw = text[start : pass_over(text, start)].tobytes()
        digest = blake2b(raw).digest()
        if digest not in self._known:
            if len(self._known) >= MAX_SCHEMAS:
                self._known.clear()
            schema = parse_json(raw)
            fields = [None if steps is None else schema_at(schema, steps) for steps in self._steps]
            self._known[digest] = [_readable(scale_in(one)) for one in fields]
        return self._known[digest]


def _readable(scale: Any) -> int:
    """Return a scale for which the kernel's division is exact; ANY_SCALE for others, NO_DECIMAL for None."""
    if scale is None:
        return NO_DECIMAL
    exact = isinstance(scale, str) and scale.isdecimal() and len(scale) <= 2 and int(scale) < len(POWERS_OF_TEN)
    return int(scale) if exact else ANY_SCALE


@kernel
def _mark_changes(cells: CellTable, field: int, text: Text, plain: Flags, changed: Flags) -> None:
    """Mark the first plain event, and each whose Connect schema is another than that of the plain event before it."""
    before = -1
    end = np.uint64(0)
    for i in range(plain.shape[0]):
        if not plain[i]:
            continue
        known = before >= 0 and (cells.kind[i, field] == NESTED) == (cells.kind[before, field] == NESTED)
        if known and cells.kind[i, field] == NESTED:
            known = same(text, np.uint64(cells.start[i, field]), text, np.uint64(cells.start[before, field]), end)
        if not known:
            changed[i] = True
            before = i
            if cells.kind[i, field] == NESTED:
                end = pass_over(text, np.uint64(cells.start[i, field]))


@kernel
def _read(cells: CellTable, fields: Integers, text: Text, scales: Integers, changed: Flags, plain: Flags) -> None:
    """Replace the decimals of plain events. Shapes: fields i8[k], scales i8[changes, k]."""
    row = -1
    for i in range(plain.shape[0]):
        row += 1 if changed[i] else 0
        if not plain[i]:
            continue
        for k in range(fields.shape[0]):
            field, scale, outcome = fields[k], scales[row, k], OTHER
            start, end = cells.start[i, field], cells.end[i, field]
            if cells.kind[i, field] == TEXT and scale != NO_DECIMAL:
                outcome = UNSURE if scale == ANY_SCALE else READ
            elif cells.kind[i, field] == NESTED:
                outcome, scale, start, end = _struct(text, np.uint64(start))
            if outcome == READ:
                good, units = _units(text, start, end)
                if good and abs(units) < LARGEST_EXACT:
                    cells.kind[i, field], cells.start[i, field] = NUMBER, NO_TEXT
                    cells.number[i, field] = units / POWERS_OF_TEN[scale]
                else:
                    outcome = UNSURE
            if outcome == UNSURE:
                plain[i] = False
                break


@fragment
def _struct(text: Text, p: np.uint64) -> tuple[int, np.int64, np.int64, np.int64]:
    """Read the object ``{"scale": .., "value": ".."}`` at p: (outcome, scale, bounds of the value's text)."""
    outcome, scale, start, end = OTHER, np.int64(-1), np.int64(0), np.int64(-1)
    p = skip(text, p + ONE) if text[p] == OPEN else p
    for k in range(2):
        name = load8(text, p) & SEVEN_BYTES
        is_scale = name == SCALE_NAME
        if not is_scale and name != VALUE_NAME:
            break
        outcome = UNSURE
        p = skip(text, skip(text, p + SEVEN) + ONE)
        if is_scale:
            p, scale = integer(text, p)
        elif text[p] == QUOTE:
            start = np.int64(p + ONE)
            p = string(text, p)
            end = np.int64(p - ONE)
        else:
            break
        if p == NOWHERE:
            break
        p = skip(text, p)
        if text[p] != (COMMA if k == 0 else CLOSE):
            break
        p = skip(text, p + ONE)
        if k == 1 and end >= 0 and 0 <= scale < POWERS_OF_TEN.shape[0]:
            outcome = READ
    return outcome, scale, start, end


@fragment
def _units(text: Text, start: int, end: int) -> tuple[bool, int]:
    """Return the whole number whose bytes are text[start:end] in base64, and whether they are at most MAX_BYTES."""
    size = end - start
    pads = 0
    while pads < 2 and pads < size and text[end - 1 - pads] == PAD:
        pads += 1
    good = size > 0 and size % 4 == 0 and size // 4 * 3 - pads <= MAX_BYTES
    value, bits = 0, 0
    if good:
        for p in range(start, end - pads):
            digit = DIGITS[text[p]]
            good = good and digit != ABSENT
            value = (digit - 64 if digit >= 32 else digit) if p == start else value * 64 + digit
            bits += 6
        value >>= bits % 8
    return good, value

"""Scan plain JSON events straight into arrays, in one kernel call per batch.

A plain event is one object: `x` is a list of d numbers, or an object of exactly the d named ones in any order (nulls
and absent names only if features may be missing); `y` is a number or null; `id` a number of any length or a simple
string; `t` an integer; other fields hold numbers, simple strings, true, false or null. A delayed label has `id` and `y`
but no `x`.
Everything else (escapes, non-ASCII, nesting, repeated keys, anything malformed) is marked and left to orjson.

Each event is terminated by a zero byte, at which all of `driftway.worker.wire.json_tokens.tokens` stop, so bounds need
not be checked. An eight-byte read may reach into the next event, or into TAIL after the last one; bytes after the first
unrecognised one are not used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import fragment, kernel, load8
from driftway.worker.wire.columns import END, SPARE, BytesColumn, Floats, Integers, ListColumn, Text
from driftway.worker.wire.json_tokens.decimals import (
    FOUR,
    MINUS,
    NINE,
    NOWHERE,
    ONE,
    THREE,
    ZERO,
    ZERO_DIGIT,
    Words,
    read_number,
)
from driftway.worker.wire.json_tokens.tokens import (
    CLOSE,
    CLOSE_LIST,
    COLON,
    COMMA,
    FOUR_BYTES,
    LOWER_N,
    NULL,
    OPEN,
    OPEN_LIST,
    QUOTE,
    THREE_BYTES,
    integer,
    literal,
    load_word,
    number_end,
    same,
    skip,
    string,
)

SEEN_X, SEEN_Y, SEEN_ID, SEEN_T = 1, 2, 4, 8
NEEDS_PARSER, ROW, LABEL = 0, 1, 2
"""How `scan` classifies an event: left to orjson, a row, or the label of an earlier event."""
NO_TIME = np.iinfo(np.int64).min
X_NAME, Y_NAME, T_NAME, ID_NAME = load_word(b'"x"'), load_word(b'"y"'), load_word(b'"t"'), load_word(b'"id"')

PATIENCE = 64
"""Failed comparisons allowed per feature name, on average, before events are left to orjson, so that no order of names
takes longer than orjson does."""


class Names(NamedTuple):
    """Feature names in the form that `scan` compares, and their order in the last event."""

    text: Text
    """Concatenated JSON texts of the names, then SPARE bytes."""
    bounds: Words
    """u8[d + 1]: start of each text, then the end of the last. u8[1] if features have no names."""
    order: Integers
    """i8[d], written by `scan`: index of each name of the last event, in its order; a hint for what to try first."""
    patience: Integers
    """i8[1], written by `scan`: number of failed comparisons left."""

    @classmethod
    def of(cls, names: Sequence[str]) -> Names:
        """Prepare a schema's names, in its order."""
        texts = [json.dumps(name, ensure_ascii=False).encode() for name in names]
        bounds = np.cumsum([0, *map(len, texts)], dtype=np.uint64)
        text = np.frombuffer(b"".join(texts) + bytes(SPARE), np.uint8)
        return cls(text, bounds, np.arange(len(texts)), np.zeros(1, np.int64))


NO_NAMES = Names.of(())


def scan(
    values: BytesColumn, n_features: int, names: Names = NO_NAMES, lenient: bool = False
) -> tuple[Text, Floats, Floats, Integers, Integers, NDArray[np.int8]]:
    """Scan plain events.

    Parameters
    ----------
    values : BytesColumn
        n events.
    n_features : int
        d, the length of `x` in a plain event.
    names : Names
        Names of the features; NO_NAMES if `x` is a list.
    lenient : bool
        Read a feature that is null, or absent where features have names, as NaN; its event is still plain.

    Returns
    -------
    text : u1[bytes]
        The text that `spans` refer to; it ends with TAIL.
    X : f8[n, d]
    y : f8[n]
        NaN where `y` is null or absent.
    spans : i8[2, n]
        Bounds of the JSON text of `id` in `text`; of a null if there is no id.
    t : i8[n]
        `t`, or NO_TIME.
    found : i1[n]
        NEEDS_PARSER, ROW or LABEL. Other outputs are undefined for NEEDS_PARSER, `X` also for LABEL.
    """
    n = len(values)
    X = np.empty((n, n_features))
    y = np.empty(n)
    spans = np.empty((2, n), np.int64)
    t = np.empty(n, np.int64)
    found = np.empty(n, np.int8)
    names.patience[0] = len(names.order) * (len(names.order) + PATIENCE * n)
    text = values.to_terminated()
    run = _scan_with_gaps if lenient else _scan
    if not run(text, names, X, y, spans, t, found):
        # An event that contains a zero byte is not JSON, so it may be blanked.
        text = ListColumn([value if value and END not in value else b"" for value in values]).to_terminated()
        run(text, names, X, y, spans, t, found)
    return text, X, y, spans, t, found


@kernel
def _scan(
    text: Text, names: Names, X: Floats, y: Floats, spans: Integers, t: Integers, found: NDArray[np.int8]
) -> bool:
    """Scan all events; False if an event contains a zero byte, which looks like its end. Shapes as in `scan`."""
    return _events(text, names, X, y, spans, t, found, False)


@kernel
def _scan_with_gaps(
    text: Text, names: Names, X: Floats, y: Floats, spans: Integers, t: Integers, found: NDArray[np.int8]
) -> bool:
    """Scan events whose features may be missing; a separate kernel, so that `_scan` need not check for it."""
    return _events(text, names, X, y, spans, t, found, True)


@fragment
def _events(
    text: Text,
    names: Names,
    X: Floats,
    y: Floats,
    spans: Integers,
    t: Integers,
    found: NDArray[np.int8],
    lenient: bool,
) -> bool:
    """Scan all events; the kernels' shared body."""
    p = ZERO
    null = len(text) - SPARE
    for i in range(len(y)):
        y[i] = np.nan
        t[i] = NO_TIME
        spans[0, i] = null
        spans[1, i] = null + 4
        end, kind = _event(text, p, names, X, y, spans, t, i, lenient)
        found[i] = NEEDS_PARSER
        if end != NOWHERE:
            p = end
            found[i] = kind if text[p] == 0 else NEEDS_PARSER
        while text[p] != 0:
            p += ONE
        p += ONE
    return bool(p == np.uint64(null))


@fragment
def _event(
    text: Text, p: np.uint64, names: Names, X: Floats, y: Floats, spans: Integers, t: Integers, i: int, lenient: bool
) -> tuple[np.uint64, int]:
    """Scan one event into row i: (position after it, ROW or LABEL); position NOWHERE if it is not plain."""
    p = skip(text, p)
    if text[p] != OPEN:
        return NOWHERE, NEEDS_PARSER
    seen = 0
    while True:
        p, field = _name(text, skip(text, p + ONE))
        if p == NOWHERE or seen & field:
            return NOWHERE, NEEDS_PARSER
        seen |= field
        p = skip(text, p)
        if text[p] != COLON:
            return NOWHERE, NEEDS_PARSER
        p = _field(text, skip(text, p + ONE), field, names, X, y, spans, t, i, lenient)
        if p == NOWHERE:
            return NOWHERE, NEEDS_PARSER
        p = skip(text, p)
        if text[p] != COMMA:
            break
    if text[p] != CLOSE or (seen & SEEN_X == 0 and seen & (SEEN_ID | SEEN_Y) != SEEN_ID | SEEN_Y):
        return NOWHERE, NEEDS_PARSER
    return skip(text, p + ONE), ROW if seen & SEEN_X else LABEL


@fragment
def _name(text: Text, p: np.uint64) -> tuple[np.uint64, int]:
    """Read a field's name: (position after it, SEEN_X, ... or 0); NOWHERE if it is not a simple string."""
    name = load8(text, p)
    if name & THREE_BYTES == X_NAME:
        return p + THREE, SEEN_X
    if name & THREE_BYTES == Y_NAME:
        return p + THREE, SEEN_Y
    if name & THREE_BYTES == T_NAME:
        return p + THREE, SEEN_T
    if name & FOUR_BYTES == ID_NAME:
        return p + FOUR, SEEN_ID
    return (string(text, p) if text[p] == QUOTE else NOWHERE), 0


@fragment
def _field(
    text: Text,
    p: np.uint64,
    field: int,
    names: Names,
    X: Floats,
    y: Floats,
    spans: Integers,
    t: Integers,
    i: int,
    lenient: bool,
) -> np.uint64:
    """Read a field's value into row i; return the position after it, or NOWHERE."""
    start = p
    if field == SEEN_X:
        return _named(text, p, names, X, i, lenient) if len(names.order) else _listed(text, p, X, i, lenient)
    if field == SEEN_T:
        p, t[i] = integer(text, p)
    elif field == SEEN_ID and text[p] != QUOTE:
        p = number_end(text, p)
    elif text[p] == QUOTE and field != SEEN_Y:
        p = string(text, p)
    elif text[p] == MINUS or np.uint64(text[p]) - ZERO_DIGIT <= NINE:
        p, number = read_number(text, p)
        if field == SEEN_Y:
            y[i] = number
    else:
        p = literal(text, p) if field == 0 or text[p] == LOWER_N else NOWHERE
    if field == SEEN_ID:
        spans[0, i] = start
        spans[1, i] = p
    return p


@fragment
def _listed(text: Text, p: np.uint64, X: Floats, i: int, lenient: bool) -> np.uint64:
    """Read a list of exactly d numbers into row i; return the position after it, or NOWHERE."""
    if text[p] != OPEN_LIST:
        return NOWHERE
    last = X.shape[1] - 1
    for j in range(last + 1):
        p, X[i, j] = _number(text, skip(text, p + ONE), lenient)
        if p == NOWHERE:
            return NOWHERE
        p = skip(text, p)
        if text[p] != (COMMA if j < last else CLOSE_LIST):
            return NOWHERE
    return p + ONE


@fragment
def _named(text: Text, p: np.uint64, names: Names, X: Floats, i: int, lenient: bool) -> np.uint64:
    """Read an object of the d named numbers into row i; return the position after it, or NOWHERE.

    An allowed null is stored as NaN, like a name not read yet: if the name is repeated, the last value counts, as in
    JSON.
    """
    if text[p] != OPEN:
        return NOWHERE
    last = X.shape[1] - 1
    for j in range(last + 1):
        X[i, j] = np.nan
    for position in range(last + 1):
        p = skip(text, p + ONE)
        j = _which(text, p, names, position)
        if j < 0 or not np.isnan(X[i, j]):  # an unknown name, or a repeated one
            return p + ONE if lenient and position == 0 and text[p] == CLOSE else NOWHERE
        p = skip(text, p + names.bounds[j + 1] - names.bounds[j])
        if text[p] != COLON:
            return NOWHERE
        p, X[i, j] = _number(text, skip(text, p + ONE), lenient)
        if p == NOWHERE:
            return NOWHERE
        p = skip(text, p)
        if text[p] != (COMMA if position < last else CLOSE):
            return p + ONE if lenient and text[p] == CLOSE else NOWHERE
    return p + ONE


@fragment
def _number(text: Text, p: np.uint64, lenient: bool) -> tuple[np.uint64, float]:
    """Read a number, if `lenient` also a null, as NaN; return the position after it, or NOWHERE, and the number."""
    end, number = read_number(text, p)
    if end == NOWHERE and lenient and load8(text, p) & FOUR_BYTES == NULL:
        return p + FOUR, np.nan
    return end, number


@fragment
def _which(text: Text, p: np.uint64, names: Names, position: int) -> int:
    """Return the index of the name at p, trying first the last event's name at this position; -1: none, or given up."""
    d = len(names.order)
    j = names.order[position]
    for _ in range(d):
        if same(text, p, names.text, names.bounds[j], names.bounds[j + 1]):
            names.order[position] = j
            return int(j)
        if names.patience[0] == 0:
            return -1
        names.patience[0] -= 1
        j = j + 1 if j + 1 < d else 0
    return -1

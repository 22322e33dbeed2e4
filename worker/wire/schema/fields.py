"""Scan fields of JSON events straight into cells, in one kernel call per batch.

An event is plain if it is an object whose names and texts have no escapes, with exactly one row and with none of the
names on the schema's paths twice. All others are marked and left to orjson, which decides.
Fields that the schema does not name are skipped, nested or not, but must be JSON.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import fragment, kernel, load8
from driftway.worker.wire.columns import END, SPARE, BytesColumn, Integers, ListColumn, Text
from driftway.worker.wire.json_tokens import tokens
from driftway.worker.wire.json_tokens.decimals import MINUS, NINE, NOWHERE, ONE, ZERO, ZERO_DIGIT, read_number
from driftway.worker.wire.json_tokens.tokens import (
    CLOSE,
    CLOSE_LIST,
    COLON,
    COMMA,
    FOUR_BYTES,
    OPEN,
    OPEN_LIST,
    QUOTE,
    any_string,
    literal,
    number_end,
    same,
    skip,
)
from driftway.worker.wire.schema.cell_table import FALSE, NESTED, NOTHING, NULL, NUMBER, TEXT, TRUE, CellTable
from driftway.worker.wire.schema.field_index import NO_NAME, FieldIndex, find_name

DEEPEST = np.uint64(63)
"""Most levels of nested objects and lists in a skipped value."""


def scan_fields(values: BytesColumn, tree: FieldIndex, cells: CellTable) -> tuple[Text, NDArray[np.bool_]]:
    """Scan the fields of a schema.

    Parameters
    ----------
    values : BytesColumn
        n events.
    tree : FieldIndex
        The schema's names, which lead to m fields.
    cells : CellTable
        n events by m fields, all NOTHING; written.

    Returns
    -------
    text : u1[bytes]
        The text that the cells' bounds refer to; it ends with TAIL.
    plain : bool[n]
        False where the event is left to orjson; its cells are then undefined.
    """
    plain = np.empty(len(values), np.bool_)
    text = values.to_terminated()
    if not _scan(text, tree, cells, plain):
        # An event that contains a zero byte is not JSON, so it may be blanked.
        text = ListColumn([value if value and END not in value else b"" for value in values]).to_terminated()
        cells.kind[:] = NOTHING
        _scan(text, tree, cells, plain)
    return text, plain


@kernel
def _scan(text: Text, tree: FieldIndex, cells: CellTable, plain: NDArray[np.bool_]) -> bool:
    """Scan all events; False if an event contains a zero byte, which looks like its end. Shapes as above."""
    p = ZERO
    null = np.uint64(len(text) - SPARE)
    for name in range(tree.seen.shape[0]):
        tree.seen[name] = -1
    for i in range(plain.shape[0]):
        end = _event(text, p, tree, cells, i)
        plain[i] = False
        if end != NOWHERE:
            p = end
            plain[i] = text[p] == 0
        while text[p] != 0:
            p += ONE
        p += ONE
    return bool(p == null)


@fragment
def _event(text: Text, p: np.uint64, tree: FieldIndex, cells: CellTable, i: int) -> np.uint64:
    """Scan one event into row i; return the position after it, or NOWHERE if it is not plain."""
    p = skip(text, p)
    if text[p] != OPEN:
        return NOWHERE
    node, depth, last = 0, 0, tree.field.shape[0]
    rows = 1 if tree.row == 0 else 0
    p = skip(text, p + ONE)
    ended = text[p] == CLOSE
    while True:
        entered = False
        if not ended:
            if text[p] != QUOTE:
                return NOWHERE
            p, name = _name(text, p, tree, node, last)
            if p == NOWHERE:
                return NOWHERE
            last = last if name == NO_NAME else name
            p = skip(text, p)
            if text[p] != COLON:
                return NOWHERE
            p = skip(text, p + ONE)
            if name == NO_NAME:
                p = pass_over(text, p)
            else:
                child, field = int(tree.child[name]), int(tree.field[name])
                if tree.seen[name] == i if field == NO_NAME else cells.kind[i, field] != NOTHING:
                    return NOWHERE
                if field == NO_NAME:
                    tree.seen[name] = i
                if child != NO_NAME and text[p] == OPEN_LIST:
                    return NOWHERE  # a step may be an index into the list
                if child != NO_NAME and text[p] == OPEN:
                    if field != NO_NAME:
                        cells.kind[i, field] = NESTED
                        cells.start[i, field] = np.int64(p)
                    rows += child == tree.row
                    tree.stack[depth] = node
                    depth += 1
                    node = child
                    entered = True
                    p = skip(text, p + ONE)
                else:
                    p = pass_over(text, p) if field == NO_NAME else _value(text, p, cells, i, field, tree)
            if p == NOWHERE:
                return NOWHERE
        ended = False
        if entered and text[p] != CLOSE:
            continue
        p = skip(text, p)
        while text[p] == CLOSE:
            if depth == 0:
                return skip(text, p + ONE) if rows == 1 else NOWHERE
            depth -= 1
            node = int(tree.stack[depth])
            p = skip(text, p + ONE)
        if text[p] != COMMA:
            return NOWHERE
        p = skip(text, p + ONE)


@fragment
def _name(text: Text, p: np.uint64, tree: FieldIndex, node: int, last: int) -> tuple[np.uint64, int]:
    """Return the position after the field's name at p, or NOWHERE, and which one of the schema's it is, or NO_NAME.

    Fields mostly have the order of the previous event, so the one that followed `last` there is compared first.
    """
    name = int(tree.next[last])
    if tree.owner[name] == node and same(text, p, tree.text, tree.bounds[name], tree.bounds[name + 1]):
        return p + (tree.bounds[name + 1] - tree.bounds[name]), name
    after = any_string(text, p)
    if after == NOWHERE:
        return NOWHERE, NO_NAME
    name = find_name(text, p, after, tree, node)
    if name != NO_NAME:
        tree.next[last] = name
    return after, name


@fragment
def _value(text: Text, p: np.uint64, cells: CellTable, i: int, field: int, tree: FieldIndex) -> np.uint64:
    """Read a value into a cell; return the position after it, or NOWHERE."""
    if text[p] == QUOTE:
        end = any_string(text, p)
        cells.kind[i, field] = TEXT
        cells.start[i, field] = np.int64(p + ONE)
        cells.end[i, field] = np.int64(end - ONE)
        return end
    if text[p] == MINUS or np.uint64(text[p]) - ZERO_DIGIT <= NINE:
        end, number = read_number(text, p)
        if end == NOWHERE and field == tree.id_only:
            end = number_end(text, p)
        cells.kind[i, field] = NUMBER
        cells.number[i, field] = number
        cells.start[i, field] = np.int64(p)
        return end
    if text[p] == OPEN or text[p] == OPEN_LIST:
        cells.kind[i, field] = NESTED
        cells.start[i, field] = np.int64(p)
        return pass_over(text, p)
    eight = load8(text, p) & FOUR_BYTES
    cells.kind[i, field] = NULL if eight == tokens.NULL else TRUE if eight == tokens.TRUE else FALSE
    return literal(text, p)


@kernel
def find_ids(cells: CellTable, field: int, text: Text, ids: Integers, plain: NDArray[np.bool_]) -> None:
    """Write bounds of the JSON text of each event's id, i8[2, n]: a text, a number, or a null if there is no id.

    Any other id may be written differently than in the event, so that event is marked as not plain.
    """
    null = len(text) - SPARE
    for i in range(plain.shape[0]):
        kind = cells.kind[i, field]
        ids[0, i], ids[1, i] = null, null + 4
        if plain[i] and kind == TEXT:
            ids[0, i], ids[1, i] = cells.start[i, field] - 1, cells.end[i, field] + 1
        elif plain[i] and kind == NUMBER:
            end = number_end(text, np.uint64(cells.start[i, field]))
            ids[0, i], ids[1, i] = cells.start[i, field], np.int64(end)
            plain[i] = end != NOWHERE
        elif kind > NULL:
            plain[i] = False


@kernel
def pass_over(text: Text, p: np.uint64) -> np.uint64:
    """Return the position after a JSON value at p, or NOWHERE if it is not of the common simple form."""
    objects, depth = ZERO, ZERO  # a bit for each open object or list: 1 for an object
    while True:
        # A value begins at p.
        if text[p] == OPEN or text[p] == OPEN_LIST:
            if depth == DEEPEST:
                return NOWHERE
            is_object = text[p] == OPEN
            objects = (objects << ONE) | np.uint64(is_object)
            depth += ONE
            p = skip(text, p + ONE)
            if text[p] != (CLOSE if is_object else CLOSE_LIST):
                if is_object:
                    p = _past_name(text, p)
                    if p == NOWHERE:
                        return NOWHERE
                continue
        elif text[p] == QUOTE:
            p = any_string(text, p)
        elif text[p] == MINUS or np.uint64(text[p]) - ZERO_DIGIT <= NINE:
            p, _ = read_number(text, p)
        else:
            p = literal(text, p)
        if p == NOWHERE:
            return NOWHERE
        if depth == ZERO:
            return p
        # The value has ended; the objects and lists around it may end, too.
        p = skip(text, p)
        while text[p] == (CLOSE if objects & ONE else CLOSE_LIST):
            objects >>= ONE
            depth -= ONE
            if depth == ZERO:
                return p + ONE
            p = skip(text, p + ONE)
        if text[p] != COMMA:
            return NOWHERE
        p = skip(text, p + ONE)
        if objects & ONE:
            p = _past_name(text, p)
            if p == NOWHERE:
                return NOWHERE


@fragment
def _past_name(text: Text, p: np.uint64) -> np.uint64:
    """Return the position of the value after a name and a colon, or NOWHERE."""
    if text[p] != QUOTE:
        return NOWHERE
    p = any_string(text, p)
    if p == NOWHERE:
        return NOWHERE
    p = skip(text, p)
    return skip(text, p + ONE) if text[p] == COLON else NOWHERE

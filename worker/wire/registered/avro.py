"""Write predictions as Avro records, all rows of a batch in one kernel call."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from driftway.learners.engine.jit import fragment, kernel
from driftway.worker.wire.codec import MAX_TEMPLATES
from driftway.worker.wire.columns import (
    Flags,
    Floats,
    Integers,
    Text,
)
from driftway.worker.wire.events import Target
from driftway.worker.wire.registered.avro_schema import kind_of
from driftway.worker.wire.registered.framing import header
from driftway.worker.wire.registered.pieces import (
    Constants,
    RecordFormat,
    Sureness,
    Words,
    class_texts,
    put_bytes,
    put_varint,
    put_word,
)
from driftway.worker.wire.registered.varints import varint, zigzag
from driftway.worker.wire.scanner import NO_TIME

NULL, VALUE, LAST_BLOCK = 0, 2, 0
"""Bytes before a value that may be null, for null and not null; and after the items of a list."""


def integer(value: int) -> bytes:
    """Return an integer of 64 bits in Avro's encoding: the sign in the lowest bit."""
    return varint(zigzag(value))


def string(text: str) -> bytes:
    """Return a text in Avro's encoding."""
    data = text.encode()
    return integer(len(data)) + data


@lru_cache(maxsize=MAX_TEMPLATES)
def _constants(target: Target, partition: int, learner: str, plan: int, schema_id: int) -> Constants:
    front = header(schema_id) + string(kind_of(target)) + integer(partition)
    texts = [string(text) for text in class_texts(target)]
    return Constants.of(front, integer(plan) + string(learner), texts)


@kernel
def _write_records(
    constants: tuple[Text, Text, Text, Integers, bool, bool],
    ids: tuple[Text, Integers, Integers],
    rows: tuple[Integers, Integers, Integers, tuple[Floats, Words], Words],
    sureness: Sureness,
    out: Text,
    stops: Integers,
) -> None:
    """Write the records to out u1[bytes], and where each ends to stops i8[n].

    Shapes: of the constants as in `Constants`, and whether predictions are numbers, scores a list; ids as
    `texts_of_ids` returns them; rows: offset, t, class, y [n], scores [n, k]; sureness: as `Sureness`.
    """
    front, middle, words, cuts, is_number, is_list = constants
    text, begins, ends = ids
    offsets, t, classes, (y, labels), scores = rows
    probability, (interval, bounds), members = sureness
    for_sure, has_ends, has_set = len(probability) > 0, interval.shape[1] > 0, members.shape[0] > 0
    q = 0
    for i in range(len(offsets)):
        q = put_bytes(front, 0, len(front), out, q)
        q = _integer(offsets[i], out, q)
        q = put_bytes(middle, 0, len(middle), out, q)
        q = _branch(begins[i] >= 0, out, q)
        if begins[i] >= 0:
            q = put_bytes(text, begins[i], ends[i], out, _integer(ends[i] - begins[i], out, q))
        q = _branch(t[i] != NO_TIME, out, q)
        if t[i] != NO_TIME:
            q = _integer(t[i], out, q)
        c = classes[i]
        q = put_word(scores[i, 0], out, q) if is_number else put_bytes(words, cuts[c], cuts[c + 1], out, q)
        if is_list:
            q = _integer(scores.shape[1], out, q)
        for j in range(scores.shape[1]):
            q = put_word(scores[i, j], out, q)
        if is_list:
            out[q] = LAST_BLOCK
            q += 1
        if is_number:
            q = _nullable(y[i], labels[i], out, q)
            for end in range(2):
                q = _nullable(interval[end, i], bounds[end, i], out, q) if has_ends else _branch(False, out, q)
        else:
            q = _branch(not math.isnan(y[i]), out, q)
            if not math.isnan(y[i]):
                q = put_bytes(words, cuts[int(y[i])], cuts[int(y[i]) + 1], out, q)
            q = _branch(for_sure, out, q)
            if for_sure:
                q = put_word(probability[i], out, q)
            q = _branch(has_set, out, q)
            if has_set:
                q = _set((members, i), words, cuts, out, q)
        stops[i] = q


@fragment
def _branch(is_value: bool, out: Text, q: int) -> int:
    """Write whether a value follows, or it is null; return the position after that."""
    out[q] = VALUE if is_value else NULL
    return q + 1


@fragment
def _nullable(value: float, word: np.uint64, out: Text, q: int) -> int:
    """Write a number, or null if it is not finite; return the position after it."""
    q = _branch(math.isfinite(value), out, q)
    return put_word(word, out, q) if math.isfinite(value) else q


@fragment
def _set(row: tuple[Flags, int], words: Text, cuts: Integers, out: Text, q: int) -> int:
    """Write the classes in the set of a row of members b1[n, K]; return the position after them."""
    members, i = row
    size = 0
    for c in range(members.shape[1]):
        size += members[i, c]
    if size:
        q = _integer(size, out, q)
        for c in range(members.shape[1]):
            if members[i, c]:
                q = put_bytes(words, cuts[c], cuts[c + 1], out, q)
    out[q] = LAST_BLOCK
    return q + 1


@fragment
def _integer(value: int, out: Text, q: int) -> int:
    """Write as `integer` does; return the position after it."""
    return put_varint(np.uint64((value << 1) ^ (value >> 63)), out, q)


FORMAT = RecordFormat(_constants, _write_records)

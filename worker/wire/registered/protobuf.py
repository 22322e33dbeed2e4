"""Write predictions as Protobuf messages, all rows of a batch in one kernel call."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from driftway.learners.engine.jit import fragment, kernel
from driftway.worker.wire.codec import MAX_TEMPLATES
from driftway.worker.wire.columns import Floats, Integers, Text
from driftway.worker.wire.events import Target
from driftway.worker.wire.registered.avro_schema import kind_of
from driftway.worker.wire.registered.framing import FIRST_MESSAGE, header
from driftway.worker.wire.registered.pieces import (
    NUMBER_BYTES,
    Constants,
    RecordFormat,
    Sureness,
    Words,
    class_texts,
    put_bytes,
    put_varint,
    put_word,
)
from driftway.worker.wire.registered.protobuf_schema import BYTES, VARINT, WORD, tag
from driftway.worker.wire.registered.varints import varint
from driftway.worker.wire.scanner import NO_TIME

ID, TIME, CLASS, LABEL, MEMBER = (tag("id", BYTES), tag("t", VARINT), tag("prediction", BYTES), tag("y", BYTES),
                                  tag("set", BYTES))  # fmt: skip
PREDICTED, SCORE, TARGET = tag("prediction", WORD), tag("score", WORD), tag("y", WORD)
SCORES, SURE, LOW = tag("score", BYTES), tag("probability", WORD), tag("low", WORD)
NEXT_FIELD = 8
"""From the tag of a field to that of the next one of the same type."""


def string(text: str) -> bytes:
    """Return a text with its length in front."""
    data = text.encode()
    return varint(len(data)) + data


@lru_cache(maxsize=MAX_TEMPLATES)
def _constants(target: Target, partition: int, learner: str, plan: int, schema_id: int) -> Constants:
    position = (
        bytes([tag("kind", BYTES)]) + string(kind_of(target)) + bytes([tag("partition", VARINT)]) + varint(partition)
    )
    model = bytes([tag("plan", VARINT)]) + varint(plan) + bytes([tag("learner", BYTES)]) + string(learner)
    front = header(schema_id) + FIRST_MESSAGE + position + bytes([tag("offset", VARINT)])
    return Constants.of(front, model, [string(text) for text in class_texts(target)])


@kernel
def _write_messages(
    constants: tuple[Text, Text, Text, Integers, bool, bool],
    ids: tuple[Text, Integers, Integers],
    rows: tuple[Integers, Integers, Integers, tuple[Floats, Words], Words],
    sureness: Sureness,
    out: Text,
    stops: Integers,
) -> None:
    """Write the messages to out u1[bytes], and where each ends to stops i8[n]; other shapes as those of `avro`."""
    front, middle, words, cuts, is_number, is_list = constants
    text, begins, ends = ids
    offsets, t, classes, (y, labels), scores = rows
    probability, (interval, bounds), members = sureness
    q, k = 0, scores.shape[1]
    for i in range(len(offsets)):
        q = put_bytes(front, 0, len(front), out, q)
        q = put_varint(np.uint64(offsets[i]), out, q)
        q = put_bytes(middle, 0, len(middle), out, q)
        if begins[i] >= 0:
            q = put_varint(np.uint64(ends[i] - begins[i]), out, _tag(ID, out, q))
            q = put_bytes(text, begins[i], ends[i], out, q)
        if t[i] != NO_TIME:
            q = put_varint(np.uint64(t[i]), out, _tag(TIME, out, q))
        if is_number:
            q = put_word(scores[i, 0], out, _tag(PREDICTED, out, q))
        else:
            q = put_bytes(words, cuts[classes[i]], cuts[classes[i] + 1], out, _tag(CLASS, out, q))
        q = _tag(SCORES if is_list else SCORE, out, q)
        if is_list:
            q = put_varint(np.uint64(NUMBER_BYTES * k), out, q)
        for j in range(k):
            q = put_word(scores[i, j], out, q)
        if is_number:
            if not math.isnan(y[i]):
                q = put_word(labels[i], out, _tag(TARGET, out, q))
            for end in range(2 * int(interval.shape[1] > 0)):
                if math.isfinite(interval[end, i]):
                    q = put_word(bounds[end, i], out, _tag(LOW + NEXT_FIELD * end, out, q))
        else:
            if not math.isnan(y[i]):
                q = put_bytes(words, cuts[int(y[i])], cuts[int(y[i]) + 1], out, _tag(LABEL, out, q))
            if len(probability):
                q = put_word(probability[i], out, _tag(SURE, out, q))
            for c in range(members.shape[1]):
                if members[i, c]:
                    q = put_bytes(words, cuts[c], cuts[c + 1], out, _tag(MEMBER, out, q))
        stops[i] = q


@fragment
def _tag(byte: int, out: Text, q: int) -> int:
    """Write the byte in front of a field; return the position after it."""
    out[q] = np.uint8(byte)
    return q + 1


FORMAT = RecordFormat(_constants, _write_messages)

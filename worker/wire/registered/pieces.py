"""What Avro and Protobuf records have in common: the columns of a batch, and how a kernel writes each piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import fragment, kernel, store8
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.columns import (
    NO_CONFIDENCE,
    BytesColumn,
    Confidence,
    Flags,
    Floats,
    Integers,
    Text,
    empty_column,
    read_only,
)
from driftway.worker.wire.events import Batch, Target
from driftway.worker.wire.json_tokens.buffer_pool import PooledColumn, slices, take_buffer
from driftway.worker.wire.json_tokens.tokens import LOWER_N, QUOTE
from driftway.worker.wire.registered.avro_schema import MULTICLASS, NUMBER, kind_of

Words = NDArray[np.uint64]
"""Numbers as the words of their bits."""

MILLION = 1e6
BACKSLASH = 92
NUMBER_BYTES = 8
FIXED = 128
"""Maximum number of bytes of a record, apart from texts, scores and what all records have in common."""
SPARE = 32
LOW_BITS, MORE, SEVEN = np.uint64(0x7F), np.uint64(0x80), np.uint64(7)

NO_NUMBERS = np.zeros(0, np.uint64)
NO_ENDS, NO_MEMBERS = np.zeros((2, 0)), np.zeros((0, 0), np.bool_)
Sureness = tuple[Words, tuple[Floats, Words], Flags]
"""Probability [n], interval [2, n] as numbers and as words, members [n, K], each without rows if there is none."""


class Constants(NamedTuple):
    """What all records of a model have: bytes in front of the offset and of the id, and the texts of the classes."""

    front: Text
    middle: Text
    words: Text
    cuts: Integers
    """i8[K + 1]: where each text begins; the last one ends at the last bound."""

    @classmethod
    def of(cls, front: bytes, middle: bytes, texts: Sequence[bytes]) -> Constants:
        """Return them as arrays."""
        cuts = np.cumsum([0, *map(len, texts)])
        return cls(as_text(front), as_text(middle), as_text(b"".join(texts)), cuts)


class RecordFormat(NamedTuple):
    """How predictions are written: one record per row, with the registry's header."""

    constants: Callable[[Target, int, str, int, int], Constants]
    """Returns the constants of a target, partition, learner, number of a plan, and id of the schema."""
    write: Callable[..., None]
    """The kernel, which gets arguments as that of `avro`."""

    def encode_predictions(
        self,
        batch: Batch,
        score: Floats,
        predicted: NDArray[np.int64] | Floats,
        target: Target,
        learner: str,
        plan: int,
        confidence: Confidence = NO_CONFIDENCE,
        schema_id: int = 0,
    ) -> BytesColumn:
        """Encode predictions.

        Parameters
        ----------
        batch : Batch
            n rows.
        score : f8[n, k]
            Scores of the model.
        predicted : i8[n] or f8[n]
            Class index, or the predicted number in regression.
        target : Target
            The task and the names of classes.
        learner : str
            The model's name.
        plan : int
            Number of the plan that it belongs to.
        confidence : Confidence
            What is written of how sure the predictions are.
        schema_id : int
            Of the schema in the registry.
        """
        (n, k), kind = score.shape, kind_of(target)
        if not n:
            return empty_column()
        front, middle, words, cuts = self.constants(target, batch.partition, learner, plan, schema_id)
        text, begins, ends = texts_of_ids(*batch.ids)
        numbers = kind == NUMBER
        classes = np.zeros(n, np.int64) if numbers else predicted.astype(np.int64, copy=False)
        sureness, lengths = sureness_of(confidence), np.diff(cuts)
        longest = max(int(lengths.max(initial=0)), NUMBER_BYTES)
        size = n * (len(front) + len(middle) + FIXED + 2 * longest + NUMBER_BYTES * k) + int((ends - begins).sum())
        if confidence.members is not None:
            size += int((confidence.members @ (lengths + 1)).sum())
        out, stops = take_buffer(size + SPARE), np.empty(n, np.int64)
        offsets, t, y = (np.ascontiguousarray(column) for column in (batch.offsets, batch.t, batch.y))
        rows = offsets, t, classes, (y, y.view(np.uint64)), np.ascontiguousarray(score).view(np.uint64)
        fixed = front, middle, words, cuts, numbers, kind == MULTICLASS
        self.write(fixed, (text, begins, ends), rows, sureness, out, stops)
        return PooledColumn(out, stops, slices)


def sureness_of(confidence: Confidence) -> Sureness:
    """Return the columns of what is written of how sure predictions are."""
    probability = NO_NUMBERS if confidence.probability is None else (confidence.probability / MILLION).view(np.uint64)
    interval = NO_ENDS if confidence.ends is None else np.stack(confidence.ends)
    members = NO_MEMBERS if confidence.members is None else np.ascontiguousarray(confidence.members)
    return probability, (interval, interval.view(np.uint64)), members


def class_texts(target: Target) -> list[str]:
    """Return the texts of the classes: labels as on the wire, without the quotes of JSON; none in regression."""
    return [str(read_json(word.encode())) if word.startswith('"') else word for word in target.class_json()]


def as_text(data: bytes) -> Text:
    """View bytes as a read-only u1[n], without a copy."""
    return np.frombuffer(data, np.uint8)


def texts_of_ids(text: Text, bounds: Integers) -> tuple[Text, Integers, Integers]:
    """Return text u1[..] and where each id begins and ends in it, i8[n]; -1 and -1 for none.

    JSON texts lose their quotes, and those with escapes are decoded; anything else stays as it is.
    """
    text, first = read_only(text), text[bounds[0]]
    begins, ends, escaped = bounds[0].copy(), bounds[1].copy(), np.zeros(len(first), np.bool_)
    strip_quotes(text, begins, ends, escaped)
    if escaped.any():
        text = _unescaped(text, begins, ends, np.flatnonzero(escaped).tolist())
    absent = first == LOWER_N  # only null begins with an n
    begins[absent] = ends[absent] = -1
    return text, begins, ends


def _unescaped(text: Text, begins: Integers, ends: Integers, rows: Sequence[int]) -> Text:
    """Return the text with the decoded ids of some rows behind it, where these then begin and end."""
    decoded = [str(read_json(text[begins[i] - 1 : ends[i] + 1].tobytes())).encode() for i in rows]
    stops = len(text) + np.cumsum([len(one) for one in decoded])
    begins[rows], ends[rows] = stops - np.array([len(one) for one in decoded]), stops
    return read_only(np.concatenate([text, as_text(b"".join(decoded))]))


@kernel
def strip_quotes(text: Text, begins: Integers, ends: Integers, escaped: Flags) -> None:
    """Leave out quotes around text[begins:ends], i8[n] each; set escaped b1[n] where there is a backslash inside."""
    for i in range(len(begins)):
        if text[begins[i]] == QUOTE:
            begins[i] += 1
            ends[i] -= 1
            found = False
            for p in range(begins[i], ends[i]):
                found |= text[p] == BACKSLASH
            escaped[i] = found


@fragment
def put_word(word: np.uint64, out: Text, q: int) -> int:
    """Write eight bytes; return the position after them."""
    store8(out, q, word)
    return q + NUMBER_BYTES


@fragment
def put_bytes(text: Text, start: int, end: int, out: Text, q: int) -> int:
    """Copy text[start:end]; return the position after it."""
    for p in range(end - start):
        out[q + p] = text[start + p]
    return q + end - start


@fragment
def put_varint(rest: np.uint64, out: Text, q: int) -> int:
    """Write as `varints.varint` does; return the position after it."""
    while rest > LOW_BITS:
        out[q] = np.uint8(rest & LOW_BITS | MORE)
        rest >>= SEVEN
        q += 1
    out[q] = np.uint8(rest)
    return q + 1

"""Encode the wire format: events, predictions, accuracy points, drift alarms. Leaf module.

The only module that calls orjson. Batches go through compiled kernels (`driftway.worker.wire.writer`). Decoding is in
`driftway.worker.wire.decoder`, the packed format in `driftway.worker.wire.packed`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from driftway.worker.wire.columns import NO_CONFIDENCE, Confidence, ListColumn, empty_column
from driftway.worker.wire.events import (
    DEEP_ID,
    INEXACT,
    MAX_ID,
    NOT_JSON,
    REGRESSION,
    Batch,
    Reject,
    Target,
)
from driftway.worker.wire.json_tokens.exact import (
    BEYOND_RANGE,
    Number,
    count_infinite,
    has_float,
    hide_numbers,
    number_of,
    show_numbers,
)
from driftway.worker.wire.json_tokens.text_values import as_written
from driftway.worker.wire.json_tokens.wrong_values import why_not_json

if TYPE_CHECKING:
    from driftway.worker.wire.columns import BytesColumn, Floats
    from driftway.worker.wire.writer import RowTemplate

JSON, PACKED = "json", "packed"
FORMATS = (JSON, PACKED)
NULL = b"null"
LARGEST_TIME = 2**63
LONGEST_EXACT = 2**20
"""Bytes of an event up to which its numbers can be read digit by digit: each one takes a microsecond."""
LARGEST_SHORT = 2.0**53
DIGEST_BYTES = 6
"""Size of a `short_digest`."""
MAX_TEMPLATES = 1024
"""Cached templates of predictions, one per partition; far more than a worker has."""


def parse_json(value: bytes) -> Any:
    """Parse a JSON value; raise `Reject` if it is not JSON."""
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise Reject(why_not_json(NOT_JSON, value, orjson.loads, error.msg)) from None


def parse_exactly(value: bytes) -> Any:
    """Parse as `parse_json` does, except that all numbers but integers of 64 bits become a `Number`.

    Raises
    ------
    Reject
        It is not JSON, or longer than LONGEST_EXACT.
    """
    if len(value) > LONGEST_EXACT:
        raise Reject(INEXACT)
    text, numbers = hide_numbers(value)
    return show_numbers(parse_json(text), numbers)


def parse_event(
    value: bytes,
    find_id: Callable[[Any], Any],
    loads: Callable[[bytes], Any] = parse_json,
    exactly: Callable[[bytes], Any] | None = parse_exactly,
) -> tuple[Any, Any]:
    """Parse an event; return it and its id, whose numbers are as they came.

    Parameters
    ----------
    value : bytes
        The event.
    find_id : callable
        Returns the id in a parsed event. May raise `Reject`.
    loads : callable
        Parses values.
    exactly : callable or None
        Parses them as `parse_exactly` does; None: `loads` loses nothing.

    Raises
    ------
    Reject
        The event is not JSON; also if a number outside the id is beyond the range of float64.
    """
    try:
        event = loads(value)
    except Reject:
        if loads is not parse_json or len(value) > LONGEST_EXACT or not BEYOND_RANGE.search(value):
            raise
        event = parse_exactly(value)
        name = find_id(event)
        if count_infinite(event) > count_infinite(name):
            raise
        return event, name
    name = find_id(event)
    # An id that is too long is rejected for that, without a look at each of its numbers.
    short = len(value) <= LONGEST_EXACT or len(id_text(name)) <= MAX_ID
    if exactly is not None and short and has_float(name):
        event = exactly(value)
        name = find_id(event)
    return event, name


def id_text(value: Any) -> bytes:
    """Return the JSON text of an id, a `Number` as it came; raise `Reject` if it is nested too deeply."""
    try:
        return orjson.dumps(value, default=_as_it_came)
    except orjson.JSONEncodeError:  # orjson parses 1024 levels but writes only 254
        raise Reject(DEEP_ID) from None


def _as_it_came(value: Any) -> orjson.Fragment:
    """Return the text of a `Number`."""
    if not isinstance(value, Number):
        raise TypeError
    return orjson.Fragment(value.text)


def encode_predictions(
    batch: Batch,
    score: Floats,
    predicted: Floats,
    target: Target,
    learner: str,
    plan: int = 1,
    confidence: Confidence = NO_CONFIDENCE,
    header: bytes = b"",
) -> BytesColumn:
    """Encode predictions, one JSON record per row.

    A further number per row would be one more column of `numbers`, with its text behind those of the scores in the
    template; NaN and infinity are written as null.

    Parameters
    ----------
    batch : Batch
        n rows.
    score : f8[n, k]
        Scores of the champion.
    predicted : f8[n]
        Class index, or the predicted number in regression.
    target : Target
        The task and the names of classes.
    learner : str
        The champion's spec.
    plan : int
        Number of the plan that it belongs to; written from the second on.
    confidence : Confidence
        What is written of how sure the predictions are.
    header : bytes
        Bytes in front of each record.
    """
    from driftway.worker.wire.json_tokens.class_sets import set_texts
    from driftway.worker.wire.writer import write

    n, k = score.shape
    if n == 0:
        return empty_column()
    if target.task == REGRESSION:
        front = back = np.zeros(n, np.int64)
        numbers = np.column_stack([score, score, *(confidence.ends or ()), batch.y])
    else:
        front = predicted.astype(np.int64, copy=False)
        back = np.where(np.isnan(batch.y), target.n_classes, batch.y).astype(np.int64)
        numbers = score
    probability, members = confidence.probability, confidence.members
    said = probability is not None, members is not None or confidence.ends is not None
    layout = _row_template(target, batch.partition, learner, k, plan, *said, header)
    sets = None if members is None else set_texts(members, [word.encode() for word in target.class_json()])
    return write(layout, batch.ids, batch.offsets, front, _numbers(numbers.ravel()), back, batch.t, probability, sets)


@lru_cache(maxsize=MAX_TEMPLATES)
def _row_template(
    target: Target, partition: int, learner: str, k: int, plan: int, has_probability: bool, covers: bool, header: bytes
) -> RowTemplate:
    """Build the template of a learner's predictions with k scores; cached, since it takes microseconds per class.

    If `has_probability`, a probability follows the scores; if `covers`, an interval or a set does.
    """
    from driftway.worker.wire.writer import RowTemplate

    start, middle = header + b'{"id":', b',"partition":%d,"offset":' % partition
    end = b',"learner":' + orjson.dumps(learner) + (b',"plan":%d' % plan if plan > 1 else b"") + b',"t":'
    if target.task == REGRESSION:  # a row's numbers: the score as prediction, the score, the label
        ends = [b',"low":', b',"high":'] if covers else []
        return RowTemplate(start, middle, [b',"prediction":'], [b',"score":', *ends, b',"y":'], [end])
    opening, closing = (b"[", b"]") if k > 1 else (b"", b"")
    words = [word.encode() for word in target.class_json()]
    fronts = [b',"prediction":' + word + b',"score":' + opening for word in words]
    probability = closing + b',"probability":0.' if has_probability else None
    if has_probability:
        closing = b""  # the probability closes the list of scores
    sets = closing + b',"set":[' if covers else None
    behind = b"]" if covers else closing
    backs = [behind + b',"y":' + word + end for word in (*words, NULL)]
    return RowTemplate(start, middle, fronts, [b","] * (k - 1), backs, before_fraction=probability, before_words=sets)


def encode_point(
    point: dict[str, Any],
    partition: int,
    offset: int,
    learner: str,
    t: int,
    identity: Mapping[str, Any],
    drift: dict[str, int] | None = None,
) -> bytes:
    """Encode one accuracy point; `offset` and `t` are those of the last row it covers.

    `drift` maps each detector that raised an alarm since the previous point to the offset of its last one.
    """
    from driftway.worker.wire.scanner import NO_TIME

    position = {"partition": partition, "offset": offset}
    rest = {"drift": drift, "learner": learner, **identity, "t": None if t == NO_TIME else t}
    return orjson.dumps({**position, **point, **rest})


def key_of(name: str, partition: int) -> bytes:
    """Return the key of a learner's accuracy points, or of a detector's alarms, of a partition."""
    return f"{name}/{partition}".encode()


def encode_alarm(detector: str, batch: Batch, row: int, identity: Mapping[str, Any]) -> bytes:
    """Encode one drift alarm, raised at a row of a batch; `identity` names the learner that the detector watches."""
    from driftway.worker.wire.scanner import NO_TIME

    text, bounds = batch.ids
    start, end = bounds[:, row].tolist()
    t = int(batch.t[row])
    position = {"partition": batch.partition, "offset": int(batch.offsets[row])}
    event = {"id": orjson.Fragment(text[start:end].tobytes()), "t": None if t == NO_TIME else t}
    return orjson.dumps({"detector": detector, **position, **identity, **event})


def read_json(value: bytes) -> Any:
    """Parse a record that Driftway itself wrote; an id in it may have numbers beyond the range of float64."""
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        if not BEYOND_RANGE.search(value):
            raise
    text, numbers = hide_numbers(value)
    return show_numbers(orjson.loads(text), numbers)


def write_json(value: Any) -> bytes:
    """JSON text with sorted keys; numpy arrays are written as lists, a `Number` as it came."""
    return orjson.dumps(value, _as_it_came, orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY)


def short_digest(value: Any) -> str:
    """Return a digest of a value that JSON can hold, long enough to tell a group's learners apart."""
    return hashlib.blake2b(write_json(value), digest_size=DIGEST_BYTES).hexdigest()


def exact_number(value: Decimal) -> float:
    """Return the number that `write_rows` writes as this decimal, with all its digits."""
    return number_of(value)


def write_rows(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> list[bytes]:
    """Write a table's rows as JSON objects, with a key for each column.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    columns : sequence of sequences
        Values of each column; None, NaN and infinity become null, dates and times ISO 8601, a `Number` its text.
    """
    return [orjson.dumps(dict(zip(names, row, strict=True)), _as_it_came) for row in zip(*columns, strict=True)]


def encode_events(
    X: Floats, y: Floats, first_id: int, names: Sequence[str] | None = None, labels: Sequence[str] | None = None
) -> list[bytes]:
    """Encode as `write_events` does, into a list."""
    return list(write_events(X, y, first_id, names, labels))  # type: ignore[arg-type]


def write_events(
    X: Floats, y: Floats, first_id: int, names: Sequence[str] | None = None, labels: Sequence[str] | None = None
) -> BytesColumn:
    """Encode a block of rows as JSON events.

    Parameters
    ----------
    X : f8[n, d]
        Features; NaN (missing) becomes null.
    y : f8[n]
        Labels; NaN becomes null, a whole number below 2^53 is written as an integer.
    first_id : int
        `id` of the first row; the others follow consecutively.
    names : sequence of str or None
        Write `x` as an object with these feature names.
    labels : sequence of str or None
        Write class k as labels[k] (as a number if it is one), the way a worker with these ``--labels`` reads it.
    """
    from driftway.worker.wire.scanner import NO_TIME
    from driftway.worker.wire.writer import RowTemplate, as_text, write

    (n, d), unknown = X.shape, np.isnan(y)
    if not n or not (labels or (unknown | _short(y)).all()):
        return ListColumn(_events_one_by_one(X, y, first_id, names))
    marks = [b"", *([b","] * (d - 1))] if names is None else [orjson.dumps(name) + b":" for name in names]
    opening, closing = (b"[", b"]") if names is None else (b"{", b"}")
    front = b',"x":' + opening + marks[0]
    between = marks[1:] if names is None else [b"," + mark for mark in marks[1:]]
    words = [orjson.dumps(as_written(label), _as_it_came) for label in labels or ()]
    backs = [closing + b',"y":' + word for word in [*words, NULL]] if labels else [closing + b',"y":']
    layout = RowTemplate(b"", b'{"id":', [front], between, backs, timed=not labels)
    known = np.where(unknown, 0.0, y).astype(np.int64)
    first, no_ids = np.zeros(n, np.int64), (as_text(bytes(8)), np.zeros((2, n), np.int64))
    back = np.where(unknown, len(words), known) if labels else first
    offsets = np.arange(first_id, first_id + n)
    return write(layout, no_ids, offsets, first, _numbers(X.ravel()), back, np.where(unknown, NO_TIME, known))


def write_label(name: Any, y: float, labels: Sequence[str] | None = None) -> bytes:
    """Encode the label of an earlier event as JSON; `name` is the event's id, `labels` as in `write_events`."""
    word: Any = y
    if labels:
        word = as_written(labels[int(y)])
    elif y.is_integer() and abs(y) < LARGEST_SHORT:
        word = int(y)
    return orjson.dumps({"id": name, "y": word}, _as_it_came)


def _events_one_by_one(X: Floats, y: Floats, first_id: int, names: Sequence[str] | None) -> list[bytes]:
    """Encode events whose labels are not all short numbers."""
    shorts = _short(y).tolist()
    labels = [None if math.isnan(v) else int(v) if short else v for v, short in zip(y.tolist(), shorts, strict=True)]
    rows: list[Any] = X.tolist()
    if names is not None:
        rows = [dict(zip(names, row, strict=True)) for row in rows]
    return [
        orjson.dumps({"id": i, "x": row, "y": label})
        for i, (row, label) in enumerate(zip(rows, labels, strict=True), first_id)
    ]


def _short(labels: Floats) -> NDArray[np.bool_]:
    """Where an integer has the same value: not -0.0, and no number that other readers would round."""
    short: NDArray[np.bool_] = (np.abs(labels) < LARGEST_SHORT) & (labels == np.floor(labels))
    short &= (labels != 0.0) | ~np.signbit(labels)
    return short


def _numbers(array: NDArray[Any]) -> bytes:
    return orjson.dumps(np.ascontiguousarray(array), option=orjson.OPT_SERIALIZE_NUMPY)

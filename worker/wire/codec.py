"""The wire format, as far as it is written: events, predictions, accuracy points, drift alarms. Leaf module.

The only door to orjson. Batches go through compiled kernels (`driftway.worker.wire.writer`). What is read is in
`driftway.worker.wire.decoder`, the packed format in `driftway.worker.wire.packed`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from driftway.worker.wire.columns import ListColumn, empty_column
from driftway.worker.wire.events import DEEP_ID, NOT_JSON, REGRESSION, Batch, Reject, Target, as_number

if TYPE_CHECKING:
    from driftway.worker.wire.columns import BytesColumn
    from driftway.worker.wire.scanner import Floats
    from driftway.worker.wire.writer import RowTemplate

JSON, PACKED = "json", "packed"
FORMATS = (JSON, PACKED)
NULL = b"null"
LARGEST_TIME = 2**63
LARGEST_SHORT = 2.0**53
MAX_TEMPLATES = 1024
"""Of predictions that are kept, one for each partition; far more than a worker has."""


def parse_json(value: bytes) -> Any:
    """A JSON value; raises `Reject`."""
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        raise Reject(NOT_JSON) from None


def id_text(value: Any) -> bytes:
    """JSON text of an id; raises `Reject`."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # orjson reads 1024 levels and writes 254
        raise Reject(DEEP_ID) from None


def encode_predictions(batch: Batch, score: Floats, predicted: Floats, target: Target, learner: str) -> BytesColumn:
    """One JSON record per row.

    Parameters
    ----------
    batch : Batch
        n rows.
    score : f8[n, k]
        Scores of the champion.
    predicted : f8[n]
        Class index, or the predicted number in regression.
    target : Target
        How classes are called.
    learner : str
        The champion's spec.
    """
    from driftway.worker.wire.writer import write

    n, k = score.shape
    if n == 0:
        return empty_column()
    if target.task == REGRESSION:
        front = back = np.zeros(n, np.int64)
        numbers = np.column_stack([score, score, batch.y])
    else:
        front = predicted.astype(np.int64, copy=False)
        back = np.where(np.isnan(batch.y), target.n_classes, batch.y).astype(np.int64)
        numbers = score
    layout = _row_template(target, batch.partition, learner, k)
    return write(layout, batch.ids, batch.offsets, front, _numbers(numbers.ravel()), back, batch.t)


@lru_cache(maxsize=MAX_TEMPLATES)
def _row_template(target: Target, partition: int, learner: str, k: int) -> RowTemplate:
    """What a learner's predictions with k scores have in common; kept, since it takes microseconds per class."""
    from driftway.worker.wire.writer import RowTemplate

    start, middle = b'{"id":', b',"partition":%d,"offset":' % partition
    end = b',"learner":' + orjson.dumps(learner) + b',"t":'
    if target.task == REGRESSION:  # numbers of a row: the score as prediction, the score, the label
        return RowTemplate(start, middle, [b',"prediction":'], [b',"score":', b',"y":'], [end])
    opening, closing = (b"[", b"]") if k > 1 else (b"", b"")
    words = target.words()
    fronts = [b',"prediction":' + word + b',"score":' + opening for word in words[:-1]]
    backs = [closing + b',"y":' + word + end for word in words]
    return RowTemplate(start, middle, fronts, [b","] * (k - 1), backs)


def encode_point(
    point: dict[str, Any],
    partition: int,
    offset: int,
    learner: str,
    t: int,
    whose: dict[str, str],
    drift: dict[str, int] | None = None,
) -> bytes:
    """One accuracy point; `offset` and `t` are those of the last row it covers.

    `drift` has the offset of the last alarm of each detector that called one since the point before.
    """
    from driftway.worker.wire.scanner import NO_TIME

    place = {"partition": partition, "offset": offset}
    rest = {"drift": drift, "learner": learner, **whose, "t": None if t == NO_TIME else t}
    return orjson.dumps({**place, **point, **rest})


def key_of(name: str, partition: int) -> bytes:
    """Key of what a learner or a detector says of a partition: accuracy points, drift alarms."""
    return f"{name}/{partition}".encode()


def encode_alarm(detector: str, batch: Batch, row: int, whose: Mapping[str, str]) -> bytes:
    """One drift alarm, called at a row of a batch; `whose` says what learner the detector watches."""
    from driftway.worker.wire.scanner import NO_TIME

    text, bounds = batch.ids
    start, end = bounds[:, row].tolist()
    t = int(batch.t[row])
    place = {"partition": batch.partition, "offset": int(batch.offsets[row])}
    event = {"id": orjson.Fragment(text[start:end].tobytes()), "t": None if t == NO_TIME else t}
    return orjson.dumps({"detector": detector, **place, **whose, **event})


def read_json(value: bytes) -> Any:
    """Parse a record that Driftway itself wrote."""
    return orjson.loads(value)


def write_json(value: Any) -> bytes:
    """JSON text with sorted keys; numpy arrays are written as lists."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY)


def write_rows(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> list[bytes]:
    """JSON objects of a table's rows, a key for each column, in their order.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    columns : sequence of sequences
        Values of each; None, NaN and infinity become null, dates and times ISO 8601.
    """
    return [orjson.dumps(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def encode_events(
    X: Floats, y: Floats, first_id: int, names: Sequence[str] | None = None, labels: Sequence[str] | None = None
) -> list[bytes]:
    """As `write_events`, as objects."""
    return list(write_events(X, y, first_id, names, labels))  # type: ignore[arg-type]


def write_events(
    X: Floats, y: Floats, first_id: int, names: Sequence[str] | None = None, labels: Sequence[str] | None = None
) -> BytesColumn:
    """JSON events of a block of rows.

    Parameters
    ----------
    X : f8[n, d]
        Features; NaN (missing) becomes null.
    y : f8[n]
        Labels; NaN becomes null, a whole number below 2^53 is written as an integer.
    first_id : int
        `id` of the first row; the others count on.
    names : sequence of str or None
        Write `x` as an object with these feature names.
    labels : sequence of str or None
        Write class k as labels[k], a number where that is one: as a worker with these ``--labels`` reads it.
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
    words = [orjson.dumps(as_number(label)) for label in labels or ()]
    backs = [closing + b',"y":' + word for word in [*words, NULL]] if labels else [closing + b',"y":']
    layout = RowTemplate(b"", b'{"id":', [front], between, backs, timed=not labels)
    known = np.where(unknown, 0.0, y).astype(np.int64)
    first, none_at_all = np.zeros(n, np.int64), (as_text(bytes(8)), np.zeros((2, n), np.int64))
    back = np.where(unknown, len(words), known) if labels else first
    offsets = np.arange(first_id, first_id + n)
    return write(layout, none_at_all, offsets, first, _numbers(X.ravel()), back, np.where(unknown, NO_TIME, known))


def write_label(name: Any, y: float, labels: Sequence[str] | None = None) -> bytes:
    """The label of an event that was sent before, as JSON; `name` is its id, `labels` as in `write_events`."""
    whole = y.is_integer() and abs(y) < LARGEST_SHORT
    word = as_number(labels[int(y)]) if labels else int(y) if whole else y
    return orjson.dumps({"id": name, "y": word})


def _events_one_by_one(X: Floats, y: Floats, first_id: int, names: Sequence[str] | None) -> list[bytes]:
    """Events whose labels are not all whole numbers."""
    whole = _short(y).tolist()
    labels = [None if math.isnan(v) else int(v) if short else v for v, short in zip(y.tolist(), whole, strict=True)]
    rows: list[Any] = X.tolist()
    if names is not None:
        rows = [dict(zip(names, row, strict=True)) for row in rows]
    return [
        orjson.dumps({"id": i, "x": row, "y": label})
        for i, (row, label) in enumerate(zip(rows, labels, strict=True), first_id)
    ]


def _short(labels: Floats) -> NDArray[np.bool_]:
    """Where an integer says the same: not -0.0, and not what other readers would round."""
    short: NDArray[np.bool_] = (np.abs(labels) < LARGEST_SHORT) & (labels == np.floor(labels))
    short &= (labels != 0.0) | ~np.signbit(labels)
    return short


def _numbers(array: NDArray[Any]) -> bytes:
    return orjson.dumps(np.ascontiguousarray(array), option=orjson.OPT_SERIALIZE_NUMPY)

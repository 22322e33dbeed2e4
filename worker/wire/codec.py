"""The wire format: events in, predictions, accuracy points, drift alarms and rejections out. Leaf module.

The only door to orjson. Batches of plain JSON events go through compiled kernels (`worker.wire.scanner`,
`worker.wire.writer`); whatever is not plain is read by orjson, event by event, with the same result. The packed format
is that of `worker.wire.packed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from worker.wire import packed
from worker.wire.events import (
    BAD_X,
    DEEP_ID,
    LATE_LABEL,
    NO_LABEL,
    NO_X,
    NOT_JSON,
    NOT_OBJECT,
    NULL_VALUE,
    REGRESSION,
    UNKNOWN_ID,
    Batch,
    Labels,
    Records,
    Reject,
    Rejection,
    Schema,
    Target,
    as_number,
    finite,
)
from worker.wire.headers import chosen_headers
from worker.wire.mapped.reader import Reader
from worker.wire.mapped.schema import EventSchema
from worker.wire.strings import Listed, none, read_only

if TYPE_CHECKING:
    from worker.wire.scanner import Floats, Names
    from worker.wire.strings import Integers, Strings
    from worker.wire.writer import Column, Layout

JSON, PACKED = "json", "packed"
FORMATS = (JSON, PACKED)
NULL = b"null"
LARGEST_TIME = 2**63
LARGEST_SHORT = 2.0**53
MOST_LAYOUTS = 1024
"""Of predictions that are kept, one for each partition; far more than a worker has."""


class Decoder:
    """Turns a partition's records into batches; learns the partition's schema from its first good event.

    Parameters
    ----------
    target : Target
        What labels mean.
    schema : Schema or None
        None: the first good event fixes it.
    form : str
        ``json`` or ``packed``.
    admit : callable or None
        Given the first good event's schema, returns the one to go by, or raises a `Failure`.
    lenient : bool
        A feature that is null, or not there where features have names, is NaN and no reason to reject its event.
    late : bool
        Labels of earlier events may come; otherwise they are rejected.
    loads : callable or None
        What reads an event's bytes in place of JSON, with `events`.
    events : EventSchema or None
        How other objects than ``{"x": ..}`` are read; what they lack is NaN if that says so.
    """

    def __init__(
        self,
        target: Target,
        schema: Schema | None = None,
        form: str = JSON,
        admit: Callable[[Schema], Schema] | None = None,
        lenient: bool = False,
        late: bool = False,
        events: EventSchema | None = None,
        loads: Callable[[bytes], Any] | None = None,
    ) -> None:
        self.target = target
        self.schema = schema if events is None else events.shape
        self.form = form
        self._admit = admit
        self._lenient = lenient
        self._late = late
        self._reader = None if events is None else Reader(events, target, loads or _loads, _dumps, loads is None)

    @property
    def schema(self) -> Schema | None:
        """The one to go by; None until an event has fixed it."""
        return self._schema

    @schema.setter
    def schema(self, schema: Schema | None) -> None:
        """Go by this one."""
        self._schema = schema
        self._names: Names | None = None

    def decode(self, records: Records) -> Batch:
        """Read records; each becomes a row or a rejection. How records are cut into calls changes nothing."""
        rejected: list[Rejection] = []
        start = 0
        while self.schema is None and start < len(records):
            try:
                found = self._schema_of(records.values[start])
                self.schema = found if self._admit is None else self._admit(found)
            except Reject as reject:
                rejected.append(records.rejection(start, str(reject)))
                start += 1
        schema = self.schema or Schema(1)
        rest = records.after(start) if start else records
        batch, reasons = self._read(rest, schema)
        rejected += [rest.rejection(i, reason) for i, reason in sorted(reasons.items())]
        batch.rejected = rejected
        batch.next_offset = int(records.offsets[-1]) + 1
        return batch

    def _read(self, records: Records, schema: Schema) -> tuple[Batch, dict[int, str]]:
        if self._reader is not None:
            X, y, ids, t, reasons, labels = self._reader.read(records, self._late)
            return self._batch(records, X, y, ids, t, reasons, labels), reasons
        return self._packed(records, schema) if self.form == PACKED else self._json(records, schema)

    def _schema_of(self, value: bytes | None) -> Schema:
        if self.form == PACKED:
            return packed.schema_of(value, self.target, self._lenient)
        x, *_ = self._event(value)
        if x is None:
            raise Reject(UNKNOWN_ID)
        schema = Schema.of(x)
        for name, feature in zip(schema.names or range(len(x)), schema.check(x), strict=True):
            self._feature(feature, f"x[{name}]")
        return schema

    def _feature(self, value: Any, what: str) -> float:
        return math.nan if value is None and self._lenient else finite(value, what)

    def _event(self, value: bytes | None) -> tuple[Any, float, bytes, int | None]:
        """Features as parsed (None: a late label), class index, JSON text of the id, time of one JSON event."""
        if value is None:
            raise Reject(NULL_VALUE)
        event = _loads(value)
        if not isinstance(event, dict):
            raise Reject(NOT_OBJECT)
        x, t = event.get("x"), event.get("t")
        if "x" not in event:
            if "id" not in event or "y" not in event:
                raise Reject(NO_X)
            _require_label(event["y"] is not None, self._late)
        elif not isinstance(x, list | dict):
            raise Reject(BAD_X)
        known = isinstance(t, int) and not isinstance(t, bool) and -LARGEST_TIME < t < LARGEST_TIME
        return x, self.target.index(event.get("y")), _dumps(event.get("id")), t if known else None

    def _json(self, records: Records, schema: Schema) -> tuple[Batch, dict[int, str]]:
        from worker.wire.scanner import LABEL, LEFT, NO_TIME, Names, scan
        from worker.wire.writer import as_text

        self._names = self._names or Names.of(schema.names or ())
        text, X, y, spans, t, found = scan(records.values, schema.n_features, self._names, self._lenient)
        y, known = self.target.indices(y)
        found[~known | ((found == LABEL) & np.isnan(y))] = LEFT
        reasons: dict[int, str] = {}
        tail: list[bytes] = []
        end = len(text)
        labels = found == LABEL
        for i in np.flatnonzero((found == LEFT) | labels if not self._late else found == LEFT).tolist():
            try:
                x, y[i], name, time = self._event(records.values[i])
                labels[i] = x is None
                for j, feature in enumerate(() if x is None else schema.check(x, self._lenient)):
                    X[i, j] = self._feature(feature, f"x[{schema.names[j] if schema.names else j}]")
            except Reject as reject:
                reasons[i] = str(reject)
                continue
            t[i] = NO_TIME if time is None else time
            tail.append(name)
            spans[:, i] = end, end + len(name)
            end += len(name)
        ids = read_only(np.concatenate([text, as_text(b"".join(tail))])) if tail else text, spans
        return self._batch(records, X, y, ids, t, reasons, labels), reasons

    def _packed(self, records: Records, schema: Schema) -> tuple[Batch, dict[int, str]]:
        from worker.wire.scanner import NO_TIME
        from worker.wire.writer import as_text

        n = len(records)
        X, y, reasons = packed.decode_events(records.values, schema, self.target, self._lenient)
        ids = as_text(NULL), np.repeat([[0], [len(NULL)]], n, axis=1)
        no_labels = np.zeros(n, np.bool_)
        return self._batch(records, X, y, ids, np.full(n, NO_TIME), reasons, no_labels), reasons

    def _batch(
        self,
        records: Records,
        X: Floats,
        y: Floats,
        ids: Column,
        t: Integers,
        reasons: dict[int, str],
        labels: NDArray[np.bool_],
    ) -> Batch:
        """Everything that was not rejected."""
        stamps = np.asarray(records.timestamps, np.int64) if self._late else None
        if not reasons and not labels.any():
            batch = Batch(
                records.partition, 0, records.offsets, X, y, ids, t, records.keys, records.headers, stamps=stamps
            )
        else:
            keep = ~labels
            keep[list(reasons)] = False
            batch = Batch(
                records.partition,
                0,
                records.offsets[keep],
                X[keep],
                y[keep],
                _ids_of(ids, keep),
                t[keep],
                records.keys.chosen(keep),
                chosen_headers(records.headers, keep),
                stamps=None if stamps is None else stamps[keep],
            )
        if stamps is not None:
            labels[list(reasons)] = False
            batch.labels = Labels(
                batch.offsets.searchsorted(records.offsets[labels]),
                records.offsets[labels],
                y[labels],
                _ids_of(ids, labels),
                t[labels],
                records.chosen(labels),
            )
        return batch


def _ids_of(ids: Column, rows: NDArray[np.bool_]) -> Column:
    return ids[0], np.ascontiguousarray(ids[1][:, rows])


def _require_label(given: bool, late: bool) -> None:
    """Raise `Reject` unless an event without features may be the label of an earlier one."""
    if not late:
        raise Reject(LATE_LABEL)
    if not given:
        raise Reject(NO_LABEL)


def _loads(value: bytes) -> Any:
    """A JSON value; raises `Reject`."""
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        raise Reject(NOT_JSON) from None


def _dumps(value: Any) -> bytes:
    """JSON text of an id; raises `Reject`."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # orjson reads 1024 levels and writes 254
        raise Reject(DEEP_ID) from None


def encode_predictions(batch: Batch, score: Floats, predicted: Floats, target: Target, learner: str) -> Strings:
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
    from worker.wire.writer import write

    n, k = score.shape
    if n == 0:
        return none()
    if target.task == REGRESSION:
        front = back = np.zeros(n, np.int64)
        numbers = np.column_stack([score, score, batch.y])
    else:
        front = predicted.astype(np.int64, copy=False)
        back = np.where(np.isnan(batch.y), target.n_classes, batch.y).astype(np.int64)
        numbers = score
    layout = _layout(target, batch.partition, learner, k)
    return write(layout, batch.ids, batch.offsets, front, _numbers(numbers.ravel()), back, batch.t)


@lru_cache(maxsize=MOST_LAYOUTS)
def _layout(target: Target, partition: int, learner: str, k: int) -> Layout:
    """What a learner's predictions with k scores have in common; kept, since it takes microseconds per class."""
    from worker.wire.writer import Layout

    start, middle = b'{"id":', b',"partition":%d,"offset":' % partition
    end = b',"learner":' + orjson.dumps(learner) + b',"t":'
    if target.task == REGRESSION:  # numbers of a row: the score as prediction, the score, the label
        return Layout(start, middle, [b',"prediction":'], [b',"score":', b',"y":'], [end])
    opening, closing = (b"[", b"]") if k > 1 else (b"", b"")
    words = target.words()
    fronts = [b',"prediction":' + word + b',"score":' + opening for word in words[:-1]]
    backs = [closing + b',"y":' + word + end for word in words]
    return Layout(start, middle, fronts, [b","] * (k - 1), backs)


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
    from worker.wire.scanner import NO_TIME

    place = {"partition": partition, "offset": offset}
    rest = {"drift": drift, "learner": learner, **whose, "t": None if t == NO_TIME else t}
    return orjson.dumps({**place, **point, **rest})


def key_of(name: str, partition: int) -> bytes:
    """Key of what a learner or a detector says of a partition: accuracy points, drift alarms."""
    return f"{name}/{partition}".encode()


def encode_alarm(detector: str, batch: Batch, row: int, whose: Mapping[str, str]) -> bytes:
    """One drift alarm, called at a row of a batch; `whose` says what learner the detector watches."""
    from worker.wire.scanner import NO_TIME

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
) -> Strings:
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
    from worker.wire.scanner import NO_TIME
    from worker.wire.writer import Layout, as_text, write

    (n, d), unknown = X.shape, np.isnan(y)
    if not n or not (labels or (unknown | _short(y)).all()):
        return Listed(_events_one_by_one(X, y, first_id, names))
    marks = [b"", *([b","] * (d - 1))] if names is None else [orjson.dumps(name) + b":" for name in names]
    opening, closing = (b"[", b"]") if names is None else (b"{", b"}")
    front = b',"x":' + opening + marks[0]
    between = marks[1:] if names is None else [b"," + mark for mark in marks[1:]]
    words = [orjson.dumps(as_number(label)) for label in labels or ()]
    backs = [closing + b',"y":' + word for word in [*words, NULL]] if labels else [closing + b',"y":']
    layout = Layout(b"", b'{"id":', [front], between, backs, timed=not labels)
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

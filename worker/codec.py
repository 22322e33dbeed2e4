"""The wire format: events in, predictions, accuracy points and rejections out. Leaf module.

The only door to orjson. Batches of plain JSON events go through compiled kernels (`worker.scanner`,
`worker.writer`); whatever is not plain is read by orjson, event by event, with the same result.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from worker.events import (
    BAD_X,
    DEEP_ID,
    LATE_LABEL,
    NO_X,
    NOT_JSON,
    NOT_OBJECT,
    NULL_VALUE,
    REGRESSION,
    Batch,
    Records,
    Reject,
    Rejection,
    Schema,
    Target,
    finite,
)

if TYPE_CHECKING:
    from worker.scanner import Floats, Integers
    from worker.writer import Column

JSON, PACKED = "json", "packed"
FORMATS = (JSON, PACKED)
PACKED_VERSION = 1
PACKED_HEAD = struct.Struct("<BBd")
"""Version byte, bytes per feature (4 or 8), label (NaN = none); little-endian features follow."""
NOT_PACKED = "packed: not readable"
NULL = b"null"
LARGEST_TIME = 2**63
LARGEST_SHORT = 2.0**53


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
    """

    def __init__(self, target: Target, schema: Schema | None = None, form: str = JSON) -> None:
        self.target = target
        self.schema = schema
        self.form = form

    def decode(self, records: Records) -> Batch:
        """Read records; each becomes a row or a rejection. How records are cut into calls changes nothing."""
        rejected: list[Rejection] = []
        start = 0
        while self.schema is None and start < len(records):
            try:
                self.schema = self._schema_of(records.values[start])
            except Reject as reject:
                rejected.append(_rejection(records, start, str(reject)))
                start += 1
        schema = self.schema or Schema(1)
        rest = records.after(start) if start else records
        read = self._packed if self.form == PACKED else self._json
        batch, reasons = read(rest, schema)
        rejected += [_rejection(rest, i, reason) for i, reason in sorted(reasons.items())]
        batch.rejected = rejected
        batch.next_offset = int(records.offsets[-1]) + 1
        return batch

    def _schema_of(self, value: bytes | None) -> Schema:
        if self.form == PACKED:
            size, _ = _packed_head(value)
            schema = Schema((len(value or b"") - PACKED_HEAD.size) // size)
            if (reason := self._packed_reason(value, schema)) is not None:
                raise Reject(reason)
            return schema
        x, *_ = self._event(value)
        schema = Schema.of(x)
        for name, feature in zip(schema.names or range(len(x)), schema.check(x), strict=True):
            finite(feature, f"x[{name}]")
        return schema

    def _event(self, value: bytes | None) -> tuple[Any, float, bytes, int | None]:
        """Features as parsed, class index, JSON text of the id, time of one JSON event."""
        if value is None:
            raise Reject(NULL_VALUE)
        try:
            event = orjson.loads(value)
        except orjson.JSONDecodeError:
            raise Reject(NOT_JSON) from None
        if not isinstance(event, dict):
            raise Reject(NOT_OBJECT)
        if "x" not in event:
            raise Reject(LATE_LABEL if "id" in event and "y" in event else NO_X)
        x, t = event["x"], event.get("t")
        if not isinstance(x, list | dict):
            raise Reject(BAD_X)
        known = isinstance(t, int) and not isinstance(t, bool) and -LARGEST_TIME < t < LARGEST_TIME
        y = self.target.index(event.get("y"))
        try:
            name = orjson.dumps(event.get("id"))
        except orjson.JSONEncodeError:  # orjson reads 1024 levels and writes 254
            raise Reject(DEEP_ID) from None
        return x, y, name, t if known else None

    def _json(self, records: Records, schema: Schema) -> tuple[Batch, dict[int, str]]:
        from worker.scanner import NO_TIME, scan
        from worker.writer import as_text

        n = len(records)
        values = [value or b"" for value in records.values]
        # The scanner wants a byte after each event; the word after the last one serves events without an id.
        text = b"\n".join([*values, NULL])
        lengths = np.fromiter(map(len, values), np.int64, n)
        ends = np.cumsum(lengths + 1) - 1
        X, y, spans, t, plain = scan(as_text(text), ends - lengths, ends, schema.n_features)
        if schema.names is not None:
            plain[:] = False
        y, known = self.target.indices(y)
        plain &= known
        nothing = spans[0] == spans[1]
        reasons: dict[int, str] = {}
        tail: list[bytes] = []
        end = len(text)
        spans[:, nothing] = [[end - len(NULL)], [end]]
        for i in np.flatnonzero(~plain).tolist():
            try:
                x, y[i], name, time = self._event(records.values[i])
                for j, feature in enumerate(schema.check(x)):
                    X[i, j] = finite(feature, f"x[{schema.names[j] if schema.names else j}]")
            except Reject as reject:
                reasons[i] = str(reject)
                continue
            t[i] = NO_TIME if time is None else time
            tail.append(name)
            spans[:, i] = end, end + len(name)
            end += len(name)
        ids = as_text(text + b"".join(tail) if tail else text), spans
        return self._batch(records, X, y, ids, t, reasons), reasons

    def _packed(self, records: Records, schema: Schema) -> tuple[Batch, dict[int, str]]:
        from worker.scanner import NO_TIME
        from worker.writer import as_text

        n, d = len(records), schema.n_features
        X, y = np.empty((n, d)), np.empty(n)
        reasons: dict[int, str] = {}
        for size in (4, 8):
            row = np.dtype([("head", "u1", 2), ("y", "<f8"), ("x", f"<f{size}", (d,))])
            head = bytes((PACKED_VERSION, size))
            here = [
                i
                for i, value in enumerate(records.values)
                if value is not None and len(value) == row.itemsize and value[:2] == head
            ]
            rows = np.frombuffer(b"".join([records.values[i] or b"" for i in here]), row)
            X[here], y[here] = rows["x"], rows["y"]
            reasons.update(dict.fromkeys(here, ""))
        odd = [i for i in range(n) if i not in reasons]
        y, known = self.target.indices(y)
        bad = np.flatnonzero(~(known & np.isfinite(X).all(axis=1))).tolist()
        reasons = {}
        for i in {*odd, *bad}:
            reasons[i] = self._packed_reason(records.values[i], schema) or NOT_PACKED
        ids = as_text(b"null"), np.repeat([[0], [4]], n, axis=1)
        return self._batch(records, X, y, ids, np.full(n, NO_TIME), reasons), reasons

    def _packed_reason(self, value: bytes | None, schema: Schema) -> str | None:
        """Why a packed event cannot be used; None if it can."""
        try:
            size, label = _packed_head(value)
            n = (len(value or b"") - PACKED_HEAD.size) // size
            if n != schema.n_features:
                raise Reject(f"x has {n} features, expected {schema.n_features}")
            for j, feature in enumerate(np.frombuffer(value or b"", f"<f{size}", offset=PACKED_HEAD.size)):
                finite(float(feature), f"x[{j}]")
            known = None if math.isnan(label) else int(label) if label.is_integer() else label
            self.target.index(known)
        except Reject as reject:
            return str(reject)
        return None

    @staticmethod
    def _batch(records: Records, X: Floats, y: Floats, ids: Column, t: Integers, reasons: dict[int, str]) -> Batch:
        """Everything that was not rejected."""
        if not reasons:
            return Batch(records.partition, 0, records.offsets, X, y, ids, t, records.keys)
        keep = np.ones(len(records), np.bool_)
        keep[list(reasons)] = False
        keys = [key for key, kept in zip(records.keys, keep.tolist(), strict=True) if kept]
        kept_ids = ids[0], np.ascontiguousarray(ids[1][:, keep])
        return Batch(records.partition, 0, records.offsets[keep], X[keep], y[keep], kept_ids, t[keep], keys)


def encode_predictions(batch: Batch, score: Floats, predicted: Floats, target: Target, learner: str) -> list[bytes]:
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
    from worker.writer import choose, interleave, split

    n = len(batch)
    if n == 0:
        return []
    k = score.shape[1]
    scores = split(_numbers(score.ravel()), n, k)
    if target.task == REGRESSION:
        prediction, y = scores, split(_numbers(batch.y), n)
    else:
        words = target.words()
        prediction = choose(words, predicted.astype(np.int64))
        unknown = np.isnan(batch.y)
        y = choose(words, np.where(unknown, target.n_classes, batch.y).astype(np.int64))
    opening, closing = (b"[", b"]") if k > 1 else (b"", b"")
    pieces = [
        b'{"id":',
        b',"partition":%d,"offset":' % batch.partition,
        b',"prediction":',
        b',"score":' + opening,
        closing + b',"y":',
        b',"learner":' + orjson.dumps(learner) + b',"t":',
        b"}",
    ]
    offsets, times = split(_numbers(batch.offsets), n), _times(batch.t)
    return interleave(pieces, [batch.ids, offsets, prediction, scores, y, times], n)


def _times(t: Integers) -> Column:
    """JSON text of each event's time; null where it has none."""
    from worker.scanner import NO_TIME
    from worker.writer import as_text, split

    absent = t == NO_TIME
    if absent.all():
        return as_text(b"null"), np.repeat([[0], [4]], len(t), axis=1)
    listed = _numbers(t)
    text, bounds = split(listed, len(t))
    if absent.any():
        bounds[:, absent] = [[len(listed)], [len(listed) + 4]]
        text = as_text(listed + b"null")
    return text, bounds


def encode_point(point: dict[str, Any], partition: int, offset: int, learner: str, t: int) -> bytes:
    """One accuracy point; `offset` and `t` are those of the last row it covers. `drift`: no detector yet."""
    from worker.scanner import NO_TIME

    place = {"partition": partition, "offset": offset}
    rest = {"drift": None, "learner": learner, "t": None if t == NO_TIME else t}
    return orjson.dumps({**place, **point, **rest})


def read_json(value: bytes) -> Any:
    """Parse a record that Driftway itself wrote."""
    return orjson.loads(value)


def write_json(value: Any) -> bytes:
    """JSON text with sorted keys; numpy arrays are written as lists."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY)


def encode_events(X: Floats, y: Floats, first_id: int, names: Sequence[str] | None = None) -> list[bytes]:
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
    """
    labels = [None if math.isnan(v) else int(v) if _short(v) else v for v in y.tolist()]
    rows: list[Any] = X.tolist()
    if names is not None:
        rows = [dict(zip(names, row, strict=True)) for row in rows]
    return [
        orjson.dumps({"id": i, "x": row, "y": label})
        for i, (row, label) in enumerate(zip(rows, labels, strict=True), first_id)
    ]


def _short(label: float) -> bool:
    """Whether an integer says the same: not -0.0, and not what other readers would round."""
    return label.is_integer() and abs(label) < LARGEST_SHORT and (label != 0.0 or math.copysign(1.0, label) > 0.0)


def encode_packed(X: Floats, y: Floats) -> list[bytes]:
    """Packed events of a block of rows: X f8[n, d], y f8[n] with NaN = no label."""
    n, d = X.shape
    rows = np.empty(n, np.dtype([("head", "u1", 2), ("y", "<f8"), ("x", "<f8", (d,))]))
    rows["head"], rows["y"], rows["x"] = (PACKED_VERSION, 8), y, X
    data, size = rows.tobytes(), rows.itemsize
    return [data[i * size : (i + 1) * size] for i in range(n)]


def _numbers(array: NDArray[Any]) -> bytes:
    return orjson.dumps(np.ascontiguousarray(array), option=orjson.OPT_SERIALIZE_NUMPY)


def _packed_head(value: bytes | None) -> tuple[int, float]:
    """Bytes per feature and label of a packed event."""
    if value is None:
        raise Reject(NULL_VALUE)
    if len(value) < PACKED_HEAD.size:
        raise Reject(f"packed: {len(value)} bytes are less than its head")
    version, size, label = PACKED_HEAD.unpack_from(value)
    if version != PACKED_VERSION:
        raise Reject(f"packed: version {version} is not {PACKED_VERSION}")
    if size not in (4, 8):
        raise Reject(f"packed: {size} bytes per feature, expected 4 or 8")
    if len(value) == PACKED_HEAD.size or (len(value) - PACKED_HEAD.size) % size:
        raise Reject(f"packed: {len(value)} bytes are not a whole number of features")
    return size, label


def _rejection(records: Records, i: int, reason: str) -> Rejection:
    return Rejection(reason, int(records.offsets[i]), records.values[i], records.keys[i], records.timestamps[i])

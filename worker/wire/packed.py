"""Encode and decode the packed wire format: little-endian events and predictions of fixed layout. Leaf module.

Event (``--format packed``), 10 + d x size bytes:

    0   u1      version, 1
    1   u1      size: bytes per feature, 4 or 8
    2   f8      label; NaN = none
    10  f4, f8  d features

Prediction (``--output-format packed``), 40 + 8 k bytes and the id; of a plan from the second on, see
`driftway.worker.state.plans`, version 2 with 8 bytes more; with other optional fields version 3:

    0   u1      version, 1 to 3
    1   u1      kind: 0 the prediction is a class index, 1 it is a number
    2   u2      k, number of scores
    4   i4      input partition
    8   i8      input offset
    16  i8      t of the event; the smallest i8 (`driftway.worker.wire.scanner.NO_TIME`) = none
    24  f8      y: class index or number; NaN = none
    32  f8      prediction
    40  i8      in version 2 only: number of the plan
    40  u8      in version 3 only: which of the optional fields follow, one bit each, in this order:
    ..  i8        1: number of the plan, from the second on
    ..  f8        2: probability of the class predicted
    ..  f8[k]   scores
    ..          JSON text of the event's id, to the end of the record; empty = none or null

Classes are indices even where JSON uses the names from ``--labels``. The learner's name is left out: accuracy points
and snapshots have it, and a header on every record would cost more than the record.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire.columns import BufferColumn, BytesColumn
from driftway.worker.wire.events import NULL_VALUE, REGRESSION, Batch, Reject, RejectLabel, Schema, Target, finite
from driftway.worker.wire.json_tokens.buffer_pool import PooledColumn, give_buffer, runs, take_buffer

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Integers
    from driftway.worker.wire.scanner import Floats

VERSION = 1
"""First byte of events and predictions; differs from the `{` that JSON begins with."""
PLANNED = 2
"""First byte of the predictions of a plan from the second on."""
OPTIONAL = 3
"""First byte of predictions that say which optional fields they have."""
FIELDS = (("plan", "<i8"), ("probability", "<f8"))
"""Name and type of each optional field of version 3: bit i of its mask says that field i is there. A new one is added
at the end, so that the bits and the order of the others stay; a reader that does not know it must refuse the record."""
MILLION = 1e6
PLAN, PROBABILITY = 1, 2
"""Bits of the mask."""
EVENT_HEAD = struct.Struct("<BBd")
SIZES = (4, 8)
NOT_PACKED = "packed: not readable"

CLASS, NUMBER = 0, 1
"""Kinds of prediction; an event's second byte never has these values."""
PREDICTION_HEAD = np.dtype(
    [
        ("version", "u1"),
        ("kind", "u1"),
        ("n_scores", "<u2"),
        ("partition", "<i4"),
        ("offset", "<i8"),
        ("t", "<i8"),
        ("y", "<f8"),
        ("prediction", "<f8"),
    ]
)
WITH_FIELDS = np.dtype([*PREDICTION_HEAD.descr, ("fields", "<u8")])
MOST_SCORES = 65_535
"""Largest value of the two bytes of `n_scores`."""
LOWER_N = ord("n")


class Predictions(NamedTuple):
    """Columns of packed predictions, one row per record; the arrays are read-only views of one copy of the records."""

    kind: NDArray[np.uint8]
    """CLASS or NUMBER."""
    partition: NDArray[np.int32]
    offset: Integers
    t: Integers
    y: Floats
    prediction: Floats
    scores: Floats
    """f8[n, k]"""
    ids: list[bytes]
    """JSON text; empty if the event has none."""
    plan: Integers
    """Number of the plan that the model belongs to."""
    probability: Floats
    """f8[n], of the class predicted; NaN where there is none."""


def encode_events(X: Floats, y: Floats) -> list[bytes]:
    """Encode a block of rows as packed events: X f8[n, d], y f8[n] with NaN = no label."""
    return _records(_event_rows(X, y))


def write_events(X: Floats, y: Floats) -> BytesColumn:
    """Encode as `encode_events` does, into a column."""
    rows = _event_rows(X, y)
    n, width = len(rows), rows.itemsize
    return BufferColumn(rows.view(np.uint8), np.arange(n) * width, np.full(n, width))


def _event_rows(X: Floats, y: Floats) -> NDArray[Any]:
    n, d = X.shape
    rows = np.empty(n, [("head", "u1", 2), ("y", "<f8"), ("x", "<f8", (d,))])
    rows["head"], rows["y"], rows["x"] = (VERSION, 8), y, X
    return rows


def schema_of(value: bytes | None, lenient: bool = False) -> Schema:
    """Return the schema that a packed event fixes.

    Raises
    ------
    Reject
        The event cannot be used.
    """
    size, _ = _head(value)
    schema = Schema.first((len(value or b"") - EVENT_HEAD.size) // size)
    if (reason := why_unusable(value, schema, lenient)) is not None:
        raise Reject(reason)
    return schema


def decode_events(
    values: BytesColumn, schema: Schema, target: Target, lenient: bool = False
) -> tuple[Floats, Floats, dict[int, str], dict[int, str]]:
    """Decode packed events, all at once if they have equal lengths; if `lenient`, features may be NaN.

    Returns
    -------
    X : f8[n, d]
        C-contiguous; rows with a reason are undefined.
    y : f8[n]
        Class index or target; NaN = no label, or none that can be used.
    reasons : dict
        Index -> why that event cannot be used.
    set_aside : dict
        Index -> why the label of that event, which can be used, cannot.
    """
    n, d = len(values), schema.n_features
    sizes = {EVENT_HEAD.size + size * d: size for size in SIZES}
    lengths = values.lengths()
    if n and lengths[0] in sizes and (lengths == lengths[0]).all():
        X, y, usable = _rows(values, sizes[int(lengths[0])], d)
    else:
        X, y, usable = np.zeros((n, d)), np.zeros(n), np.zeros(n, np.bool_)
        for length, size in sizes.items():
            here = lengths == length
            X[here], y[here], usable[here] = _rows(values.chosen(here), size, d)
    y, known = target.indices(y)
    y[~known] = math.nan
    if not np.isfinite(X).all():
        usable &= (~np.isinf(X) if lenient else np.isfinite(X)).all(axis=1)
    reasons = {i: why_unusable(values[i], schema, lenient) or NOT_PACKED for i in np.flatnonzero(~usable).tolist()}
    set_aside = {i: label_reason(values[i], target) or NOT_PACKED for i in np.flatnonzero(usable & ~known).tolist()}
    return X, y, reasons, set_aside


def label_reason(value: bytes | None, target: Target) -> str | None:
    """Return why the label of a readable packed event cannot be used; None if it can."""
    _, label = _head(value)
    try:
        target.index(None if math.isnan(label) else int(label) if label.is_integer() else label)
    except RejectLabel as reject:
        return str(reject)
    return None


def why_unusable(value: bytes | None, schema: Schema, lenient: bool = False) -> str | None:
    """Return why a packed event is rejected; None if it is not."""
    try:
        size, _ = _head(value)
        n = (len(value or b"") - EVENT_HEAD.size) // size
        if n != schema.n_features:
            raise Reject(f"x has {n} features, expected {schema.n_features}")
        for j, feature in enumerate(np.frombuffer(value or b"", f"<f{size}", offset=EVENT_HEAD.size)):
            if not (lenient and math.isnan(feature)):
                finite(float(feature), f"x[{j}]")
    except Reject as reject:
        return str(reject)
    return None


def encode_predictions(
    batch: Batch,
    score: Floats,
    predicted: NDArray[Any],
    target: Target,
    plan: int = 1,
    sure: Integers | None = None,
) -> PooledColumn:
    """Encode one packed record per row.

    Parameters
    ----------
    batch : Batch
        n rows.
    score : f8[n, k]
        Scores of the champion, k <= MOST_SCORES.
    predicted : i8[n] or f8[n]
        Class index, or the predicted number in regression.
    target : Target
        What is predicted.
    plan : int
        Number of the plan that the champion belongs to.
    sure : i8[n] or None
        Probabilities of the classes predicted, in millionths; None: they have none.
    """
    n, k = score.shape
    mask = (PLAN if plan != 1 else 0) | (0 if sure is None else PROBABILITY)
    version = VERSION if not mask else PLANNED if mask == PLAN else OPTIONAL
    dtype = _prediction(k, version, mask)
    buffer = take_buffer(n * dtype.itemsize)
    rows = buffer[: n * dtype.itemsize].view(dtype)
    rows["version"], rows["kind"] = version, NUMBER if target.task == REGRESSION else CLASS
    rows["n_scores"] = k
    if version == OPTIONAL:
        rows["fields"] = mask
    if plan != 1:
        rows["plan"] = plan
    if sure is not None:
        rows["probability"] = sure / MILLION
    rows["partition"], rows["offset"], rows["t"] = batch.partition, batch.offsets, batch.t
    rows["y"], rows["prediction"], rows["scores"] = batch.y, predicted, score
    text, bounds = batch.ids
    if (text[bounds[0]] == LOWER_N).all():  # as in `append_text`: no event has an id
        return PooledColumn(buffer, np.arange(1, n + 1) * dtype.itemsize, runs)
    from driftway.worker.wire.json_tokens.append import append_text

    with_ids = append_text(rows.view(np.uint8).reshape(n, -1), text, bounds)
    give_buffer(buffer)
    return with_ids


def is_packed(value: bytes) -> bool:
    """Whether a prediction is packed rather than JSON."""
    return value[:1] != b"{"


def are_packed(values: BytesColumn) -> NDArray[np.bool_]:
    """Return `is_packed` of each value, bool[n]."""
    text, starts, lengths = values.to_buffer()
    packed = np.ones(len(starts), np.bool_)
    nonempty = lengths > 0
    packed[nonempty] = text[starts[nonempty]] != ord("{")
    return packed


def decode_predictions(values: Sequence[bytes]) -> Predictions:
    """Read packed predictions of the same version with the same fields and the same number of scores.

    Raises
    ------
    ValueError
        A record is not a packed prediction, has fields that are not known, or its version, fields or number of scores
        differ from the first's.
    """
    begin = (values[0] if values else b"").ljust(WITH_FIELDS.itemsize, b"\0")
    first = np.frombuffer(begin, WITH_FIELDS, 1)
    version = int(first["version"][0]) if first["version"][0] in (PLANNED, OPTIONAL) else VERSION
    mask = int(first["fields"][0]) if version == OPTIONAL else PLAN if version == PLANNED else 0
    if mask >> len(FIELDS):
        raise ValueError(f"record 0, a packed prediction, has fields that this version does not know: mask {mask:#x}")
    form = _prediction(int(first["n_scores"][0]), version, mask)
    for i, value in enumerate(values):
        if len(value) < form.itemsize or value[0] != version:
            raise ValueError(_why_no_prediction(value, i, version))
    rows = np.frombuffer(b"".join([value[: form.itemsize] for value in values]), form)
    different = (rows["n_scores"] != first["n_scores"]) | (rows["kind"] > NUMBER)
    if version == OPTIONAL:
        different |= rows["fields"] != mask
    others = np.flatnonzero(different)
    if len(others):
        raise ValueError(_why_no_prediction(values[others[0]], int(others[0]), version))
    return Predictions(
        rows["kind"],
        rows["partition"],
        rows["offset"],
        rows["t"],
        rows["y"],
        rows["prediction"],
        rows["scores"],
        [value[form.itemsize :] for value in values],
        rows["plan"] if mask & PLAN else np.ones(len(rows), np.int64),
        rows["probability"] if mask & PROBABILITY else np.full(len(rows), np.nan),
    )


def _why_no_prediction(value: bytes, i: int, version: int) -> str:
    """Explain why a record cannot be read together with the first one, of that version."""
    if value[:1] and value[0] != version:
        return f"record {i} is not a packed prediction of version {version}: it begins with byte {value[0]}"
    if len(value) >= PREDICTION_HEAD.itemsize and value[1] <= NUMBER:
        return f"record {i}, a packed prediction, does not hold as many scores as the first, or not the same fields"
    return (
        f"record {i} is not a packed prediction: {len(value)} bytes, beginning with {value[:2].hex(' ') or 'nothing'}"
    )


def _rows(values: BytesColumn, size: int, d: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Read features, labels, and whether the head is valid, of events that all have the length for d features."""
    n, start = len(values), 0
    X, y, right = np.empty((n, d)), np.empty(n), np.empty(n, np.bool_)
    # Features of 8 bytes are copied as one item per row: one by one they take twice as long.
    x, into = (f"V{8 * d}", X.view(f"V{8 * d}")[:, 0]) if size == 8 else (f"({d},)<f4", X)
    form = {"names": ["head", "y", "x"], "formats": ["<u2", "<f8", x], "offsets": [0, 2, EVENT_HEAD.size]}
    with np.errstate(invalid="ignore"):  # a signalling NaN
        for block in values.blocks(EVENT_HEAD.size + size * d):
            spaced: Any = {**form, "itemsize": block.shape[1]}
            rows = block.reshape(-1).view(np.dtype(spaced))
            part = slice(start, start + len(rows))
            into[part], y[part], right[part] = rows["x"], rows["y"], rows["head"] == VERSION + 256 * size
            start += len(rows)
    return X, y, right


def _head(value: bytes | None) -> tuple[int, float]:
    """Read the head of a packed event: bytes per feature, and label."""
    if value is None:
        raise Reject(NULL_VALUE)
    if len(value) < EVENT_HEAD.size:
        raise Reject(f"packed: {len(value)} bytes are less than its head")
    version, size, label = EVENT_HEAD.unpack_from(value)
    if version != VERSION:
        raise Reject(f"packed: version {version} is not {VERSION}")
    if size not in SIZES:
        raise Reject(f"packed: {size} bytes per feature, expected 4 or 8")
    if len(value) == EVENT_HEAD.size or (len(value) - EVENT_HEAD.size) % size:
        raise Reject(f"packed: {len(value)} bytes are not a whole number of features")
    return size, label


def _prediction(k: int, version: int, mask: int) -> np.dtype[Any]:
    """The fixed part of a prediction with k scores, and the optional fields that a mask names."""
    head = WITH_FIELDS if version == OPTIONAL else PREDICTION_HEAD
    fields = [field for bit, field in enumerate(FIELDS) if mask >> bit & 1]
    return np.dtype([*head.descr, *fields, ("scores", "<f8", (k,))])


def _records(rows: NDArray[Any]) -> list[bytes]:
    """Return the bytes of each row. numpy converts opaque items to `bytes` five times as fast as slicing does."""
    opaque: list[bytes] = rows.view(f"V{rows.itemsize}").tolist()
    return opaque

"""Packed events: encode and decode. Leaf module; the layout is in `driftway.worker.wire.packed`."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire.columns import BufferColumn, BytesColumn, Floats
from driftway.worker.wire.events import NULL_VALUE, Reject, RejectLabel, Schema, Target, finite

VERSION = 1
"""First byte; differs from the `{` that JSON begins with."""
EVENT_HEAD = struct.Struct("<BBd")
SIZES = (4, 8)
NOT_PACKED = "packed: not readable"


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
    values: BytesColumn, schema: Schema, target: Target, lenient: bool
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


def why_unusable(value: bytes | None, schema: Schema, lenient: bool) -> str | None:
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


def _records(rows: NDArray[Any]) -> list[bytes]:
    """Return the bytes of each row. numpy converts opaque items to `bytes` five times as fast as slicing does."""
    opaque: list[bytes] = rows.view(f"V{rows.itemsize}").tolist()
    return opaque

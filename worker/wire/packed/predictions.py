"""Packed predictions: encode and decode. Leaf module; the layout is in `driftway.worker.wire.packed`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftway.worker.wire.columns import NO_CONFIDENCE, Confidence
from driftway.worker.wire.events import REGRESSION, Batch, Target
from driftway.worker.wire.json_tokens.buffer_pool import PooledColumn, give_buffer, runs, take_buffer

if TYPE_CHECKING:
    from driftway.worker.wire.columns import Flags, Floats, Integers

VERSION = 1
"""First byte; differs from the `{` that JSON begins with."""
PLANNED = 2
"""First byte of the predictions of a plan from the second on."""
OPTIONAL = 3
"""First byte of predictions that say which optional fields they have."""
PLAN, PROBABILITY, NAME, INTERVAL, SET = 1, 2, 4, 8, 16
"""Bits of the mask in version 3: which optional fields a record has. All but the name stand in front of the scores, in
the order of their bits. A new one gets the next bit, so that the others stay as they are; a reader that does not know
it must refuse the record."""
MAY_LACK = (PROBABILITY, "probability"), (INTERVAL, "low"), (INTERVAL, "high")
"""Bit, and name of a number that is NaN where the record has none."""
KNOWN = PLAN | PROBABILITY | NAME | INTERVAL | SET
MILLION = 1e6
NAME_BYTES = 2
"""Size of the length in front of a challenger's name."""
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
MAX_SCORES = 65_535
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
    learners: list[str]
    """Names of the challengers; empty texts for champions, whose names are not in the records."""
    probability: Floats
    """f8[n], of the class predicted; NaN where there is none."""
    low: Floats
    high: Floats
    """f8[n], ends of the intervals, infinite for one without end; NaN where there is no interval."""
    members: Flags
    """b1[n, K], which classes are in each set; b1[n, 0] where there is none."""


def encode_predictions(
    batch: Batch,
    score: Floats,
    predicted: NDArray[Any],
    target: Target,
    plan: int = 1,
    confidence: Confidence = NO_CONFIDENCE,
    challenger: str = "",
) -> PooledColumn:
    """Encode one packed record per row.

    Parameters
    ----------
    batch : Batch
        n rows.
    score : f8[n, k]
        Scores of the model, k <= MAX_SCORES.
    predicted : i8[n] or f8[n]
        Class index, or the predicted number in regression.
    target : Target
        What is predicted.
    plan : int
        Number of the plan that the model belongs to.
    confidence : Confidence
        What is written of how sure the predictions are.
    challenger : str
        The model's name; empty: it is the champion.
    """
    n, k = score.shape
    name = challenger.encode()
    asked = {PLAN: plan != 1, NAME: bool(name), **_confidence_bits(confidence)}
    mask = sum(bit for bit, is_there in asked.items() if is_there)
    version = _version(mask)
    dtype = _prediction(k, version, mask, len(name))
    buffer = take_buffer(n * dtype.itemsize)
    rows = buffer[: n * dtype.itemsize].view(dtype)
    rows["version"], rows["kind"] = version, NUMBER if target.task == REGRESSION else CLASS
    rows["n_scores"] = k
    if version == OPTIONAL:
        rows["fields"] = mask
    if plan != 1:
        rows["plan"] = plan
    if confidence.probability is not None:
        rows["probability"] = confidence.probability / MILLION
    if confidence.ends is not None:
        rows["low"], rows["high"] = confidence.ends
    if confidence.members is not None:
        rows["set"] = np.packbits(confidence.members, axis=1, bitorder="little")
    if name:
        rows["length"], rows["name"] = len(name), np.frombuffer(name, np.uint8)
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
    """Whether a prediction is packed rather than JSON, or one whose schema is in a registry."""
    return value[:1] not in (b"{", b"\0")


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
    mask = PLAN if version == PLANNED else 0
    if version == OPTIONAL:
        mask = int(first["fields"][0])
    if mask & ~KNOWN:
        raise ValueError(f"record 0, a packed prediction, has fields that this version does not know: mask {mask:#x}")
    form = _prediction(int(first["n_scores"][0]), version, mask)
    for i, value in enumerate(values):
        if len(value) < form.itemsize or value[0] != version:
            raise ValueError(_why_no_prediction(value, i, version))
    rest = [value[form.itemsize :] for value in values]
    names, ids = _names(rest) if mask & NAME else ([""] * len(rest), rest)
    rows = np.frombuffer(b"".join([value[: form.itemsize] for value in values]), form)
    different = (rows["n_scores"] != first["n_scores"]) | (rows["kind"] > NUMBER)
    if version == OPTIONAL:
        different |= rows["fields"] != mask
    others = np.flatnonzero(different)
    if len(others):
        raise ValueError(_why_no_prediction(values[others[0]], int(others[0]), version))
    lacking = np.full(len(rows), np.nan)
    probability, low, high = (rows[field] if mask & bit else lacking for bit, field in MAY_LACK)
    return Predictions(
        rows["kind"],
        rows["partition"],
        rows["offset"],
        rows["t"],
        rows["y"],
        rows["prediction"],
        rows["scores"],
        ids,
        rows["plan"] if mask & PLAN else np.ones(len(rows), np.int64),
        names,
        probability,
        low,
        high,
        _members(rows["set"], rows.dtype["scores"].shape[0]) if mask & SET else np.zeros((len(rows), 0), np.bool_),
    )


def _names(rest: Sequence[bytes]) -> tuple[list[str], list[bytes]]:
    """Split what follows the scores into names and ids.

    Raises
    ------
    ValueError
        A name is cut off, or not UTF-8.
    """
    names, ids = list[str](), list[bytes]()
    for i, value in enumerate(rest):
        end = NAME_BYTES + int.from_bytes(value[:NAME_BYTES], "little")
        if not NAME_BYTES < end <= len(value):
            raise ValueError(f"record {i} is not a packed prediction of a challenger: it ends before its name")
        names.append(value[NAME_BYTES:end].decode())
        ids.append(value[end:])
    return names, ids


def _why_no_prediction(value: bytes, i: int, version: int) -> str:
    """Explain why a record cannot be read together with the first one, of that version."""
    if value[:1] and value[0] != version:
        return f"record {i} is not a packed prediction of version {version}: it begins with byte {value[0]}"
    if len(value) >= PREDICTION_HEAD.itemsize and value[1] <= NUMBER:
        return f"record {i}, a packed prediction, does not hold as many scores as the first, or not the same fields"
    return (
        f"record {i} is not a packed prediction: {len(value)} bytes, beginning with {value[:2].hex(' ') or 'nothing'}"
    )


def _confidence_bits(confidence: Confidence) -> dict[int, bool]:
    """Bit of each field on confidence -> whether it is written."""
    said = {PROBABILITY: confidence.probability, INTERVAL: confidence.ends, SET: confidence.members}
    return {bit: value is not None for bit, value in said.items()}


def _members(packed_bits: NDArray[np.uint8], k: int) -> Flags:
    """Return which classes are in each set, b1[n, K], of records with k scores."""
    return np.unpackbits(packed_bits, axis=1, count=_classes(k), bitorder="little").astype(np.bool_)


def _version(mask: int) -> int:
    """Return the version of the format in which the fields of a mask are written."""
    if mask == 0:
        return VERSION
    return PLANNED if mask == PLAN else OPTIONAL


def _classes(k: int) -> int:
    """K of a prediction of classes with k scores."""
    return max(2, k)


def _prediction(k: int, version: int, mask: int, name_bytes: int = 0) -> np.dtype[Any]:
    """The fixed part of a prediction with k scores, and the optional fields that a mask names.

    The name of a challenger is included if it has a length.
    """
    head = WITH_FIELDS if version == OPTIONAL else PREDICTION_HEAD
    optional: dict[int, list[Any]] = {
        PLAN: [("plan", "<i8")],
        PROBABILITY: [("probability", "<f8")],
        INTERVAL: [("low", "<f8"), ("high", "<f8")],
        SET: [("set", "u1", ((_classes(k) + 7) // 8,))],
    }
    fields = [field for bit, named in optional.items() if mask & bit for field in named]
    name: list[Any] = [("length", "<u2"), ("name", "u1", (name_bytes,))] if name_bytes else []
    return np.dtype([*head.descr, *fields, ("scores", "<f8", (k,)), *name])

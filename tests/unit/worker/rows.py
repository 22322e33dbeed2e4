"""Records and models that the worker's unit tests share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftway.learners import Spec
from driftway.worker.admin.audit.outputs import TEST_FIELDS
from driftway.worker.settings import ModelSettings
from driftway.worker.state.outputs import Outputs
from driftway.worker.wire.codec import JSON, encode_events
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Reject, Schema, Target
from driftway.worker.wire.headers import Headers
from driftway.worker.wire.scanner import NO_TIME

Array = NDArray[np.float64]
STAMP = 1_700_000_000_000
DRIFT_AT = 150


def records(
    values: Sequence[bytes | None], first: int = 0, partition: int = 3, headers: Headers | None = None
) -> Records:
    """Return records at offsets first, first + 1, ... with distinct keys and timestamps."""
    n = len(values)
    offsets = np.arange(first, first + n, dtype=np.int64)
    keys, stamps = ListColumn([b"k%d" % o for o in offsets]), [STAMP + o for o in offsets.tolist()]
    return Records(partition, offsets, ListColumn(values), keys, stamps, headers)


def pieces(whole: Records, cuts: Sequence[int]) -> list[Records]:
    """Return `whole` cut at the given positions, without empty pieces."""
    places = sorted({c % len(whole) for c in cuts} | {0})
    ends = [*places[1:], len(whole)]
    return [whole.before(end).after(start) for start, end in zip(places, ends, strict=True)]


def tabled(decoder: Decoder, parts: Sequence[Records]) -> dict[int, Any]:
    """Return offset -> (x bytes, y, id text, t, key) of a row, or the reason for its rejection."""
    found: dict[int, Any] = {}
    for part in parts:
        batch = decoder.decode(part)
        assert batch.next_offset == part.offsets[-1] + 1
        assert list(batch.offsets) == sorted(batch.offsets)
        text, (starts, ends) = batch.ids
        for i, offset in enumerate(batch.offsets.tolist()):
            name = text[starts[i] : ends[i]].tobytes()
            y = None if np.isnan(batch.y[i]) else batch.y[i].item()
            found[offset] = batch.X[i].tobytes(), y, name, int(batch.t[i]), batch.keys[i]
        for bad in batch.rejected:
            i = bad.offset - int(part.offsets[0])
            assert (bad.value, bad.key, bad.timestamp) == (part.values[i], part.keys[i], part.timestamps[i])
            if bad.set_aside and bad.offset in found:
                assert found[bad.offset][1] is None
                found[bad.offset] = (*found[bad.offset], bad.reason)
            else:
                assert bad.offset not in found
                found[bad.offset] = bad.reason
        assert [bad.offset for bad in batch.rejected] == sorted(bad.offset for bad in batch.rejected)
    return found


def reason(
    value: bytes | None, target: Target | None = None, schema: Schema | None = None, form: str = JSON
) -> str | None:
    """Return why an event is rejected, with a known schema and as the first event alike; None if it is not."""
    target = target or Target()
    first = Decoder(target, schema, form).decode(records([value])).rejected
    known = Decoder(target, schema or Schema(2), form).decode(records([value])).rejected
    if schema is None and first and known:
        assert first[0].reason == known[0].reason
    return known[0].reason if known else None


def one_by_one(decoder: Decoder, whole: Records) -> dict[int, Any]:
    """Return the same from the slow path alone, orjson event by event; `decoder` must have its schema."""
    schema = decoder.schema
    assert schema is not None
    found: dict[int, Any] = {}
    for i, offset in enumerate(whole.offsets.tolist()):
        try:
            x, y, name, t, set_aside = decoder._event(whole.values[i])
            names = schema.names or range(schema.n_features)
            pairs = zip(names, schema.check(x, decoder._lenient), strict=True)
            row = np.array([decoder._feature(value, f"x[{n}]") for n, value in pairs])
        except Reject as reject:
            found[offset] = str(reject)
        else:
            time = NO_TIME if t is None else t
            found[offset] = row.tobytes(), None if np.isnan(y) else y, name, time, whole.keys[i]
            if set_aside is not None:
                found[offset] = (*found[offset], set_aside)
    return found


def drifting(n: int = 300, d: int = 4, seed: int = 5, regression: bool = False) -> tuple[Array, Array]:
    """Return rows with a sudden drift at DRIFT_AT; every 17th label is unknown."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    target = X[:, 0] * np.where(np.arange(n) < DRIFT_AT, 1.0, -1.0) + X[:, 1] + rng.normal(0, 0.3, n)
    y = target if regression else (target > 0).astype(float)
    y[::17] = np.nan
    return X, y


def events(n: int = 300, d: int = 4, seed: int = 5, regression: bool = False) -> list[bytes]:
    """Return `drifting` rows as encoded events."""
    return list(encode_events(*drifting(n, d, seed, regression), first_id=0))


def model_settings(*learners: str, **rest: Any) -> ModelSettings:
    """Return the settings of a model; by default one DFOP with accuracy points every 40 rows."""
    task = rest.pop("task", None)
    target = rest.pop("target", Target("regression", 0) if task == "regression" else Target())
    specs = tuple(Spec.parse(text) for text in learners or ("dfop:mu=0.01",))
    return ModelSettings(specs, target, **{"accuracy_every": 40, "window": 50, **rest})


def untested(value: bytes) -> bytes:
    """Return an accuracy point without the test of its challenger, which is up to the champion, too."""
    return TEST_FIELDS.sub(b"", value)


def wire(outputs: Sequence[Outputs | None]) -> tuple[list[Any], ...]:
    """Return all that batches add to the output topics: predictions with keys, points, rejections, alarms."""
    some = [out for out in outputs if out is not None]
    return (
        [pair for out in some for pair in zip(out.predictions, out.keys, strict=True)],
        [point for out in some for point in out.points],
        [(bad.offset, bad.reason) for out in some for bad in out.rejected],
        [alarm for out in some for alarm in out.alarms],
    )

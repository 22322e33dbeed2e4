"""Microseconds per row to decode events by a schema, compared with the plain form of the same numbers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from driftway.worker.wire.codec import parse_json
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Schema, Target
from driftway.worker.wire.schema.schema import EventSchema
from driftway.worker.wire.schema.unknown_fields import UnknownFields

ROWS, ROUNDS = 2_000, 25
"""Rows per batch, about as many as a busy worker polls at once; rounds, in alternation, of which the best counts."""
CITIES = ("berlin", "hamburg", "munich", "cologne")
BEYOND_ASCII = ("Berlin", "Hamburg", "München", "Köln")
FIRST = 1_700_000_000_000


def records(values: list[bytes]) -> Records:
    n = len(values)
    return Records(0, np.arange(n), ListColumn(values), ListColumn([None] * n), [FIRST + i for i in range(n)])


def numbers(d: int) -> np.ndarray:
    """Return values with six decimals, as `driftway bench` makes them."""
    return np.round(np.random.default_rng(3).normal(size=(ROWS, d)), 6)


def plain(d: int, named: bool = False) -> tuple[Decoder, Records]:
    """Return decoder and records of the plain form: {"id": .., "x": [..] or {..}, "y": ..}."""
    names = tuple(sorted(f"feature{j}" for j in range(d))) if named else None
    rows: list[Any] = numbers(d).tolist()
    if names:
        rows = [dict(zip(names, row, strict=True)) for row in rows]
    values = [json.dumps({"id": i, "x": row, "y": i % 2}, separators=(",", ":")).encode() for i, row in enumerate(rows)]
    return Decoder(Target(), Schema(d, names)), records(values)


def flat(d: int, rich: bool, cities: tuple[str, ...] = CITIES, spare: int = 0) -> tuple[Decoder, Records]:
    """Return the same for flat objects of d fields (`rich`: one a category, one a time) and `spare` unused ones."""
    names, values = [f"feature{j}" for j in range(d - 2 * rich)], []
    for i, row in enumerate(numbers(d).tolist()):
        event: dict[str, Any] = {"id": i, **dict(zip(names, row, strict=False)), "label": i % 2}
        if rich:
            event |= {"city": cities[i % len(cities)], "created": "2026-11-24T12:30:05.250Z"}
        event |= {f"spare{k}": f"text {k}" for k in range(spare)}
        values.append(json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode())
    features = [*names]
    if rich:
        features += [f"city:one-of={'|'.join(cities)}|*", "created:time=hour|weekday"]
    return Decoder(Target(), events=EventSchema.parse(features, label="label")), records(values)


def cases(d: int) -> dict[str, tuple[Decoder, Records]]:
    """Return the measured cases, the plain form first."""
    return {
        "plain": plain(d),
        "plain, named": plain(d, named=True),
        "flat numbers": flat(d, rich=False),
        "with city and time": flat(d, rich=True),
        "beyond ASCII": flat(d, rich=True, cities=BEYOND_ASCII),
        "four more fields": flat(d, rich=True, spare=4),
    }


def counting(d: int, whole: Records) -> Callable[[], Any]:
    """Return the call made by `--unknown-fields count`, whose cost adds to that of decoding."""
    names = (*(f"feature{j}" for j in range(d - 2)), "city", "created")
    unknown = UnknownFields(EventSchema.parse(names, label="label"), parse_json)
    assert len(unknown.count(whole).events) == 4
    return partial(unknown.count, whole)


def measured(d: int) -> dict[str, float]:
    """Case -> us per row, the best of alternating rounds."""
    made = cases(d)
    for decoder, whole in made.values():
        assert len(decoder.decode(whole)) == ROWS
    runs: dict[str, Callable[[], Any]] = {name: partial(one.decode, whole) for name, (one, whole) in made.items()}
    runs["counting these four"] = counting(d, made["four more fields"][1])
    best = dict.fromkeys(runs, np.inf)
    for _ in range(ROUNDS):
        for name, run in runs.items():
            best[name] = min(best[name], _seconds(run))
    return {name: 1e6 * seconds / ROWS for name, seconds in best.items()}


def _seconds(run: Callable[[], Any]) -> float:
    started = time.thread_time()
    run()
    return time.thread_time() - started

"""No silent loss under a schema: any bytes are predicted or rejected with a reason, and disturb no other event."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import numpy as np
import pytest

from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.wire.codec import read_json
from driftway.worker.wire.events import Target
from driftway.worker.wire.schema.schema import EventSchema
from tests.support.examples import repetitions
from tests.unit.worker.rows import model_settings, records
from tests.unit.worker.wire.test_fuzz import NUMBERS, PIECES, TEXTS, cut, flip, insert, repeat

EVENTS, BATCH = 100_000, 500
"""All of them take 5 s for all schemas together."""
FEATURES = (
    "amount",
    "place.city:one-of=Ulm|München|*",
    "shop:hash=8,missing=last",
    "made:time=hour-circle|weekday|age,unit=ms,missing=mean,indicator",
    "größe:missing=0,indicator",
)
FIELDS = ("amount", "place.city", "shop", "made", "größe", "label")
LABELS = Target("classification", 2, ("no", "yes"))
SCHEMAS: dict[str, ModelSettings] = {
    "flat": model_settings("dfop:mu=0.01", events=EventSchema.parse(FEATURES, label="label", time="made:unit=ms")),
    "debezium": model_settings(
        "arow", target=LABELS, events=EventSchema.parse(FEATURES, label="label", envelope="debezium")
    ),
    "connect": model_settings(
        "rls", task="regression", events=EventSchema.parse(FEATURES, label="label", envelope="connect", missing="mean")
    ),
}
WHOLE_EVENT = (
    "null value", "not JSON", "not a JSON object", "no object ", "debezium: ", "id is nested too deeply",
)  # fmt: skip
"""Reasons for events that have no fields."""
TIMES = ("2026-11-24T12:30:05Z", "2026-02-30", "soon", 1_700_000_000, 1_700_000_000_000, -5, 1e30, True)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1.5,
    1e308,
    2**70,
    "",
    "7",
    " 8 ",
    "1e999",
    "é",
    "x" * 300,
    [],
    [1],
    {},
    {"a": 1},
)


def good(chance: random.Random, name: str) -> dict[str, Any]:
    """Return the row of an event that is predicted."""
    event: dict[str, Any] = {
        "id": chance.randrange(1000),
        "amount": chance.gauss(0, 1),
        "place": {"city": chance.choice(("Ulm", "München", "Rom")), "zip": "80331"},
        "shop": chance.choice(("corner", "mall", 7)),
        "made": chance.choice(TIMES[:1] + TIMES[3:5]),
        "größe": chance.choice((1, "2.5", None)),
        "label": chance.choice({"flat": (0, 1), "debezium": ("no", "yes"), "connect": (0.5, -1)}[name]),
        "more": {"a": [1, {"b": None}]},
    }
    for field in chance.sample(("shop", "größe", "label", "more"), chance.choice((0, 0, 1, 2))):
        del event[field]
    return event


def odd(chance: random.Random, event: dict[str, Any]) -> dict[str, Any]:
    """Change values so that they are wrong, of another type or missing; the event stays valid JSON."""
    for _ in range(chance.choice((1, 1, 2))):
        field = chance.choice(list(event))
        if chance.random() < 0.3:
            del event[field]
        else:
            event[field] = chance.choice(VALUES + TIMES)
        event = event or {"amount": 1}
    return event


def written(chance: random.Random, name: str, row: dict[str, Any]) -> bytes:
    change = {"op": chance.choice("cud"), "before": None, "after": row}
    event: Any = {"flat": row, "connect": {"schema": {"type": "struct"}, "payload": row}}.get(name, change)
    if name == "debezium" and chance.random() < 0.5:
        event = {"schema": {"fields": [{"type": "int32"}]}, "payload": change}
    return json.dumps(event, ensure_ascii=chance.random() < 0.3).encode()


def spoilt(chance: random.Random, name: str) -> bytes | None:
    """Return a near-valid event, or None."""
    if chance.random() < 0.02:
        return None
    kind, value = chance.randrange(4), written(chance, name, good(chance, name))
    if kind == 0:
        return written(chance, name, odd(chance, good(chance, name)))
    if kind == 1:  # a value of arbitrary bytes
        before, colon, after = value.partition(chance.choice((b'"amount": ', b'"shop": ', b'"label": ', b'"made": ')))
        return before + colon + chance.choice(NUMBERS + TEXTS + PIECES) + after[after.find(b",") :]
    for _ in range(chance.choice((1, 1, 2))):
        value = chance.choice((flip, cut, insert, repeat))(chance, value or b"?")
    return value


def examine(name: str, values: list[bytes | None]) -> tuple[int, int]:
    """Run `values`; fail if an event is lost, a reason names no field, or a rejected event leaves a trace."""
    model, alone = Model(SCHEMAS[name], 3), Model(SCHEMAS[name], 3)
    predicted = rejected = 0
    for start in range(0, len(values), BATCH):
        part = records(values[start : start + BATCH], first=start)
        out = model.advance(part)
        bad = {rejection.offset for rejection in out.rejected if not rejection.set_aside}
        aside = {rejection.offset for rejection in out.rejected if rejection.set_aside}
        for rejection in out.rejected:
            reason = rejection.reason
            assert reason.startswith((*WHOLE_EVENT, *FIELDS)), reason
            assert len(reason.encode()) < 1000  # it is sent as a header
        found = [read_json(line)["offset"] for line in out.predictions]
        kept = np.isin(part.offsets, found)
        assert found == part.offsets[kept].tolist()
        assert bad.isdisjoint(found)
        assert bad.union(aside, found) == set(part.offsets.tolist())
        predicted, rejected = predicted + len(found), rejected + len(out.rejected)
        if kept.any():
            part.offsets, part.values, part.keys = part.offsets[kept], part.values.chosen(kept), part.keys.chosen(kept)
            part.timestamps = np.asarray(part.timestamps)[kept]
            again = alone.advance(part)
            assert [rejection.offset for rejection in again.rejected] == sorted(aside.intersection(found))
            assert again.predictions == out.predictions
    assert [one.tobytes() for one in model.save().parts] == [one.tobytes() for one in alone.save().parts]
    return predicted, rejected


def mixture(chance: random.Random, name: str, n: int) -> list[bytes | None]:
    return [
        written(chance, name, good(chance, name)) if chance.random() < 0.4 else spoilt(chance, name) for _ in range(n)
    ]


@pytest.mark.random_cases
@pytest.mark.parametrize("name", SCHEMAS)
def test_mutated_events_are_predicted_or_rejected(name: str) -> None:
    n = repetitions(EVENTS // len(SCHEMAS))
    predicted, rejected = examine(name, mixture(random.Random(12), name, n))
    assert predicted > n // 4
    assert rejected > n // 4


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_many_mutated_events_of_each_schema_are_predicted_or_rejected(name: str) -> None:
    seed = int(os.environ.get("DRIFTWAY_FUZZ_SEED") or random.SystemRandom().randrange(2**32))
    print(f"DRIFTWAY_FUZZ_SEED={seed}")
    rng = random.Random(seed)
    for _ in range(EVENTS // 20_000):
        examine(name, mixture(rng, name, 20_000))

"""Events of a shop as flat objects, and the features that `driftway schema infer` proposes for them."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

N = 200
Row = dict[str, Any]


def texts(rows: Iterable[Any]) -> list[bytes | None]:
    return [json.dumps(row).encode() for row in rows]


def table_of(toml: str) -> dict[str, Any]:
    event: dict[str, Any] = tomllib.loads(toml)["event"]
    return event


def order(i: int, rng: random.Random) -> Row:
    """Return a flat event."""
    at = datetime(2026, 1, 5, tzinfo=UTC) + timedelta(minutes=7 * i)
    return {
        "order_id": f"o-{i}",
        "created_at": at.isoformat(),
        "amount": round(rng.uniform(0.5, 3120), 2),
        "country": rng.choice(["de", "fr", "it"]),
        "merchant": f"m{rng.randrange(90)}",
        "comment": f"please {rng.random()}",
        "items": [1, 2][: 1 + i % 2],
        "version": "1.0",
        "fraud": rng.random() < 0.2,
    }


def orders(change: Callable[[Row, int], Any] = lambda row, i: row) -> list[bytes | None]:
    rng = random.Random(5)
    return texts(change(order(i, rng), i) for i in range(N))


FLAT = [
    "created_at:time=hour|weekday",
    "amount",
    "country:one-of=de|fr|it",
    "merchant:hash=32",
]

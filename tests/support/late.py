"""A stream whose labels come late."""

from __future__ import annotations

import json
import random
from typing import Any

D = 3


def late_stream(n: int, seed: int, delay: int = 20, task: str = "classification") -> list[bytes]:
    """Events of two classes, or with targets; some labelled at once, most late, in disorder, some never or twice."""
    draw, due, values = random.Random(seed), dict[int, list[dict[str, Any]]](), list[bytes]()
    for i in range(n):
        x = [draw.gauss(0.0, 1.0) for _ in range(D)]
        y: Any = x[0] + 0.5 * x[1] * (1 if i < n // 2 else -1)
        y = y if task == "regression" else int(y > 0.0)
        event: dict[str, Any] = {"id": i if i % 3 else f"event-{i}", "x": x}
        if draw.random() < 0.1:
            event["y"] = y
        elif draw.random() < 0.9:
            at = i + draw.randrange(2 * delay)
            due.setdefault(at, []).append({"id": event["id"], "y": y})
            if draw.random() < 0.1:
                due.setdefault(at + 2, []).append({"id": event["id"], "y": y if draw.random() < 0.5 else 1 - y})
        values.append(json.dumps(event).encode())
        values += [json.dumps(label).encode() for label in due.pop(i, [])]
    values.append(b'{"id":"nobody","y":1}')
    values.append(b'{"id":1,"y":null}')
    return values

"""`driftway schema infer` names fields with label leakage, and no others."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli_runner import run

Event = dict[str, Any]
NOTE = "belongs to one class in all events"


def note_of(folder: Path, more: Callable[[Event, random.Random], Event], *options: str, n: int = 400) -> str:
    """The note of `schema infer` on events to which `more` adds fields; empty if there is none."""
    draw, file = random.Random(5), folder / "events.jsonl"
    lines = []
    for _ in range(n):
        fraud = draw.random() < 0.15
        row = {"amount": round(draw.gauss(60 if fraud else 50, 20), 2), "visits": draw.randrange(9), "fraud": fraud}
        lines.append(json.dumps({**row, **more(row, draw)}))
    file.write_text("\n".join(lines))
    found = run("schema", "infer", file, "--label", "fraud", *options)
    assert found.exit_code == 0, found.output
    return "".join(line for line in found.stderr.splitlines() if NOTE in line)


def day(draw: random.Random) -> str:
    return f"2026-11-{1 + draw.randrange(28):02d}T{draw.randrange(24):02d}:00:00Z"


LEAKS: dict[str, Callable[[Event, random.Random], Event]] = {
    "chargeback_date": lambda row, draw: {"chargeback_date": day(draw) if row["fraud"] else None},
    "errorCode": lambda row, draw: {"errorCode": draw.choice([40, 41, 57])} if row["fraud"] else {},
    "refunded": lambda row, _: {"refunded": row["amount"] if row["fraud"] else 0},
    "status": lambda row, draw: {"status": draw.choice(["lost", "late"] if row["fraud"] else ["done", "paid"])},
    "delivered": lambda row, draw: {"delivered": "" if row["fraud"] else day(draw)},
    "recovery.sum": lambda row, draw: {"recovery": {"sum": draw.random()} if row["fraud"] else {}},
    "review": lambda row, draw: {"review": draw.randrange(99) if row["fraud"] and draw.random() < 0.9 else None},
    "score": lambda row, draw: {"score": draw.random() if row["fraud"] else -draw.random()},
}
HARMLESS: dict[str, Callable[[Event, random.Random], Event]] = {
    "country": lambda row, draw: {"country": "XX" if row["fraud"] and draw.random() < 0.95 else draw.choice("XYZ")},
    "coupon": lambda row, draw: {"coupon": "C7" if not row["fraud"] and draw.random() < 0.3 else None},
    "user": lambda _, draw: {"user": f"u{draw.randrange(2000)}"},
    "words": lambda _, draw: {"words": draw.sample(["a", "b", "c", "d"], 2)},
    "pair": lambda row, draw: {"pair": [draw.random(), row["amount"]]},
    "flag": lambda row, draw: {"flag": row["fraud"] and draw.random() < 0.01},
    "gap": lambda _, draw: {"gap": draw.random() if draw.random() < 0.5 else None},
}


@pytest.mark.parametrize("name", LEAKS)
def test_fields_with_label_leakage_are_named(tmp_path: Path, name: str) -> None:
    note = note_of(tmp_path, LEAKS[name])
    assert note.startswith(
        f"Possible label leakage: each value of {name}, or its mere presence, {NOTE}. Delete the lines"
    )


@pytest.mark.parametrize("name", HARMLESS)
def test_other_fields_are_not(tmp_path: Path, name: str) -> None:
    assert not note_of(tmp_path, HARMLESS[name])


def test_a_few_events_say_nothing(tmp_path: Path) -> None:
    assert not note_of(tmp_path, LEAKS["status"], n=12)


def test_targets_have_no_classes(tmp_path: Path) -> None:
    assert not note_of(tmp_path, lambda row, _: {"copy": row["amount"] > 50}, "--label", "amount")

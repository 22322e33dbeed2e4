"""`driftway schema infer` recognises labels that come later, in messages of their own among the events."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path as File
from typing import Any

import pytest
from click.testing import CliRunner

from driftway.cli import main
from driftway.worker.admin.schema.later_labels import later_labels
from driftway.worker.wire.schema.paths import Path


def readings(rows: int, delay: int, **more: Any) -> list[dict[str, Any]]:
    """Return events in order, each followed `delay` events later by a message with its label."""
    rng = random.Random(5)
    found: list[dict[str, Any]] = []
    for n in range(rows):
        found.append({"reading": f"r{n}", "heat": round(rng.gauss(70, 8), 1), "mode": rng.choice("ab"), "site": "x"})
        if n >= delay:
            found.append({"reading": f"r{n - delay}", "failed": rng.random() < 0.3, **more})
    return found


def encoded(rows: list[dict[str, Any]]) -> list[bytes | None]:
    return [json.dumps(row).encode() for row in rows]


def test_the_proposal_reads_events_and_labels_as_a_worker_must(tmp_path: File) -> None:
    file = tmp_path / "readings.jsonl"
    file.write_bytes(b"\n".join(value or b"" for value in encoded(readings(600, 130, site="x"))))
    done = CliRunner().invoke(main, ["schema", "infer", str(file), "--label", "failed", "--rows", "900"])
    assert done.exit_code == 0, done.output
    inferred = tomllib.loads(done.stdout)
    assert inferred["label_wait"] == 2000
    assert inferred["event"]["id"] == "reading"
    assert inferred["event"]["label"] == "failed"
    assert "missing" not in inferred["event"], "a label lacks all features, which is no gap"
    assert inferred["event"]["feature"] == ["heat", "mode:one-of=a|b"]
    assert "in separate messages, up to 130 events later" in done.stdout
    assert '"site" (the messages with labels have it, too)' in done.stdout
    assert "labels in separate messages: with label_wait = 2000 events wait for their labels." in done.stderr
    assert "rejected" not in done.output


@pytest.mark.parametrize(
    "rows",
    [
        [{"n": i, "a": i % 7, **({"y": i % 2} if i % 3 else {})} for i in range(90)],  # some events have no label
        [{"n": i, "a": i % 7, "y": None if i % 3 else 1} for i in range(90)],  # the label is null
        [{"n": i, "a": i % 7} for i in range(40)] + [{"n": i + 90, "y": 1} for i in range(40)],  # no id is the same
        [{"n": 1, "a": i % 7} for i in range(40)] + [{"n": 1, "y": 1} for i in range(40)],  # it is no id
        [{"a": i} for i in range(40)],
        [],
    ],
)
def test_other_messages_are_not_taken_for_labels(rows: list[dict[str, Any]]) -> None:
    assert later_labels(encoded(rows)) is None


def test_paths_named_by_the_user_are_used() -> None:
    values = encoded(readings(300, 20, at=5))
    assert later_labels(values) is None, "no field is called as labels usually are"
    label = Path(("failed",))
    found = later_labels(values, label, Path(("reading",)))
    assert found is not None
    assert (found.longest, found.wait, len(found.events), len(found.labels)) == (20, 1000, 300, 280)
    assert later_labels(values, label, Path(("heat",))) is None
    assert later_labels([*values, b"?", None, b"[1]"], label) is not None


def test_ids_of_another_type_are_reported(tmp_path: File) -> None:
    """A worker compares ids as they are written: `"7"` is another one than 7."""
    rows = [{"order": n, "heat": n % 7} for n in range(30)] + [{"order": str(n), "y": n % 2} for n in range(30)]
    file = tmp_path / "orders.jsonl"
    file.write_bytes(b"\n".join(value or b"" for value in encoded(rows)))
    done = CliRunner().invoke(main, ["schema", "infer", str(file)])
    assert "29 events later, 30 of them with an id of another type: set aside" in done.stdout
    assert (
        "But a worker would set 30 of them aside: their order is text where that of the event is a number"
        in done.stderr
    )
    assert tomllib.loads(done.stdout)["event"]["id"] == "order"


def test_labels_and_ids_inside_objects_are_recognised(tmp_path: File) -> None:
    def wrapped(row: dict[str, Any]) -> dict[str, Any]:
        kind = "Failed" if "failed" in row else "Read"
        return {"type": kind, "head": {"id": row.pop("reading"), "source": "x"}, "payload": row}

    file = tmp_path / "readings.jsonl"
    file.write_bytes(b"\n".join(value or b"" for value in encoded([wrapped(row) for row in readings(300, 20)])))
    done = CliRunner().invoke(main, ["schema", "infer", str(file), "--label", "payload.failed"])
    assert done.exit_code == 0, done.output
    inferred = tomllib.loads(done.stdout)
    assert inferred["label_wait"] == 1000
    assert inferred["event"]["id"] == "head.id"
    assert inferred["event"]["feature"] == ["payload.heat", "payload.mode:one-of=a|b"]
    assert '"type" (the messages with labels have it, too)' in done.stdout
    assert "rejected" not in done.output

"""A group whose models change: workers are killed 20 times and moved twice, and at the end all is replayed."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.wire.codec import encode_events
from tests.support.audit import dealt
from tests.support.fault_scenario import DETECTORS
from tests.support.kafka import await_until, create_topic, produce, read_all, unique
from tests.support.process import Driftway, Finished, driftway
from tests.support.real_streams import RealStreams

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

PARTITIONS, KILLS, PIECES = 2, 20, 60
CHANGES = (
    (0.22, ("add", "arow")),
    (0.33, ("add", "pa1", "--relearned")),
    (0.44, ("promote", "arow")),
    (0.55, ("set", "arow", "r=2")),
    (0.66, ("rollback",)),
    (0.77, ("configure", "--detector", DETECTORS[0])),
)
"""Share of the rows before a change, and the change."""
LATE = 40
"""Rows up to which a label comes after its event."""


class GroupRun:
    """A group from its first row to its last."""

    def __init__(self, kafka: str, stream: str, kind: str) -> None:
        self.kafka, self.kind, self.chance = kafka, kind, random.Random(seed())
        self.topic, self.labels, self.group = unique("events"), unique("labels"), unique("group")
        for name in (self.topic, self.labels):
            create_topic(kafka, name, PARTITIONS)
        ((X, y),) = open_stream(stream).blocks(1 << 20)
        self.rows = {p: late(*part, p) if kind.startswith("late") else plain(*part)
                     for p, part in dealt(X, y, PARTITIONS).items()}  # fmt: skip
        self.n = min(map(len, self.rows.values()))
        self.place = "--input", self.topic, "--group", self.group, "--bootstrap", kafka
        own = {
            "plain": (),
            "sharing": ("--share-models", "average:rows=50"),
            "late": ("--label-wait", "1000"),
            "late, in a topic": ("--label-wait", "1000", "--label-topic", self.labels),
        }
        self.options = *self.place, "--learner", "dfop:mu=0.01", "--accuracy-every", "250", *own[kind]

    def run_workers(self) -> None:
        """Feed all rows while plans are written and workers are killed, started and stopped."""
        work = "worker", *self.options, "--commit-interval", "0.05", "--snapshot-rows", "700", "--client"
        kills = {1 + i * (PIECES - 2) // KILLS for i in range(KILLS)}
        moves, todo = {PIECES // 3, 2 * PIECES // 3}, [*self.changes()]
        clients = itertools.cycle((NATIVE, PYTHON))
        worker = Driftway(*work, next(clients)).__enter__()
        try:
            worker.await_text("running")  # with its output topics, which `await_most` reads
            for step in range(PIECES):
                first, last = (self.n * one // PIECES for one in (step, step + 1))
                while todo and todo[0][0] * self.n <= last + self.n // PIECES and step:
                    part, words = todo.pop(0)
                    at = (f"{p}:{self.offset(p, int(part * self.n))}" for p in range(PARTITIONS))
                    done = driftway("models", *words, *self.place, *(word for one in at for word in ("--at", one)))
                    assert done.code == 0, done
                self.feed(first, last)
                if step in moves:
                    with Driftway(*work, next(clients)) as other:
                        other.await_text("running")
                        worker.terminate()
                        assert worker.wait(60) == 0, worker.summary()
                        self.await_most(first)
                        other.kill()
                elif step in kills:
                    self.await_most(first)
                    worker.kill()
                else:
                    self.await_most(first)
                    continue
                worker.__exit__(None, None, None)
                worker = Driftway(*work, next(clients)).__enter__()
        finally:
            worker.__exit__(None, None, None)
        self.feed(self.n, max(map(len, self.rows.values())))
        done = driftway(*work, PYTHON, "--stop-at-end")
        assert done.code == 0, done

    def changes(self) -> Iterator[tuple[float, tuple[str, ...]]]:
        """Changes that such a group can have: a model that would have exchanged updates cannot be relearned."""
        for part, words in CHANGES:
            relearns = self.kind != "sharing" or "--relearned" not in words
            yield part, words if relearns else ("add", "majority_class", "--relearned")

    def offset(self, partition: int, record: int) -> int:
        """The input offset of a record of the stream: labels in a topic of their own have no offset there."""
        if self.kind != "late, in a topic":
            return record
        return sum(b'"x"' in value for value in self.rows[partition][:record])

    def feed(self, first: int, last: int) -> None:
        for partition, values in self.rows.items():
            piece = values[first:last]
            if self.kind == "late, in a topic":
                produce(self.kafka, self.labels, [value for value in piece if b'"x"' not in value], partition)
                piece = [value for value in piece if b'"x"' in value]
            produce(self.kafka, self.topic, piece, partition)

    def await_most(self, record: int) -> None:
        """Wait until nearly all rows before a record are predicted: the rest may wait for a commit."""
        wanted = sum(b'"x"' in value for values in self.rows.values() for value in values[:record])
        await_until(lambda: len(self.outputs("predictions")) >= wanted, 90, f"{wanted} predictions")

    def outputs(self, kind: str) -> list[Any]:
        return read_all(self.kafka, f"{self.topic}.{self.group}.{kind}")

    def history(self) -> Finished:
        done = driftway("models", "history", *self.place, "--json")
        assert done.code == 0, done
        return done


def seed() -> int:
    found = int(os.environ.get("DRIFTWAY_FAULT_SEED", random.randrange(2**32)))
    print(f"DRIFTWAY_FAULT_SEED={found} replays this schedule")
    return found


def plain(X: np.ndarray, y: np.ndarray) -> list[bytes]:
    return encode_events(X, y, 0)


def late(X: np.ndarray, y: np.ndarray, partition: int) -> list[bytes]:
    """The rows as events without labels, each followed by its label some rows later; a tenth never has one."""
    chance, due, values = random.Random(partition), dict[int, list[bytes]](), list[bytes]()
    for i, (x, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        values.append(json.dumps({"id": i, "x": x}).encode())
        if chance.random() < 0.9:
            due.setdefault(i + chance.randrange(LATE), []).append(json.dumps({"id": i, "y": int(label)}).encode())
        values += due.pop(i, [])
    return values


def require_life(kafka: str, stream: str, kind: str, folder: Path) -> None:
    life = GroupRun(kafka, stream, kind)
    life.run_workers()
    plans = json.loads(life.history().stdout)
    assert [set(plan["adopted_at"]) for plan in plans[1:]] == [{"0", "1"}] * len(CHANGES), plans
    found = {kind: [one.value for one in life.outputs(kind)] for kind in ("predictions", "accuracy", "alarms")}
    assert len(found["predictions"]) == sum(b'"x"' in value for values in life.rows.values() for value in values)
    assert found["alarms"]
    audited = driftway("audit", *life.options)
    assert audited.code == 0, audited
    history, scores, points = (folder / name for name in ("plans.json", "scores.jsonl", "points.jsonl"))
    history.write_text(life.history().stdout)
    topic = "--topic", life.topic, "--group", life.group, "--bootstrap", kafka
    files = "--plan", str(history), "--scores", str(scores), "--points", str(points)
    done = driftway("evaluate", *topic, *files)
    assert done.code == 0, done
    for name, path in (("predictions", scores), ("accuracy", points)):
        assert sorted(path.read_bytes().splitlines()) == sorted(found[name]), name


@pytest.mark.parametrize("kind", ["plain", "sharing", "late", "late, in a topic"])
def test_generated_rows(kafka: str, kind: str, tmp_path: Path) -> None:
    require_life(kafka, "sea:rows=24000", kind, tmp_path)


@pytest.mark.parametrize("kind", ["plain", "sharing", "late", "late, in a topic"])
def test_electricity(kafka: str, real_streams: RealStreams, kind: str, tmp_path: Path) -> None:
    require_life(kafka, str(real_streams.file("electricity")), kind, tmp_path)

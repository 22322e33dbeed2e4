"""A stage for fault tests: an input topic with known rows, and what its predictions must be."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from confluent_kafka import Producer

from tests.support.audit import Auditor, Scores, expected_scores
from tests.support.kafka import await_until, create_topic, unique
from tests.support.process import Driftway
from worker.client import quiet
from worker.codec import encode_events

LEARNER = "dfop:mu=0.01"
SESSION_MS = 2000
"""A dead member is noticed after this long."""


@dataclass
class Stage:
    """Rows on a topic, one group, and the scores that the group must emit.

    Parameters
    ----------
    bootstrap : str
        The broker.
    partitions, rows : int
        Of the input; `rows` per partition.
    seed : int
        Of the rows.
    """

    bootstrap: str
    partitions: int = 3
    rows: int = 2000
    seed: int = 7
    topic: str = field(default_factory=lambda: unique("events"))
    group: str = field(default_factory=lambda: unique("group"))
    expected: Scores = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        parts = {}
        create_topic(self.bootstrap, self.topic, self.partitions)
        for name in ("predictions", "accuracy", "rejected"):
            create_topic(self.bootstrap, f"{self.topic}.{name}", self.partitions)
        self.events: dict[int, list[bytes]] = {}
        for partition in range(self.partitions):
            X = rng.normal(size=(self.rows, 4))
            drift = np.where(np.arange(self.rows) < self.rows // 2, 1.0, -1.0)
            y = ((X[:, 0] * drift + X[:, 1] + rng.normal(0, 0.3, self.rows)) > 0).astype(float)
            parts[partition] = X, y
            self.events[partition] = encode_events(X, y, 0)
        self.expected = expected_scores(LEARNER, parts)
        self._producer = Producer(quiet({"bootstrap.servers": self.bootstrap, "enable.idempotence": True}))

    def fill(self, first: int = 0, last: int | None = None) -> None:
        """Write the rows from `first` to `last` of every partition."""
        for partition, events in self.events.items():
            self._producer.produce_batch(self.topic, [{"value": e} for e in events[first:last]], partition=partition)
        assert self._producer.flush(30) == 0

    def feed(self, auditor: Auditor, victim: Driftway, piece: int = 200) -> None:
        """Write the rows piece by piece, each after the last was predicted; all at once when `victim` has ended."""
        for first in range(0, self.rows, piece):
            self.fill(first, first + piece)
            wanted = (first + piece) * self.partitions
            await_until(
                lambda wanted=wanted: auditor.seen >= wanted or victim.process.poll() is not None,
                30,
                f"{wanted} rows predicted, or the victim dead",
            )

    def worker(self, *more: str) -> tuple[str, ...]:
        """Arguments of a worker of the group that commits often and notices dead members soon."""
        return (
            "worker", "--input", self.topic, "--group", self.group, "--bootstrap", self.bootstrap,
            "--learner", LEARNER, "--commit-interval", "0.05", "--snapshot-rows", "300",
            "-X", f"session.timeout.ms={SESSION_MS}", "-X", "heartbeat.interval.ms=300", *more,
        )  # fmt: skip

    def auditor(self) -> Auditor:
        """A concurrent read_committed reader of the outputs."""
        return Auditor(self.bootstrap, self.topic)

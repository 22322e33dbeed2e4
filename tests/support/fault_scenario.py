"""Scenario of fault tests: an input topic with known rows, and the expected predictions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from confluent_kafka import Producer

from driftway.worker.kafka.client_config import quiet
from driftway.worker.kafka.topics import Topics, await_leaders
from driftway.worker.wire.codec import encode_events
from tests.support.audit import UP_TO_DATE, Auditor, Scores, expected_scores
from tests.support.kafka import Deliveries, TopicSpec, admin, await_until, create_topics, unique
from tests.support.process import Driftway

LEARNER = "dfop:mu=0.01"
OUTPUTS = ("predictions", "accuracy", "rejected")
DETECTORS = "ddm:min_n=5,warn=0.2,drift=0.5", "hddm_w:drift_conf=0.2,warn_conf=0.3"
"""So sensitive that they report a drift about every ten rows: almost every commit has an alarm."""
SESSION_MS = 2000
"""Session timeout: a dead member is detected after this time."""


@dataclass
class FaultScenario:
    """Rows on a topic, one group, and the scores that the group must write.

    Parameters
    ----------
    bootstrap : str
        The broker.
    partitions, rows : int
        Number of input partitions, and of rows per partition.
    seed : int
        Seed of the rows.
    at_first : int or None
        Number of partitions of the topics before `grow`; all of them if None.
    configs : dict
        Output, or "input" -> settings of its topic, with _ for a dot in their names.
    detectors : tuple of str
        Drift detectors of the learner; without any there is no alarms topic.
    replicas : dict
        Output, or "input" -> ids of the brokers that have its replicas, the preferred leader first; otherwise the
        cluster chooses.
    """

    bootstrap: str
    partitions: int = 3
    rows: int = 2000
    seed: int = 7
    at_first: int | None = None
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    detectors: tuple[str, ...] = ()
    replicas: dict[str, tuple[int, ...]] = field(default_factory=dict)
    topic: str = field(default_factory=lambda: unique("events"))
    group: str = field(default_factory=lambda: unique("group"))
    expected: Scores = field(init=False)

    @property
    def prefix(self) -> str:
        """Common prefix of the names of the group's outputs."""
        return Topics(self.topic, self.group).prefix

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        parts = {}
        topics = {self.topic: self._spec("input")}
        topics |= {f"{self.prefix}.{name}": self._spec(name) for name in OUTPUTS}
        if self.detectors:
            topics[f"{self.prefix}.alarms"] = self._spec("alarms")
        create_topics(self.bootstrap, topics)
        self.events: dict[int, list[bytes]] = {}
        for partition in range(self.partitions):
            X = rng.normal(size=(self.rows, 4))
            drift = np.where(np.arange(self.rows) < self.rows // 2, 1.0, -1.0)
            y = ((X[:, 0] * drift + X[:, 1] + rng.normal(0, 0.3, self.rows)) > 0).astype(float)
            parts[partition] = X, y
            self.events[partition] = encode_events(X, y, 0)
        self.expected = expected_scores(LEARNER, parts)
        self._properties = {
            "bootstrap.servers": self.bootstrap, "enable.idempotence": True, "reconnect.backoff.max.ms": 300,
            "request.timeout.ms": 5000, **UP_TO_DATE,
        }  # fmt: skip
        self._deliveries = Deliveries()
        self._producer = self._new_producer()

    def _new_producer(self) -> Producer:
        return Producer(quiet({**self._properties, "on_delivery": self._deliveries.report}))

    def create_output(self, name: str) -> None:
        """Create the group's output `name`, before a worker does."""
        create_topics(self.bootstrap, {f"{self.prefix}.{name}": self._spec(name)})

    def _spec(self, name: str) -> TopicSpec:
        count = self.at_first or self.partitions
        return TopicSpec(count, self.replicas.get(name), self.configs.get(name, {}))

    def fill(self, first: int = 0, last: int | None = None, among: Collection[int] | None = None) -> None:
        """Produce rows `first` to `last` of every partition, or of the partitions `among`."""
        self._produce(first, last, self.events if among is None else among)
        self._deliveries.require_all(self._producer, self.topic)

    def write(self, *values: bytes, partition: int = 0) -> None:
        """Produce values other than the scenario's rows."""
        self._queue(values, partition)
        self._deliveries.require_all(self._producer, self.topic)

    def grow(self, *names: str) -> None:
        """Extend the named topics, by default the input, to all partitions of the scenario."""
        from confluent_kafka.admin import NewPartitions

        client = admin(self.bootstrap)  # keep a reference: a collected client never answers
        for topic in names or (self.topic,):
            client.create_partitions([NewPartitions(topic, self.partitions)])[topic].result(timeout=30)
            await_leaders(client, {topic: self.partitions})
        self._producer = self._new_producer()  # the new client knows the new partitions

    def produce(self, first: int, last: int) -> None:
        """Hand rows `first` to `last` of every partition to the client, without waiting until they are written."""
        self._produce(first, last, self.events)
        self._producer.poll(0)

    def _produce(self, first: int, last: int | None, among: Collection[int]) -> None:
        for partition in among:
            self._queue(self.events[partition][first:last], partition)

    def _queue(self, values: Sequence[bytes], partition: int) -> None:
        queued = self._producer.produce_batch(self.topic, [{"value": value} for value in values], partition=partition)
        assert queued == len(values), f"partition {partition} of {self.topic}: {queued} of {len(values)} rows queued"

    def feed(self, auditor: Auditor, victim: Driftway, piece: int = 200) -> None:
        """Produce the rows in pieces, each after the previous one is predicted; do not wait once `victim` has ended."""
        for first in range(0, self.rows, piece):
            self.fill(first, first + piece)
            wanted = (first + piece) * self.partitions
            await_until(
                lambda wanted=wanted: auditor.seen >= wanted or victim.process.poll() is not None,
                30,
                f"{wanted} rows predicted, or the victim dead",
            )

    def feed_until(self, auditor: Auditor, over: Callable[[], bool], last: int, piece: int = 100) -> int:
        """Produce rows in pieces, each after the previous one is predicted, until `over`; return how many.

        Fails if `over` is still false after `last` rows.
        """
        for first in range(0, last, piece):
            fed = min(first + piece, last)
            self._produce(first, fed, self.events)
            await_until(lambda: over() or self._producer.flush(0.05) == 0, 30, "the rows are on the topic")
            await_until(
                lambda fed=fed: over() or auditor.seen >= fed * self.partitions, 60, f"{fed} rows predicted, or it"
            )
            if over():
                return fed
        raise AssertionError(f"nothing happened in {last} rows")

    def feed_until_ended(self, auditor: Auditor, victim: Driftway, fed: int, seconds: float = 30.0) -> int:
        """Produce rows from `fed` on in pieces, each after the previous one is predicted, until `victim` has ended.

        Returns how many rows of each partition were produced; fails if `victim` still runs after the last one.
        """
        victim.await_text("running")
        while victim.process.poll() is None and fed < self.rows:
            self.fill(fed, fed := fed + 50)
            await_until(
                lambda fed=fed: victim.process.poll() is not None or auditor.seen >= self.partitions * fed,
                seconds,
                "rows predicted, or death",
            )
        assert victim.process.poll() is not None, "its step was never reached"
        return fed

    @property
    def options(self) -> tuple[str, ...]:
        """Command-line options of the input, the group and the cluster."""
        return "--input", self.topic, "--group", self.group, "--bootstrap", self.bootstrap

    def worker(self, *more: str) -> tuple[str, ...]:
        """Arguments of a worker of the group with frequent commits and a short session timeout."""
        return (
            "worker", *self.options,
            "--learner", LEARNER, "--commit-interval", "0.05", "--snapshot-rows", "300",
            "-X", f"session.timeout.ms={SESSION_MS}", "-X", "heartbeat.interval.ms=300", *self.watched, *more,
        )  # fmt: skip

    @property
    def watched(self) -> tuple[str, ...]:
        """Command-line options of the detectors."""
        return tuple(word for text in self.detectors for word in ("--detector", text))

    def auditor(self) -> Auditor:
        """A concurrent read_committed reader of the outputs."""
        return Auditor(self.bootstrap, self.prefix)

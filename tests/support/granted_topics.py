"""Topics on a secured broker, and a user with the rights that a worker needs on them."""

from __future__ import annotations

import numpy as np

from driftway.worker.state.changelog.record_keys import CLAIM_PREFIX
from driftway.worker.wire.codec import encode_events
from tests.support.audit import Scores, bits, expected_scores, placed_score
from tests.support.kafka import committed_offset, create_topic, produce, read_all, unique
from tests.support.process import Finished, driftway
from tests.support.secured_kafka import Grant, Secured, grant

LEARNER = "dfop:mu=0.01"
PASSWORD = "correct-horse-battery-7"
ROWS = 1500
OUTPUTS = ("predictions", "accuracy", "rejected", "snapshots")

NEEDED: tuple[Grant, ...] = (
    ("TOPIC", "INPUT", "READ"),
    ("TOPIC", "INPUT.GROUP.predictions", "READ"),
    ("TOPIC", "INPUT.GROUP.predictions", "WRITE"),
    ("TOPIC", "INPUT.GROUP.accuracy", "READ"),
    ("TOPIC", "INPUT.GROUP.accuracy", "WRITE"),
    ("TOPIC", "INPUT.GROUP.rejected", "READ"),
    ("TOPIC", "INPUT.GROUP.rejected", "WRITE"),
    ("TOPIC", "INPUT.GROUP.snapshots", "READ"),
    ("TOPIC", "INPUT.GROUP.snapshots", "WRITE"),
    ("GROUP", "GROUP", "READ"),
    ("TRANSACTIONAL_ID", "GROUP/INPUT/*", "WRITE"),
)
"""READ and WRITE imply DESCRIBE."""


class GrantedTopics:
    """Filled topics of one test case, and the grants of its user."""

    def __init__(self, broker: Secured, user: str, lacking: Grant | None = None, more: tuple[Grant, ...] = ()) -> None:
        self.broker, self.user = broker, user
        self.topic, self.group = unique("events"), unique("group")
        rng = np.random.default_rng(5)
        X = rng.normal(size=(ROWS, 4))
        y = (X[:, 0] + rng.normal(0, 0.3, ROWS) > 0).astype(float)
        create_topic(broker.plain, self.topic)
        for name in OUTPUTS:
            create_topic(broker.plain, f"{self.topic}.{self.group}.{name}")
        self.values: list[bytes | None] = [*encode_events(X, y, 0), b"not an event"]
        produce(broker.plain, self.topic, self.values)
        self.expected: Scores = expected_scores(LEARNER, {0: (X, y)})
        granted = [self.named(one) for one in NEEDED if one != lacking]
        grant(broker.plain, user, [*granted, *(self.named(one) for one in more)])

    def named(self, one: Grant) -> Grant:
        kind, name, operation = one
        return kind, name.replace("INPUT", self.topic).replace("GROUP", self.group), operation

    def worker(self, *more: str, env: dict[str, str] | None = None, password: str = PASSWORD) -> Finished:
        login = () if env is not None else scram(self.user, password)
        return driftway(
            "worker", "--input", self.topic, "--group", self.group, "--bootstrap", self.broker.guarded,
            "--learner", LEARNER, "--stop-at-end", *login, *more, env=env, seconds=60,
        )  # fmt: skip

    def require_all(self) -> None:
        """Check that all predictions are right, the rejection is there and everything is committed."""
        found = dict(
            placed_score(r.value or b"") for r in read_all(self.broker.plain, f"{self.topic}.{self.group}.predictions")
        )
        assert found.keys() == self.expected.keys()
        assert all(bits(found[place]) == bits(score) for place, score in self.expected.items())
        assert [r.value for r in read_all(self.broker.plain, f"{self.topic}.{self.group}.rejected")] == [
            b"not an event"
        ]
        assert committed_offset(self.broker.plain, self.group, self.topic)[0] == len(self.values)

    def require_nothing(self) -> None:
        """Check that the outputs have at most the record of their owner, and that no offset is committed."""
        for name in OUTPUTS:
            found = read_all(self.broker.plain, f"{self.topic}.{self.group}.{name}")
            assert [record for record in found if not (record.key or b"").startswith(CLAIM_PREFIX)] == []
        assert committed_offset(self.broker.plain, self.group, self.topic)[0] < 0


def scram(user: str, password: str = PASSWORD) -> tuple[str, ...]:
    pairs = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": user,
        "sasl.password": password,
    }
    return tuple(piece for key, value in pairs.items() for piece in ("-X", f"{key}={value}"))

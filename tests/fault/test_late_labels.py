"""Labels that come late: whoever dies at whichever step, the same bits as offline, and every label counts once."""

from __future__ import annotations

import json

import numpy as np
import pytest

from learners import Spec
from tests.support.crash import CrashingDriftway
from tests.support.kafka import await_until, create_topic, produce, read_all, unique
from tests.support.late import late_stream
from tests.support.process import Driftway, driftway
from worker.kafka.client import NATIVE, PYTHON
from worker.runtime.partition.checkpoint import Step
from worker.settings import ModelSettings, Wait
from worker.state.model import Model
from worker.wire.events import Records
from worker.wire.strings import Listed

LEARNER, WAIT, PARTITIONS, PIECE = "dfop:mu=0.01", "200", 2, 150
FEW = "100"
"""Rows between two snapshots: a successor finds rows that wait in one, and more behind it."""


def offline(values: list[bytes], partition: int) -> tuple[list[tuple[int, float]], list[str]]:
    """Offset and score of every prediction, and the reasons of all that is rejected."""
    model = Model(ModelSettings((Spec.parse(LEARNER),), wait=Wait.parse(WAIT)), partition)
    n = len(values)
    out = model.advance(Records(partition, np.arange(n), Listed(values), Listed([None] * n), [0] * n))
    found = [json.loads(value or b"") for value in out.predictions]
    return [(one["offset"], one["score"]) for one in found], [one.reason for one in out.rejected]


@pytest.mark.parametrize(
    ("step", "victim", "heir"), [(Step.SNAPSHOT_PRODUCED, NATIVE, PYTHON), (Step.COMMITTED, PYTHON, NATIVE)]
)
def test_killed_worker_is_succeeded_with_the_rows_that_wait(kafka: str, step: Step, victim: str, heir: str) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    events = {partition: late_stream(900, seed=partition) for partition in range(PARTITIONS)}
    place = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", LEARNER, "--label-wait", WAIT
    work = ("worker", *place, "--commit-interval", "0.05", "--snapshot-rows", FEW, "--client")
    longest, fed = max(map(len, events.values())), 0

    def feed() -> None:
        for partition, values in events.items():
            produce(kafka, topic, values[fed : fed + PIECE], partition)

    def seen() -> int:
        return len(read_all(kafka, f"{topic}.{group}.predictions"))

    with CrashingDriftway(step, 6, *work, victim) as worker:
        worker.await_text("running partition=1")
        while fed < longest and not worker.ended:
            feed()
            fed += PIECE
            wanted = sum(b'"x"' in value for values in events.values() for value in values[:fed])
            await_until(lambda wanted=wanted: worker.ended or seen() >= wanted, 30, "predicted, or killed")
        assert worker.ended, "its step was never reached"
    while fed < longest:
        feed()
        fed += PIECE
    with Driftway(*work, heir, "--stop-at-end") as worker:
        assert worker.wait(90) == 0, worker.story()
    for partition, values in events.items():
        scores, reasons = offline(values, partition)
        predictions = [r for r in read_all(kafka, f"{topic}.{group}.predictions") if r.partition == partition]
        found = [json.loads(record.value or b"") for record in predictions]
        assert [(one["offset"], one["score"]) for one in found] == scores
        rejected = [r for r in read_all(kafka, f"{topic}.{group}.rejected") if r.partition == partition]
        assert [dict(r.headers)["reason"].decode() for r in rejected] == reasons
    assert driftway("audit", *place).code == 0

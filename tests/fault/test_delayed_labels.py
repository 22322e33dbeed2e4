"""Delayed labels and a killed worker: the same bits as offline, and every label is used once."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.learners import Spec
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records
from tests.support.delayed_labels import Outputs, feed_pieces, kill_and_replace, late_stream
from tests.support.kafka import create_topic, unique
from tests.support.process import driftway

pytestmark = pytest.mark.timeout(300)  # as by default; those with a limit start before others

LEARNER, WAIT, PARTITIONS, PIECE = "dfop:mu=0.01", "200", 2, 150
FEW = "100"
"""Rows between snapshots: so few that a successor finds waiting rows in a snapshot and more after it."""


def offline(values: list[bytes], partition: int) -> tuple[list[tuple[int, float]], list[str]]:
    """(offset, score) of every prediction, and the reasons of all rejections."""
    model = Model(ModelSettings((Spec.parse(LEARNER),), wait=LabelWait.parse(WAIT)), partition)
    n = len(values)
    out = model.advance(Records(partition, np.arange(n), ListColumn(values), ListColumn([None] * n), [0] * n))
    found = [json.loads(value or b"") for value in out.predictions]
    return [(one["offset"], one["score"]) for one in found], [one.reason for one in out.rejected]


@pytest.mark.parametrize(
    ("step", "victim", "successor"),
    [(Step.SNAPSHOT_PRODUCED, NATIVE, PYTHON), pytest.param(Step.COMMITTED, PYTHON, NATIVE, marks=pytest.mark.slow)],
)
def test_rows_that_wait_for_labels_survive_a_killed_worker(kafka: str, step: Step, victim: str, successor: str) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    events = {partition: late_stream(900, seed=partition) for partition in range(PARTITIONS)}
    place = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", LEARNER, "--label-wait", WAIT
    work = ("worker", *place, "--commit-interval", "0.05", "--snapshot-rows", FEW, "--client")

    outputs = Outputs(kafka, f"{topic}.{group}")
    kill_and_replace(step, work, (victim, successor), feed_pieces(kafka, topic, events, PIECE), outputs)
    for partition, values in events.items():
        assert outputs.written(partition) == offline(values, partition)
    assert driftway("audit", *place).code == 0

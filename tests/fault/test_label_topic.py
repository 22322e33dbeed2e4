"""Labels from a separate topic: after a kill at any step, a successor merges events and labels in the same order."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from driftway.learners import Spec
from driftway.worker.admin.merged_input import MergedInput
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model
from driftway.worker.stream.task.committing.checkpoint import Step
from tests.support.delayed_labels import Outputs, kill_and_replace, late_stream
from tests.support.kafka import committed_offset, create_topic, produce, unique
from tests.support.process import driftway

pytestmark = pytest.mark.timeout(300)  # as by default; those with a limit start before others

LEARNER, WAIT, PARTITIONS, PIECE = "dfop:mu=0.01", "200", 2, 150
FEW = "100"
"""Rows between snapshots: so few that a successor finds waiting rows in a snapshot and more after it."""


def offline(settings: WorkerSettings, partition: int, end: int) -> tuple[list[tuple[int, float]], list[str]]:
    """(offset, score) of every prediction, and the reasons of all rejections, in the committed order."""
    model, scores, reasons = Model(settings.model, partition), list[tuple[int, float]](), list[str]()
    with MergedInput(settings, settings.label_topic, partition, 0, end) as both:
        for records in iter(both.take, None):
            out = model.advance(records)
            found = [json.loads(value or b"") for value in out.predictions]
            scores += [(one["offset"], one["score"]) for one in found]
            reasons += [one.reason for one in out.rejected]
    return scores, reasons


@pytest.mark.parametrize(
    ("step", "victim", "successor"),
    [
        pytest.param(Step.SNAPSHOT_PRODUCED, NATIVE, PYTHON, marks=pytest.mark.slow),
        (Step.OFFSETS_SENT, NATIVE, NATIVE),
        pytest.param(Step.COMMITTED, PYTHON, NATIVE, marks=pytest.mark.slow),
    ],
)
def test_a_successor_keeps_the_merge_order_of_a_killed_worker(
    kafka: str, step: Step, victim: str, successor: str
) -> None:
    topic, labels, group = unique("events"), unique("labels"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    create_topic(kafka, labels, PARTITIONS)
    streams = {partition: late_stream(900, seed=partition) for partition in range(PARTITIONS)}
    place = (
        "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", LEARNER, "--label-wait", WAIT,
        "--label-topic", labels,
    )  # fmt: skip
    work = ("worker", *place, "--commit-interval", "0.05", "--snapshot-rows", FEW, "--client")

    def feed() -> Iterator[int]:
        for start in range(0, max(map(len, streams.values())), PIECE):
            for partition, values in streams.items():
                piece = values[start : start + PIECE]
                for name, wanted in ((topic, True), (labels, False)):
                    produce(kafka, name, [value for value in piece if (b'"x"' in value) is wanted], partition)
            yield sum(b'"x"' in value for values in streams.values() for value in values[: start + PIECE])

    outputs = Outputs(kafka, f"{topic}.{group}")
    kill_and_replace(step, work, (victim, successor), feed(), outputs)
    model = ModelSettings((Spec.parse(LEARNER),), wait=LabelWait.parse(WAIT))
    settings = WorkerSettings(kafka, topic, group, model, label_topic=labels)
    learned = 0
    for partition in streams:
        end, _ = committed_offset(kafka, group, topic, partition)
        assert end == 900
        learned += committed_offset(kafka, group, labels, partition)[0]
        scores, reasons = offline(settings, partition, end)
        assert outputs.written(partition) == (scores, reasons)
        assert len({score for _, score in scores}) > len(scores) / 2, "labels were learned from"
    assert learned > 1000, "most labels have been used"
    assert driftway("audit", *place).code == 0
    event = ("--input", topic, "--group", group, "--bootstrap", kafka, "--partition", "0", "--offset")
    for offset in ("0", "333", "899"):
        explained = driftway("explain", *event, offset, "--json")
        assert explained.code == 0, explained
        assert json.loads(explained.stdout)["emitted"]["verdict"] == "same", explained
    refused = driftway("worker", *place[:-2], "--stop-at-end")
    assert refused.code == 4
    assert f"start with --label-topic {labels}" in refused.stderr
    with pytest.raises(Exception, match="does not say in which order"):
        MergedInput(settings, labels, 0, 1, 10)

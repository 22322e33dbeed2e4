"""Probabilities of predictions on a real Kafka: after a SIGKILL with late labels, and after an earlier version."""

from __future__ import annotations

import json

import pytest

from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings.option_values import LabelWait
from driftway.worker.state.model import Model
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.codec import JSON, PACKED
from driftway.worker.wire.packed import decode_predictions
from tests.support.delayed_labels import Outputs, feed_pieces, kill_and_replace, late_stream
from tests.support.earlier_probabilities import EarlierDriftway
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import create_topic, read_all, unique
from tests.support.process import driftway
from tests.support.selection import slow_but
from tests.unit.worker.rows import model_settings, records

pytestmark = pytest.mark.broker

LEARNER, CHALLENGER, WAIT, EVERY, PIECE, PARTITIONS = "pa1", "ogd_logistic", "200", 50, 150, 2
OPTIONS = "--learner", LEARNER, "--learner", CHALLENGER, "--accuracy-every", str(EVERY)
CASES = [(step, form) for form in (JSON, PACKED) for step in (Step.SNAPSHOT_PRODUCED, Step.COMMITTED)]


def probabilities(values: list[bytes], form: str) -> list[tuple[int, float]]:
    """(offset, probability) of each prediction."""
    if form == JSON:
        return [(one["offset"], one["probability"]) for one in map(json.loads, values)]
    found = decode_predictions(values)
    return list(zip(found.offset.tolist(), found.probability.tolist(), strict=True))


@pytest.mark.parametrize("case", slow_but([CASES[0]], CASES), ids=str)
def test_probabilities_of_rows_that_wait_for_labels_survive_a_killed_worker(kafka: str, case: tuple[Step, str]) -> None:
    step, form = case
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    events = {partition: late_stream(700, seed=partition) for partition in range(PARTITIONS)}
    place = "--input", topic, "--group", group, "--bootstrap", kafka, *OPTIONS, "--label-wait", WAIT
    written = "--output-format", form, "--commit-interval", "0.05", "--snapshot-rows", "100", "--client"

    outputs = Outputs(kafka, f"{topic}.{group}")
    kill_and_replace(
        step, ("worker", *place, *written), (NATIVE, PYTHON), feed_pieces(kafka, topic, events, PIECE), outputs
    )
    settings = model_settings(
        LEARNER, CHALLENGER, wait=LabelWait.parse(WAIT), accuracy_every=EVERY, window=1000, output_form=form
    )
    for partition, values in events.items():
        expected = Model(settings, partition, group).advance(records(values, partition=partition))
        found = [one.value for one in outputs.records("predictions") if one.partition == partition]
        assert probabilities(found, form) == probabilities(expected.predictions.to_list(), form)
        points = [json.loads(one.value) for one in outputs.records("accuracy") if one.partition == partition]
        wanted = [json.loads(value) for _, value in expected.points]
        assert [point["reliability"] for point in points] == [point["reliability"] for point in wanted]
        assert all(0.0 <= point["calibration_error"] < 0.5 for point in points if point["labels"])
    assert driftway("audit", *place).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("form", [JSON, PACKED])
def test_a_group_of_an_earlier_version_continues_without_probabilities_and_can_be_audited(
    kafka: str, form: str
) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=1500)
    options = scenario.worker(*OPTIONS[2:], "--output-format", form, "--stop-at-end")
    place = scenario.options
    scenario.fill(0, 700)
    with EarlierDriftway(*options) as earlier:
        assert earlier.wait() == 0, earlier.summary()
    scenario.fill(700)
    done = driftway(*options)
    assert done.code == 0, done.stderr
    values = [one.value or b"" for one in read_all(kafka, f"{scenario.prefix}.predictions")]
    assert len(values) == scenario.rows
    assert not [value for value in values if b'"probability"' in value or value[0] == 3]
    assert b"calibration_error" not in b"".join(one.value for one in read_all(kafka, f"{scenario.prefix}.accuracy"))
    audit = driftway("audit", *place, "--learner", "dfop:mu=0.01", *OPTIONS[2:], "--json")
    assert audit.code == 0, audit.stderr
    (account,) = json.loads(audit.stdout)["partitions"]
    assert (account["begin"], account["end"], account["unchecked"]) == (0, scenario.rows, [])
    assert account["snapshots"] >= 2
    shown = driftway("snapshot", "show", *place, "--partition", "0", "--at", "100", "--json")
    assert shown.code == 0, shown.stderr

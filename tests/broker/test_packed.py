"""Packed predictions on a real Kafka: exact bits, every column, and the commands that read them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.producers.streams import open_stream
from driftway.worker.wire.packed import CLASS, decode_predictions
from driftway.worker.wire.scanner import NO_TIME
from tests.support.audit import Array, dealt, expected_scores
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import produce, read_all
from tests.support.process import Finished, driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker

ROWS, PARTITIONS = 6000, 2


def stream() -> tuple[Array, Array]:
    (block,) = open_stream(f"sea:rows={ROWS}", seed=4).blocks(ROWS)
    return block.X, block.y


def replay(kafka: str, topic: str, *more: str) -> None:
    options = ("--seed", "4", "--partitions", str(PARTITIONS), "--to", topic, "--bootstrap", kafka)
    done = driftway("replay", f"sea:rows={ROWS}", *options, *more)
    assert done.code == 0, done.stderr


def run_worker(scenario: FaultScenario, *more: str, **env: str) -> Finished:
    done = driftway(*scenario.worker(*more, "--stop-at-end"), env=env)
    assert done.code == 0, done.stderr
    return done


@pytest.mark.parametrize("form", slow_but(["json"], ["packed", "json"]))
def test_packed_predictions_have_the_exact_bits_and_all_fields_of_json(kafka: str, form: str) -> None:
    scenario = FaultScenario(kafka, PARTITIONS, rows=0)
    X, y = stream()
    expected = expected_scores(LEARNER, dealt(X, y, PARTITIONS))
    replay(kafka, scenario.topic, "--format", form)
    with scenario.auditor() as auditor:
        run_worker(scenario, "--format", form, "--output-format", "packed")
        auditor.await_all(len(expected))
    auditor.require(expected)
    for partition in range(PARTITIONS):
        values = [r.value or b"" for r in read_all(kafka, f"{scenario.prefix}.predictions") if r.partition == partition]
        found = decode_predictions(values)
        n = len(values)
        assert found.offset.tolist() == list(range(n))
        assert set(found.partition.tolist()) == {partition}
        assert (set(found.kind.tolist()), set(found.t.tolist())) == ({CLASS}, {NO_TIME})
        assert found.y.tobytes() == y[partition::PARTITIONS].tobytes()
        assert found.prediction.tolist() == (found.scores[:, 0] >= 0).astype(float).tolist()
        rows = range(partition, ROWS, PARTITIONS)
        assert found.ids == ([b"%d" % row for row in rows] if form == "json" else [b""] * n)


@pytest.mark.slow
def test_a_group_may_change_its_output_format_and_keep_its_state(kafka: str) -> None:
    """The format is set by the environment; `driftway watch` reads both formats in the same topic."""
    scenario = FaultScenario(kafka, partitions=1, rows=2000)
    with scenario.auditor() as auditor:
        for first, form in ((0, "json"), (500, "packed"), (1000, "json"), (1500, "packed")):
            scenario.fill(first, first + 500)
            run_worker(scenario, "--accuracy-every", "5000", DRIFTWAY_OUTPUT_FORMAT=form)
            done = driftway("watch", "--input", scenario.topic, "--bootstrap", kafka, "--once", "--json")
            assert done.code == 0, done.stderr
            (row,) = json.loads(done.stdout)
            assert (row["partition"], row["offsets"], row["lag"]) == (0, first + 500, 0)
        auditor.await_all(2000)
    auditor.require(scenario.expected)
    first_bytes = [(record.value or b"")[:1] for record in read_all(kafka, f"{scenario.prefix}.predictions")]
    assert first_bytes == [*[b"{"] * 500, *[b"\x03"] * 500] * 2, "it has a probability, so it is of version 3"


def test_packed_labels_are_class_indices(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=0)
    labels = ["UP", "DOWN", None, "UP"]
    produce(kafka, scenario.topic, [json.dumps({"id": f"n{i}", "x": [i], "y": label, "t": 7 + i}).encode()
                                 for i, label in enumerate(labels)])  # fmt: skip
    run_worker(scenario, "--labels", "DOWN,UP", "--output-format", "packed")
    found = decode_predictions([record.value or b"" for record in read_all(kafka, f"{scenario.prefix}.predictions")])
    assert np.array_equal(found.y, [1.0, 0.0, np.nan, 1.0], equal_nan=True)
    assert found.ids == [b'"n%d"' % i for i in range(4)]
    assert found.t.tolist() == [7, 8, 9, 10]


def test_watch_reports_a_record_that_is_not_a_prediction_in_one_sentence(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=0)
    produce(kafka, f"{scenario.prefix}.predictions", [b"\x09" + bytes(60)])
    done = driftway("watch", "--input", scenario.topic, "--bootstrap", kafka, "--once", "--json")
    assert done.code == 1
    assert done.stderr == (
        f"driftway: cannot read the prediction in {scenario.prefix}.predictions/0 at 0: record 0 is not a packed "
        "prediction of version 1: it begins with byte 9\n"
    )


@pytest.mark.slow
def test_a_worker_that_reads_events_as_another_format_names_the_format_that_they_have(kafka: str) -> None:
    """A group that has committed before goes on; a new one stops, and commits nothing."""
    for seen in (200, 0):
        for written, read in (("json", "packed"), ("packed", "json")):
            scenario = FaultScenario(kafka, PARTITIONS, rows=0)
            if seen:
                replay(kafka, scenario.topic, "--format", read, "--limit", str(seen))
                run_worker(scenario, "--format", read)
            replay(kafka, scenario.topic, "--format", written, "--limit", "1500")
            done = driftway(*scenario.worker("--format", read, "--stop-at-end"))
            assert done.code == (0 if seen else 1), done
            assert f"it looks like an event in another format: --format {written}" in done.stderr

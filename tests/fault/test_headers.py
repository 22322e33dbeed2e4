"""Headers of predictions and rejections are written exactly once, as these are, if a worker dies at any step."""

from __future__ import annotations

import json

import numpy as np
import pytest

from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.stream.task.committing.checkpoint import Step
from tests.support.audit import expected_scores, placed_score
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, produce, read_all
from tests.support.process import Driftway, driftway

ROWS, PIECE, NTH = 1200, 100, 4
SOURCE = "/shop/fraud"
SET_ASIDE = 50
"""One label in so many is unusable, and set aside; the event is predicted."""


def headers(offset: int) -> list[tuple[str, bytes]]:
    return [("trace", b"%d" % offset), ("trace", b"")] if offset % 5 else []


def attributes(partition: int, offset: int, time: str) -> list[tuple[str, bytes]]:
    """Headers of a prediction that is a CloudEvent."""
    return [
        ("ce_specversion", b"1.0"),
        ("ce_type", b"driftway.prediction"),
        ("ce_source", SOURCE.encode()),
        ("content-type", b"application/json"),
        ("ce_id", b"%d/%d" % (partition, offset)),
        ("ce_time", time.encode()),
    ]


def add_times_and_bad_labels(scenario: FaultScenario) -> None:
    """Give the scenario's events a time, and some an invalid label; expect predictions for these too."""
    parts = {}
    for partition, events in scenario.events.items():
        rows = [json.loads(event) for event in events]
        for i, row in enumerate(rows):
            row["t"] = 1_543_392_000_000 + i
            row["y"] = "up" if i % SET_ASIDE == 7 else row["y"]
        y = np.array([np.nan if row["y"] == "up" else row["y"] for row in rows])
        parts[partition] = np.array([row["x"] for row in rows]), y
        scenario.events[partition] = [json.dumps(row).encode() for row in rows]
    scenario.expected = expected_scores(LEARNER, parts)


@pytest.mark.parametrize(
    ("step", "victim", "successor"),
    [pytest.param(Step.OUTPUTS_PRODUCED, NATIVE, PYTHON, marks=pytest.mark.slow), (Step.OFFSETS_SENT, PYTHON, NATIVE)],
)
def test_all_headers_are_written_after_a_worker_was_killed(kafka: str, step: Step, victim: str, successor: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    add_times_and_bad_labels(scenario)

    def fill(first: int, last: int) -> None:
        for partition, events in scenario.events.items():
            produce(
                kafka, scenario.topic, events[first:last], partition, headers=list(map(headers, range(first, last)))
            )

    asked, fed = ("--pass-headers", "trace", "--cloudevents-source", SOURCE), 0
    streams = "--rejected-headers", "kafka-streams"
    with scenario.auditor() as auditor:
        with CrashingDriftway(step, NTH, *scenario.worker(*asked, *streams, "--client", victim)) as worker:
            worker.await_text("running partition=1")
            while not worker.ended and fed < ROWS:
                fill(fed, fed + PIECE)
                fed += PIECE
                wanted = 2 * fed
                await_until(lambda wanted=wanted: worker.ended or auditor.seen >= wanted, 30, "predicted, or killed")
            assert worker.ended, "its step was never reached"
        fill(fed, ROWS)
        with Driftway(*scenario.worker(*asked, *streams, "--client", successor, "--stop-at-end")) as worker:
            assert worker.wait(60) == 0, worker.summary()
        auditor.await_all(len(scenario.expected))
    auditor.require(scenario.expected)
    found = read_all(kafka, f"{scenario.prefix}.predictions")
    for one in found:
        (_, offset), _ = placed_score(one.value or b"")
        millis = 1_543_392_000_000 + offset
        time = str(np.datetime64(millis, "ms")) + "Z"
        assert one.headers == attributes(one.partition, offset, time) + headers(offset)
    rejected = read_all(kafka, f"{scenario.prefix}.rejected")
    assert len(rejected) == 2 * ROWS // SET_ASIDE
    for one in rejected:
        headers_found = dict(one.headers)
        assert headers_found["__streams.errors.message"] == headers_found["reason"]
        assert headers_found["__streams.errors.offset"] == headers_found["offset"]
    options = *scenario.options, "--learner", LEARNER
    assert driftway("audit", *options, *asked).code == 0
    done = driftway("audit", *options, "--cloudevents-source", "/other")
    assert done.code == 1
    assert "expected the header ('ce_source', b'/other'), found ('ce_source', b'/shop/fraud')" in done.stderr

"""Drift detectors in a worker: where they call, that a death changes nothing of it, and what operators are told."""

from __future__ import annotations

import json

from tests.support.crash import CrashingDriftway
from tests.support.kafka import read_all
from tests.support.process import driftway
from tests.support.stage import LEARNER, Stage
from worker.runtime.partition.checkpoint import Step

WATCH = "--detector", "ddm", "--detector", "hddm_w:drift_conf=0.005,warn_conf=0.01", "--accuracy-every", "50"
ROWS, CHANGE = 2000, 1000
"""Per partition; the row from which the stage's concept is another one."""


def test_drifts_are_found_and_survive_a_death(kafka: str) -> None:
    stage = Stage(kafka, partitions=2, rows=ROWS)
    with stage.auditor() as auditor, CrashingDriftway(Step.FLUSHED, 15, *stage.worker(*WATCH)) as victim:
        stage.feed(auditor, victim)
        assert victim.wait() == -9
        story = victim.stderr
    done = driftway(*stage.worker("--stop-at-end", *WATCH))
    assert done.code == 0, done
    points = [json.loads(record.value or b"") for record in read_all(kafka, f"{stage.prefix}.accuracy")]
    for partition in range(2):
        alarms: dict[str, list[int]] = {"ddm": [], "hddm_w:drift_conf=0.005,warn_conf=0.01": []}
        for point in points:
            for name, offset in (point["drift"] or {}).items():
                assert point["offset"] - 50 < offset <= point["offset"]
                if point["partition"] == partition:
                    alarms[name].append(offset)
        for name, offsets in alarms.items():
            assert any(CHANGE <= offset < CHANGE + 300 for offset in offsets), (name, offsets)
            assert len([offset for offset in offsets if offset < CHANGE]) <= 1, (name, offsets)
    assert "drift partition=" in story + done.stderr
    place = ("--input", stage.topic, "--group", stage.group, "--bootstrap", kafka)
    audited = driftway("audit", *place, "--learner", LEARNER, *WATCH)
    assert audited.code == 0, audited
    without = driftway("audit", *place, "--learner", LEARNER, "--accuracy-every", "50")
    assert without.code == 1, without

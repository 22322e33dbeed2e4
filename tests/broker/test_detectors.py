"""Drift detectors in a worker: where they raise alarms, also after crashes, and what operators see."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.kafka.topics import partition_counts
from driftway.worker.stream.task.committing.checkpoint import Step
from tests.broker.test_policies import learn, refused
from tests.support.alarms import expected_alarms, require_alarms, seen_alarms
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import DETECTORS, LEARNER, FaultScenario
from tests.support.kafka import admin, await_until, produce, read_all, unique
from tests.support.process import Finished, driftway
from tests.support.selection import slow_but

WATCH = "--detector", "ddm", "--detector", "hddm_w:drift_conf=0.005,warn_conf=0.01", "--accuracy-every", "50"
DEATHS = (Step.FLUSHED, Step.OUTPUTS_PRODUCED, Step.OFFSETS_SENT, Step.COMMITTED, Step.BEGUN, Step.FLUSHED)
ROWS, CHANGE = 2000, 1000
"""Rows per partition, and the row at which the scenario's concept changes."""


@pytest.mark.slow
def test_drifts_are_found_where_they_are_also_after_a_worker_was_killed(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    with scenario.auditor() as auditor, CrashingDriftway(Step.FLUSHED, 15, *scenario.worker(*WATCH)) as victim:
        scenario.feed(auditor, victim)
        assert victim.wait() == -9
        summary = victim.stderr
    done = driftway(*scenario.worker("--stop-at-end", *WATCH))
    assert done.code == 0, done
    points = [json.loads(record.value or b"") for record in read_all(kafka, f"{scenario.prefix}.accuracy")]
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
    assert "drift partition=" in summary + done.stderr
    place = scenario.options
    audited = driftway("audit", *place, "--learner", LEARNER, *WATCH)
    assert audited.code == 0, audited
    assert driftway("audit", *place).code == 0, "options not given are read from the group"
    other = driftway("audit", *place, "--learner", LEARNER, "--accuracy-every", "50", "--detector", "adwin")
    assert other.code == 1, other


def audit(scenario: FaultScenario, *more: str) -> Finished:
    place = scenario.options
    return driftway("audit", *place, "--learner", LEARNER, *(more or scenario.watched))


def watched(scenario: FaultScenario) -> list[dict[str, Any]]:
    """Rows of `driftway watch` for the champion on each partition."""
    done = driftway("watch", "--input", scenario.topic, "--bootstrap", scenario.bootstrap, "--once", "--json")
    assert done.code == 0, done
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.mark.parametrize("client", slow_but([NATIVE], [NATIVE, PYTHON]))
def test_every_alarm_of_an_offline_run_is_written_once_although_workers_die(kafka: str, client: str) -> None:
    """Workers are killed one after the other, before and after the change of concept."""
    scenario, fed = FaultScenario(kafka, partitions=2, rows=ROWS, detectors=DETECTORS), 0
    arguments = scenario.worker("--client", client, "-X", "group.instance.id=one")
    with scenario.auditor() as auditor:
        for step in DEATHS:
            with CrashingDriftway(step, 7, *arguments) as victim:
                victim.await_text("running")
                while not victim.ended:
                    scenario.fill(fed, fed := fed + 50)
                    await_until(lambda: victim.ended or auditor.seen >= 2 * fed, 30, "rows predicted, or death")
                assert victim.wait() == -9
        assert CHANGE < fed + 400 < ROWS, "workers must die before the change"
        scenario.fill(fed)
        done = driftway(*scenario.worker("--stop-at-end", "--client", client, "-X", "group.instance.id=one"))
        assert done.code == 0, done
        auditor.await_all(2 * ROWS)
    auditor.require(scenario.expected)
    require_alarms(scenario)
    assert audit(scenario).code == 0
    lines = driftway("watch", "--input", scenario.topic, "--bootstrap", kafka, "--once").stdout
    for row, alarms in zip(watched(scenario), expected_alarms(scenario).values(), strict=True):
        last = json.loads(alarms[-1][1])
        assert sum(row["drifts"].values()) == len(alarms)
        assert row["last_drift"]["offset"] == last["offset"] == ROWS - 1 - row["rows_since_drift"]
        assert f"drift ddm {row['rows_since_drift']} ({len(alarms)})" in lines


def test_an_audit_reports_an_alarm_that_no_worker_raised(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=500, detectors=DETECTORS)
    learn(scenario, 0, 500)
    proven = audit(scenario, "--json", *scenario.watched)
    partitions = json.loads(proven.stdout)["partitions"]
    assert [one["alarms"] for one in partitions] == [len(alarms) for alarms in expected_alarms(scenario).values()]
    first = seen_alarms(scenario)[1][0]
    produce(kafka, f"{scenario.prefix}.alarms", [first[1]], 1, keys=[first[0]])
    refuted = audit(scenario)
    offset = json.loads(first[1])["offset"]
    assert (refuted.code, refuted.stdout) == (1, "")
    assert f"is a surplus drift alarm of {scenario.topic}/1@{offset}" in refuted.stderr


@pytest.mark.slow
def test_alarms_at_least_once_and_in_a_group_that_drops_its_detectors(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=1000, detectors=DETECTORS)
    learn(scenario, 0, 500, "--guarantee", "at-least-once")
    learn(scenario, 500, 1000, "--guarantee", "at-least-once")
    require_alarms(scenario)
    scenario.detectors = ()
    assert "the snapshot was made with detectors" in refused(scenario)
    client = admin(kafka)  # keep a reference: a collected client never answers
    client.delete_topics([f"{scenario.prefix}.alarms"])[f"{scenario.prefix}.alarms"].result(timeout=20)
    learn(scenario, 0, 500, "--on-restore-failure", "reset")
    assert f"{scenario.prefix}.alarms" not in partition_counts(client.list_topics(timeout=10))


@pytest.mark.slow
def test_a_group_that_adds_detectors_later_has_alarms_from_then_on(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    learn(scenario, 0, 500)
    assert f"{scenario.prefix}.alarms" not in partition_counts(admin(kafka).list_topics(timeout=10))
    missing = audit(scenario, "--detector", "ddm")
    assert missing.code == 2
    assert f"there is no topic {scenario.prefix}.alarms" in missing.stderr
    scenario.detectors = DETECTORS
    assert "the snapshot was made with detectors" in refused(scenario)
    learn(scenario, 500, 1000, "--on-restore-failure", "replay")
    whole = expected_alarms(scenario)[0]
    assert seen_alarms(scenario)[0] == [alarm for alarm in whole if json.loads(alarm[1])["offset"] >= 500] != []


@pytest.mark.slow
def test_a_state_imported_by_another_group_keeps_raising_alarms(kafka: str, tmp_path: Path) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=1000, detectors=DETECTORS)
    learn(scenario, 0, 1000)
    successor, file = copy(scenario), str(tmp_path / "then.driftway")
    successor.group = unique("successor")
    place = ("--input", scenario.topic, "--bootstrap", kafka, "--partition", "0", "--at", "500")
    for command in (("export", "--out", file, "--group", scenario.group), ("import", file, "--group", successor.group)):
        done = driftway("snapshot", *command, *place)
        assert done.code == 0, done
    learn(successor, 1000, 1000)
    whole = expected_alarms(successor)[0]
    assert seen_alarms(successor)[0] == [alarm for alarm in whole if json.loads(alarm[1])["offset"] >= 500] != []
    assert audit(successor).code == 0

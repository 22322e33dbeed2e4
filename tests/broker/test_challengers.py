"""The statistical test of a challenger on a real Kafka: accuracy points equal an offline run's despite a SIGKILL."""

from __future__ import annotations

import json

import pytest

from driftway.worker.state.model import Model
from driftway.worker.stream.task.committing.checkpoint import Step
from tests.support.crash import CrashingDriftway
from tests.support.earlier_challengers import EarlierDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import committed_offset, read_all
from tests.support.process import driftway
from tests.unit.worker.rows import model_settings, records

pytestmark = pytest.mark.broker

CHALLENGERS = "no_change", "arow"
OPTIONS = ("--learner", CHALLENGERS[0], "--learner", CHALLENGERS[1])
EVERY = 100


def test_the_test_of_a_challenger_continues_exactly_after_a_worker_was_killed(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=2000)
    options = scenario.worker(*OPTIONS, "--accuracy-every", str(EVERY))
    with scenario.auditor() as auditor, CrashingDriftway(Step.FLUSHED, 9, *options) as victim:
        victim.await_text("running")
        scenario.feed(auditor, victim)
        assert victim.wait() == -9, victim.summary()
    assert 0 < committed_offset(kafka, scenario.group, scenario.topic)[0] < scenario.rows, "killed before the end"
    done = driftway(*options, "--stop-at-end")
    assert done.code == 0, done.stderr
    written = read_all(kafka, f"{scenario.prefix}.accuracy")
    settings = model_settings(LEARNER, *CHALLENGERS, accuracy_every=EVERY, window=1000)
    for partition, events in scenario.events.items():
        expected = Model(settings, partition, scenario.group).advance(records(events, partition=partition)).points
        assert [(one.key, one.value) for one in written if one.partition == partition] == expected
    newest = {
        (point["learner"], point["partition"]): point for point in (json.loads(one.value or b"") for one in written)
    }
    assert newest["no_change", 0]["worse_p"] < 0.001
    assert newest["no_change", 0]["worse_since"] < 500
    assert "worse_p" not in newest[LEARNER, 0]
    place = scenario.options
    audit = driftway("audit", *place, "--learner", LEARNER, *OPTIONS, "--accuracy-every", str(EVERY))
    assert audit.code == 0, audit.stderr
    shown = driftway("watch", *place, "--once").stdout
    assert "all partitions: no_change is worse than the champion, p <= " in shown
    assert f"worse than the champion since {newest['no_change', 1]['worse_since']}, p <= " in shown


def test_a_group_of_an_earlier_version_continues_without_tests_and_can_be_audited(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=1500)
    options = scenario.worker(*OPTIONS, "--accuracy-every", str(EVERY), "--stop-at-end")
    place = scenario.options
    scenario.fill(0, 700)
    with EarlierDriftway(*options) as earlier:
        assert earlier.wait() == 0, earlier.summary()
    scenario.fill(700)
    done = driftway(*options)
    assert done.code == 0, done.stderr
    written = [json.loads(one.value or b"") for one in read_all(kafka, f"{scenario.prefix}.accuracy")]
    assert len(written) == 3 * scenario.rows // EVERY
    assert not [point for point in written if "better_p" in point]
    audit = driftway("audit", *place, "--learner", LEARNER, *OPTIONS, "--accuracy-every", str(EVERY), "--json")
    assert audit.code == 0, audit.stderr
    (account,) = json.loads(audit.stdout)["partitions"]
    assert (account["begin"], account["end"], account["unchecked"]) == (0, scenario.rows, [])
    assert account["snapshots"] >= 2
    shown = driftway("snapshot", "show", *place, "--partition", "0", "--at", "100", "--json")
    assert shown.code == 0, shown.stderr

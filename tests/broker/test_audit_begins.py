"""Where an audit begins, and which settings it reads from the group."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import OFFSET_END

from tests.broker.test_models import CHALLENGER, PLAIN, change
from tests.broker.test_models_relearned import KEEPS_ALL
from tests.broker.test_models_relearned_labels import RelearningScenario
from tests.broker.test_policies import REPLAY, RESET, commit, delete_before, learn, predicted, refused
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import create_topic, produce
from tests.support.process import driftway
from tests.support.selection import slow_but


@pytest.mark.slow
def test_an_audit_begins_at_the_first_snapshot_whose_labels_still_exist(kafka: str) -> None:
    """The input is complete: only the label topic has lost what the first snapshots need."""
    scenario = RelearningScenario(kafka, label_topic=True, partitions=1)
    create_topic(kafka, f"{scenario.prefix}.snapshots", 1, **KEEPS_ALL)
    for first in (0, 150, 300, 450):
        for _ in scenario.feed(first, first + 150):
            pass
        scenario.learn()
    delete_before(scenario, scenario.labels, 40)
    done = driftway("audit", *scenario.options, "--json")
    assert done.code == 0, done
    (found,) = json.loads(done.stdout)["partitions"]
    assert 0 < found["begin"] < found["end"]
    assert found["predictions"] > 50
    assert any("was trusted" in sentence for sentence in found["unchecked"])


def test_an_audit_reads_the_models_from_the_group(kafka: str) -> None:
    """Before its first plan and after several; options that contradict the group are reported."""
    scenario = FaultScenario(kafka, partitions=2, rows=400)
    options = *PLAIN, "--metric-window", "77", "--no-standardize", "--detector", "ddm"
    learn(scenario, 0, 100, *options)
    place = scenario.options
    assert driftway("audit", *place).code == 0
    change(scenario, "add", CHALLENGER, at=(150, 160))
    change(scenario, "promote", CHALLENGER, at=(200, 200))
    change(scenario, "configure", "--metric-window", "50", "--no-detectors", at=(250, 250))
    change(scenario, "drop", LEARNER, at=(300, 300))
    learn(scenario, 100, 400, *options)
    done = driftway("audit", *place, "--json")
    assert done.code == 0, done
    assert [one["begin"] for one in json.loads(done.stdout)["partitions"]] == [0, 0]
    assert driftway("audit", *place, "--learner", LEARNER, *options).code == 0
    done = driftway("audit", *place, "--learner", CHALLENGER)
    assert done.code == 2
    assert f"plan 1 has {LEARNER}" in done.stderr


@pytest.mark.slow
def test_an_audit_without_snapshots_asks_for_the_models(kafka: str) -> None:
    """It does not compare with those that a worker without options would have."""
    scenario = FaultScenario(kafka, partitions=1, rows=100)
    snapshots = create_topic(kafka, f"{scenario.prefix}.snapshots", 1, **KEEPS_ALL)
    learn(scenario, 0, 100)
    delete_before(scenario, snapshots, OFFSET_END)
    done = driftway("audit", *scenario.options)
    assert done.code == 1
    words = f"the models of group {scenario.group} are not known: the snapshot at {snapshots}/0@"
    assert words in done.stderr
    assert "does not exist; with --learner and the other options of its workers" in done.stderr
    done = driftway("audit", *scenario.options, "--learner", LEARNER)
    assert (done.code, "is committed: expected its snapshot at" in done.stderr) == (1, True), done


@pytest.mark.parametrize("way", slow_but(["replay"], ["replay", "reset"]))
def test_an_audit_begins_where_a_group_changed_its_options_as_it_was_allowed_to(kafka: str, way: str) -> None:
    """Of two models one after the other it checks the present one, and says from where on."""
    scenario = FaultScenario(kafka, partitions=1, rows=600)
    learn(scenario, 0, 200, *PLAIN)
    learn(scenario, 200, 200, *PLAIN, "--detector", "ddm", "--on-restore-failure", way)
    learn(scenario, 200, 400, *PLAIN, "--detector", "ddm")
    learn(scenario, 400, 600, *PLAIN, "--learner", CHALLENGER, "--on-restore-failure", way)
    done = driftway("audit", *scenario.options, "--json")
    assert done.code == 0, done
    (found,) = json.loads(done.stdout)["partitions"]
    begin = found["begin"]  # of the first snapshot, which may have rows of its own
    assert 400 <= begin < 600 == begin + found["predictions"]
    (sentence,) = found["unchecked"]
    assert f"offsets before {begin} cannot be checked, since a new history began" in sentence


def test_an_audit_knows_the_plans_that_a_group_took_before_its_offset_was_set_back(kafka: str) -> None:
    """The worker takes them again where they are recorded, and does not record them again."""
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    learn(scenario, 0, 100, *PLAIN, "--emit", "all")
    change(scenario, "add", CHALLENGER, at=(700,))
    change(scenario, "promote", CHALLENGER, at=(800,))
    learn(scenario, 100, 1000, *PLAIN, "--emit", "all")
    commit(scenario, 110)
    short = "--commit-interval", "0.001", "--snapshot-rows", "1"
    learn(scenario, 1000, 1000, *PLAIN, "--emit", "all", *short, "--on-restore-failure", "replay")
    done = driftway("audit", *scenario.options, "--json")
    assert done.code == 0, done
    (found,) = json.loads(done.stdout)["partitions"]
    assert 110 < found["begin"] < 700
    assert found["challengers"] == 300


def test_a_partition_without_events_has_nothing_to_check(kafka: str) -> None:
    """No order of labels is recorded for it, although its label log has labels."""
    scenario = RelearningScenario(kafka, label_topic=True, partitions=2)
    produce(kafka, scenario.topic, [b'{"x":[%d,1],"id":"e%d"}' % (i % 7, i) for i in range(100)])
    for partition in range(2):
        produce(kafka, scenario.labels, [b'{"id":"e%d","y":%d}' % (i, i % 2) for i in range(100)], partition)
    scenario.learn()
    done = driftway("audit", *scenario.options, "--json")
    assert done.code == 0, done
    assert [one["predictions"] > 0 for one in json.loads(done.stdout)["partitions"]] == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True], ids=["events", "label-topic"])
@pytest.mark.parametrize("decision", [REPLAY, RESET], ids=["replay", "reset"])
def test_an_audit_begins_where_somebody_has_set_the_first_offset(
    kafka: str, decision: tuple[str, str], labels: bool
) -> None:
    """No worker has committed yet, so there is no commit record from which the offset differs."""
    scenario = FaultScenario(kafka, partitions=1, rows=500)
    late = ("--label-topic", create_topic(kafka, f"{scenario.topic}-labels"), "--label-wait", "100") if labels else ()
    scenario.fill(0, 300)
    commit(scenario, 200)
    assert "committed without a snapshot" in refused(scenario, *late)
    learn(scenario, 300, 500, *late, *decision)
    assert sorted(offset for _, offset in predicted(scenario)) == [*range(200, 500)]
    done = driftway("audit", *scenario.options, *late, "--json")
    assert done.code == 0, done
    assert 200 <= json.loads(done.stdout)["partitions"][0]["begin"] < 500, "at the first snapshot"

"""Detectors, window and accuracy points of a group change while workers run, despite kills; the audit verifies it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.kafka.topics import partition_counts
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.state.plans.file_state import FileState
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.events import Records
from tests.broker.test_models import EVERY, PLAIN, adoptions, audit, change, columns, history, models
from tests.broker.test_policies import learn
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import DETECTORS, LEARNER, FaultScenario
from tests.support.kafka import admin, await_until, read_all
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

ROWS = 1200
DDM, HDDM = DETECTORS
CHALLENGER = "arow"
CHANGES = (
    (("configure", "--detector", DDM), (200, 250)),
    (("add", CHALLENGER), (300, 300)),
    (("configure", "--detector", HDDM, "--detector", DDM, "--metric-window", "100"), (400, 430)),
    (("configure", "--accuracy-every", "20", "--metric-window", "700"), (600, 600)),
    (("promote", CHALLENGER), (700, 720)),
    (("configure", "--no-detectors"), (850, 900)),
    (("rollback", "--to", "4"), (1000, 1000)),
)  # fmt: skip


def undisturbed(
    scenario: FaultScenario, partition: int, rows: int, state: FileState | None = None
) -> dict[str, list[bytes]]:
    """Topic -> values of one run that applies the plans at the partition's offsets.

    Models of a plan that begin from a file begin with `state`.
    """
    settings = ModelSettings((Spec.parse(LEARNER),), accuracy_every=EVERY)
    model, done, outputs = Model(settings, partition, scenario.group), 0, list[Outputs]()
    for end, plan in [*adoptions(history(scenario), partition), (rows, None)]:
        if done < end:
            piece = scenario.events[partition][done:end]
            outputs.append(model.advance(Records(partition, *columns(piece, done))))
            done = end
        model = model if plan is None else model.followed_by(plan.with_states(lambda named: state or named))
    return {
        "predictions": [value for one in outputs for value in one.predictions.to_list()],
        "accuracy": [value for one in outputs for _, value in one.points],
        "alarms": [alarm.value for one in outputs for alarm in one.alarms],
    }


def require_undisturbed(scenario: FaultScenario, rows: int = ROWS, state: FileState | None = None) -> None:
    """Compare all outputs with those of one undisturbed run, and let the audit do so from the first offset."""
    for partition in range(scenario.partitions):
        for name, values in undisturbed(scenario, partition, rows, state).items():
            if name != "alarms" or has_alarms(scenario):
                records = read_all(scenario.bootstrap, f"{scenario.prefix}.{name}")
                assert [one.value for one in records if one.partition == partition] == values != [], (name, partition)
    done = audit(scenario)
    assert done.code == 0, done
    assert "Not checked" not in done.stdout


def has_alarms(scenario: FaultScenario) -> bool:
    client = admin(scenario.bootstrap)  # keep a reference: a collected client never answers
    return f"{scenario.prefix}.alarms" in partition_counts(client.list_topics(timeout=10))


@pytest.mark.parametrize("client", slow_but([NATIVE], [NATIVE, PYTHON]))
def test_detectors_window_and_accuracy_points_change_at_the_planned_offsets(kafka: str, client: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*PLAIN, "--client", client)) as worker:
        scenario.fill(0, 100)
        auditor.await_all(200)
        assert not has_alarms(scenario)
        for words, at in CHANGES:
            change(scenario, *words, at=at)
        assert has_alarms(scenario)
        await_until(lambda: worker.stderr.count("plan plan=") == len(CHANGES), 30, "the worker has read all plans")
        scenario.fill(100, ROWS)
        auditor.await_all(2 * ROWS)
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    assert [tuple(plan["adopted_at"].values()) for plan in history(scenario)[1:]] == [at for _, at in CHANGES]
    require_undisturbed(scenario)


@pytest.mark.parametrize("step", slow_but([Step.COMMITTED], Step), ids=lambda step: step.value)
def test_outputs_are_exact_if_a_worker_is_killed_while_detectors_change(kafka: str, step: Step) -> None:
    """The options never name a detector, and the last worker names another window, which the plan overrides."""
    scenario, fed = FaultScenario(kafka, partitions=2, rows=ROWS), 100
    options = scenario.worker(*PLAIN)
    with scenario.auditor() as auditor:
        learn(scenario, 0, fed, *PLAIN)
        change(scenario, "configure", "--detector", DDM, "--detector", HDDM, "--metric-window", "50")
        with CrashingDriftway(step, 1, *options) as victim:
            assert victim.wait(60) == -9
        change(scenario, "configure", "--detector", DDM, "--accuracy-every", "30", at=(400, 500))
        change(scenario, "configure", "--no-detectors", at=(700, 800))
        for death in (9, 14):
            with CrashingDriftway(step, death, *options) as victim:
                fed = scenario.feed_until_ended(auditor, victim, fed)
        scenario.fill(fed, ROWS)
        with Driftway(*options, "--stop-at-end", "--metric-window", "77") as worker:
            assert worker.wait(60) == 0, worker.summary()
            assert "the options differ from the plan; the plan applies" in worker.stderr
        auditor.await_all(2 * ROWS)
    require_undisturbed(scenario)


def delete_alarms(scenario: FaultScenario) -> None:
    client, topic = admin(scenario.bootstrap), f"{scenario.prefix}.alarms"  # a collected client never answers
    client.delete_topics([topic])[topic].result(timeout=20)
    await_until(lambda: not has_alarms(scenario), 30, "the topic is gone")


@pytest.mark.slow
def test_a_missing_alarms_topic_is_created_by_the_worker_that_applies_the_plan(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN)
    change(scenario, "configure", "--detector", DDM, at=(200, 200))
    delete_alarms(scenario)
    assert f"created topic topic={scenario.prefix}.alarms" in learn(scenario, 100, ROWS, *PLAIN)
    require_undisturbed(scenario)


@pytest.mark.slow
def test_lost_alarms_are_written_again(kafka: str) -> None:
    """The worker that restores has no detector in its options, but the last commit names the missing outputs."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN)
    change(scenario, "configure", "--detector", DDM, "--detector", HDDM)
    learn(scenario, 100, 100, *PLAIN)  # applied by the commit of an idle partition, so the next one has all alarms
    learn(scenario, 100, 600, *PLAIN, "--commit-interval", "60")
    first = [one.value for one in read_all(kafka, f"{scenario.prefix}.alarms")]
    assert len(first) > 5
    delete_alarms(scenario)
    assert "writing the missing outputs again" in learn(scenario, 600, ROWS, *PLAIN)
    require_undisturbed(scenario)


@pytest.mark.slow
def test_past_states_have_the_window_of_their_plan(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN)
    change(scenario, "configure", "--metric-window", "30", "--detector", DDM, at=(200,))
    change(scenario, "rollback", at=(350,))
    learn(scenario, 100, 500, *PLAIN)
    place = *scenario.options, "--partition", "0"
    for offset, rows in ((180, 180), (300, 30), (480, 130)):
        done = driftway("snapshot", "show", *place, "--at", str(offset), "--json")
        assert done.code == 0, done
        (learner,) = json.loads(done.stdout)["learners"]
        assert learner["metrics"]["window"] == rows, learner
        done = driftway("explain", *place, "--offset", str(offset), "--json")
        assert json.loads(done.stdout)["emitted"]["verdict"] == "same", done


def test_invalid_monitoring_plans_are_refused_and_valid_ones_are_shown(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 200, *PLAIN)
    refused: tuple[tuple[tuple[str, ...], str], ...] = (
        (("--detector", "no_such"), "no_such"),
        (("--detector", "ddm:min_n=-1"), "min_n"),
        (("--detector", "ddm", "--detector", "ddm"), "twice"),
        (("--detector", "ddm", "--no-detectors"), "not both"),
        (("--no-detectors",), "already"),
        (("--metric-window", "100000000000000"), "cannot be allocated"),
        ((), "give --detector"),
    )
    for words, message in refused:
        done = models(scenario, "configure", *words)
        assert done.code in (1, 2), done
        assert message in done.stderr, done
        assert done.stderr.count("\n") == 1, done
    assert len(history(scenario)) == 1
    assert not has_alarms(scenario)
    done = models(scenario, "configure", "--detector", DDM, "--metric-window", "50")
    assert f"plan 2: champion {LEARNER}; detectors {DDM}; window 50, of metrics that go on" in done.stderr, done
    shown: dict[str, Any] = json.loads(models(scenario, "show", "--json").stdout)
    assert (shown["detectors"], shown["window"], shown["accuracy_every"]) == ([DDM], 50, EVERY)
    text = models(scenario, "show").stdout
    assert f"detectors   {DDM}" in text
    assert f"window      50 rows, an accuracy point every {EVERY}" in text
    assert models(scenario, "rollback").code == 0
    assert [plan["window"] for plan in history(scenario)] == [1000, 50, 1000]
    done = models(scenario, "rollback", "--to", "1")
    assert (done.code, done.stdout) == (2, ""), done
    assert done.stderr == "driftway: plan 3, the newest, has these models and settings already: nothing changes\n"
    assert len(history(scenario)) == 3

"""`driftway worker --plan from-options`: changed options become the group's next plan, once."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from driftway.worker.kafka.topics import partition_counts
from tests.broker.test_models import PLAIN, audit, change, history
from tests.broker.test_models_monitoring import DDM, require_undisturbed
from tests.broker.test_policies import learn
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import admin, await_until
from tests.support.process import Driftway

ROWS = 800
CHALLENGER = "--learner", "arow"
ASKED = "--plan", "from-options"


def learners(scenario: FaultScenario) -> list[list[str]]:
    return [[model["learner"] for model in plan["models"]] for plan in history(scenario)]


def has_plans(scenario: FaultScenario) -> bool:
    client = admin(scenario.bootstrap)  # keep a reference: a collected client never answers
    return f"{scenario.prefix}.models" in partition_counts(client.list_topics(timeout=10))


def test_changed_options_become_the_next_plan_and_unchanged_ones_write_nothing(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN, *ASKED)
    assert not has_plans(scenario), "the options of a new group are its first plan"
    learn(scenario, 100, 200, *PLAIN, *ASKED)
    assert not has_plans(scenario), "the options are the same"
    assert "the options are the next plan plan=2" in learn(scenario, 200, 300, *PLAIN, *ASKED, *CHALLENGER)
    assert "the options are" not in learn(scenario, 300, 400, *PLAIN, *ASKED, *CHALLENGER)
    log = learn(scenario, 400, 500, *PLAIN, "--metric-window", "30")
    assert "the options differ from the plan; the plan applies" in log
    more = *PLAIN, *CHALLENGER, "--metric-window", "30", "--detector", DDM
    assert "the options are the next plan plan=3" in learn(scenario, 500, 600, *more, *ASKED)
    change(scenario, "configure", "--no-detectors", at=(650, 700))
    learn(scenario, 600, 720, *more)
    assert "the options are the next plan plan=5" in learn(scenario, 720, ROWS, *more, *ASKED)
    assert learners(scenario) == [[LEARNER], *[[LEARNER, "arow"]] * 4]
    assert [plan["window"] for plan in history(scenario)] == [1000, 1000, 30, 30, 30]
    assert [plan.get("change") for plan in history(scenario)][1:3] == ["--plan from-options"] * 2
    assert len({tuple(plan["adopted_at"].values()) for plan in history(scenario)[1:]}) == 4
    require_undisturbed(scenario, ROWS)


@pytest.mark.slow
def test_workers_that_start_together_write_the_plan_once(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=3, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN)
    with ExitStack() as running, scenario.auditor() as auditor:
        asked = scenario.worker(*PLAIN, *CHALLENGER, *ASKED)
        workers = [running.enter_context(Driftway(*asked)) for _ in range(3)]
        scenario.fill(100, 200)
        auditor.await_all(3 * 200)
        await_until(lambda: sum(one.stderr.count("plan adopted") for one in workers) >= 3, 30, "all have applied it")
        for one in workers:
            one.terminate()
        for one in workers:
            assert one.wait(30) == 0, one.summary()
        assert sum(one.stderr.count("the options are the next plan") for one in workers) == 1
    assert learners(scenario) == [[LEARNER], [LEARNER, "arow"]]
    done = audit(scenario)
    assert done.code == 0, done

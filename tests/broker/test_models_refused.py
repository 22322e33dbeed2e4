"""Invalid changes of models are refused by the command, or skipped by workers; and the documented commands work."""

from __future__ import annotations

import contextlib
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from driftway.learners.spec import Spec
from driftway.worker.admin.state_admin.source import settings_for
from driftway.worker.errors import Failure
from driftway.worker.state.plans.model_plan import ModelPlan, PlannedModel, first_plan
from driftway.worker.state.plans.plan_topic import PlanWriter
from tests.broker.test_models import CHALLENGER, PLAIN, audit, change, history, models, require_expected
from tests.broker.test_policies import learn
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, produce
from tests.support.process import Driftway, driftway
from tests.unit.test_readme import typed

CHANGING = "add", "promote", "set", "configure", "rollback", "drop"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "change-models.md"
ROWS = 400


def learned(kafka: str, rows: int = 200, *more: str) -> FaultScenario:
    """A group that has learned `rows` rows of one partition."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, rows, *PLAIN, *more)
    return scenario


@pytest.fixture(scope="module")
def scenario(kafka: str) -> FaultScenario:
    return learned(kafka)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("add no_such_learner", "no learner 'no_such_learner'"),
        ("add pa1:C", "pa1:C"),
        ("add pa1:C=-1", "C must be"),
        ("add ogd_huber", "regression"),
        ("add pa1:C=1 --from arow", "there is no model arow in plan 1: it has dfop:mu=0.01"),
        ("add arow --from dfop:mu=0.01", "cannot go on with the state of dfop:mu=0.01"),
        ("add dfop:mu=0.01", "there is a model dfop:mu=0.01 already"),
        ("drop dfop:mu=0.01", "is the champion"),
        ("drop arow", "there is no model arow in plan 1"),
        ("promote dfop:mu=0.01", "is the champion already"),
        ("set dfop:mu=0.01 nu=1", "nu"),
        ("set dfop:mu=0.01 mu=0.01", "there is a model dfop:mu=0.01 already"),
        ("rollback", "there is no plan before plan 1"),
        ("rollback --to 7", "there is no plan"),
        ("add arow --at 0", "--at 0: write PARTITION:OFFSET, as in 0:10000"),
        ("add arow --at 1:500", "there is no partition 1"),
        ("add arow --at 0:500 --at 0:600", "partition 0 is given twice"),
        ("add arow --at 0:100", "partition 0 has passed offset 100: it has committed 200"),
        ("add arow --at 0:500 --at-time 2026-01-01", "give --at or --at-time, not both"),
    ],
)
def test_an_invalid_change_is_refused_with_one_sentence(scenario: FaultScenario, words: str, message: str) -> None:
    done = models(scenario, *words.split())
    assert (done.code, done.stdout) == (2, ""), done
    assert message in done.stderr
    assert done.stderr.startswith("driftway: ")
    assert done.stderr.count("\n") == 1
    assert len(history(scenario)) == 1


def test_a_change_to_a_group_without_commits_is_refused(kafka: str, scenario: FaultScenario) -> None:
    place = "--input", scenario.topic, "--bootstrap", kafka
    done = driftway("models", "show", *place, "--group", "nobody")
    assert done.code == 2, done
    assert "no worker of group nobody has run" in done.stderr


def test_if_two_commands_write_at_once_the_first_reports_that_nothing_was_changed(kafka: str) -> None:
    scenario = learned(kafka)
    settings = settings_for(kafka, scenario.topic, scenario.group, {})
    plan = ModelPlan(2, tuple(PlannedModel(Spec.parse(name)) for name in (LEARNER, CHALLENGER)))
    first, second = PlanWriter(settings), PlanWriter(settings)
    with pytest.raises(Failure, match="at the same time: nothing was changed"):
        first.write([first_plan((Spec.parse(LEARNER),)), plan])
    second.write([first_plan((Spec.parse(LEARNER),)), plan])
    assert [one["plan"] for one in history(scenario)] == [1, 2]


class ProducerThatIsLate:
    """A producer that learns of its successor between two records of a transaction."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def produce(self, *given: Any, **named: Any) -> None:
        self._producer.produce(*given, **named)
        with contextlib.suppress(KafkaException):
            self._producer.flush(30)


def test_a_command_that_another_overtakes_while_it_writes_reports_that_nothing_was_changed(kafka: str) -> None:
    scenario = learned(kafka)
    settings = settings_for(kafka, scenario.topic, scenario.group, {})
    plan = ModelPlan(2, tuple(PlannedModel(Spec.parse(name)) for name in (LEARNER, CHALLENGER)))
    first, second = PlanWriter(settings), PlanWriter(settings)
    first._producer = ProducerThatIsLate(first._producer)  # type: ignore[assignment]
    with pytest.raises(Failure, match="at the same time: nothing was changed"):
        first.write([first_plan((Spec.parse(LEARNER),)), plan])
    second.write([first_plan((Spec.parse(LEARNER),)), plan])
    assert [one["plan"] for one in history(scenario)] == [1, 2]


def test_plans_that_a_worker_finds_invalid_are_skipped(kafka: str) -> None:
    """Only `driftway models` should write there; if others do, predictions continue."""
    scenario = learned(kafka, 100)
    change(scenario, "add", CHALLENGER, at=[150])
    wrong = [
        b"not a plan",
        b'{"plan":3,"models":[{"learner":"no_such_learner"}]}',
        b'{"plan":4,"models":[{"learner":"pa1:C=-1"}]}',
        b'{"plan":5,"models":[{"learner":"g_dfop:lambda_source=field,column=70"}]}',
        ModelPlan(6, (PlannedModel(Spec.parse(CHALLENGER)),), {0: 250}).write(),
    ]
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*PLAIN)) as worker:
        worker.await_text("running")
        produce(kafka, f"{scenario.prefix}.models", wrong, keys=[b"%d" % number for number in range(2, 7)])
        await_until(lambda: "plan plan=6" in worker.stderr, 60, "the worker has read the last plan")
        scenario.fill(100, ROWS)
        auditor.await_all(ROWS)
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
        summary = worker.stderr
    assert "cannot be read" in summary
    for number in (3, 4, 5):
        assert f"plan passed over plan={number}" in summary or f"plan={number} offset" in summary, summary
    assert [plan["adopted_at"] for plan in history(scenario) if plan["adopted_at"]] == [{"0": 150}, {"0": 250}]
    require_expected(scenario, ROWS)
    done = audit(scenario)
    assert done.code == 0, done


def test_an_invalid_plan_does_not_prevent_a_worker_from_starting(kafka: str) -> None:
    """The number of features is fixed, so the compilation before the start already finds that a learner needs more."""
    fixed = "--features", "4"
    scenario = learned(kafka, 100, *fixed)
    change(scenario, "add", CHALLENGER)
    produce(
        kafka,
        f"{scenario.prefix}.models",
        [b'{"plan":3,"models":[{"learner":"g_dfop:lambda_source=field,column=70"}]}'],
        keys=[b"3"],
    )
    assert "plan passed over plan=3" in learn(scenario, 100, ROWS, *PLAIN, *fixed)
    assert [plan["plan"] for plan in history(scenario) if plan["adopted_at"]] == [2]
    require_expected(scenario, ROWS)


def test_the_commands_of_the_documentation_work_as_typed(kafka: str, tmp_path: Path) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    files = {name: str(tmp_path / name) for name in ("plans.json", "predictions.jsonl", "points.jsonl")}
    renamed = {"EVENTS": scenario.topic, "sea": scenario.group, **files}
    options = *scenario.options, "--learner", CHALLENGER
    lines = [
        line for line in typed(PAGE) if line.startswith("driftway ") and not {"worker", "TRADES"} & {*line.split()}
    ]
    assert len(lines) == 13
    with contextlib.ExitStack() as running:
        auditor = running.enter_context(scenario.auditor())
        worker = running.enter_context(Driftway("worker", *options))
        scenario.fill(0, 200)
        auditor.await_all(200)
        taken = 0
        for line in lines:
            _, *words = shlex.split(line)
            done = driftway(*(renamed.get(word, word) for word in words), "--bootstrap", kafka)
            assert done.code == 0, done
            if "--json" in words:  # the page redirects it
                Path(files["plans.json"]).write_text(done.stdout, encoding="utf-8")
            taken += words[1] in CHANGING
            await_until(
                lambda taken=taken: worker.stderr.count("plan adopted") == taken, 30, f"{taken} plans are taken"
            )
        scenario.fill(200, ROWS)
        auditor.await_all(ROWS)
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    assert {json.loads(line)["offset"] for line in Path(files["predictions.jsonl"]).read_bytes().splitlines()} == set(
        range(200)
    )
    done = driftway("audit", *options)
    assert done.code == 0, done
    assert [model["learner"] for model in history(scenario)[-1]["models"]] == ["dfop", CHALLENGER]

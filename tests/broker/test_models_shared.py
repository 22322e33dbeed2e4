"""The models of a group with shared models, or with a model file, change while workers run and are killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from driftway.learners.spec import Spec
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import ModelSettings
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.events import Records
from tests.broker.test_models import PLAIN, change, columns, history
from tests.fault.test_share import PARTITIONS, ROWS, feed, rounds_received
from tests.support.delayed_labels import Outputs, kill_and_replace
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import create_topic, read_all, unique
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

SHARERS = "--learner", "dfop:mu=0.01", "--learner", "majority_class"
CHANGES = ("add", "pa1"), ("promote", "pa1"), ("drop", "dfop:mu=0.01")


@pytest.mark.parametrize("step", slow_but([Step.OFFSETS_SENT], Step), ids=lambda step: step.value)
def test_partitions_with_shared_models_apply_plans_at_their_own_offsets(kafka: str, step: Step) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    near = "--input", topic, "--group", group, "--bootstrap", kafka
    place = (*near, *SHARERS, "--share-models", "average:rows=20")
    work = "worker", *place, "--commit-interval", "0.05", "--snapshot-rows", "100", "--client"
    fed = feed(kafka, topic)
    next(fed)
    with Driftway(*work, PYTHON, "--stop-at-end") as worker:
        assert worker.wait(60) == 0, worker.summary()
    for number, words in enumerate(CHANGES):
        at = (f"{p}:{100 + 120 * number + 7 * p}" for p in range(PARTITIONS))
        done = driftway("models", *words, *near, *(word for one in at for word in ("--at", one)))
        assert done.code == 0, done
    kill_and_replace(step, work, (NATIVE, PYTHON), fed, Outputs(kafka, f"{topic}.{group}"), 24)
    shares = [json.loads(one.value or b"") for one in read_all(kafka, f"{topic}.{group}.shares")]
    assert len({one["model_digest"] for one in shares}) > 2
    assert min(rounds_received(kafka, f"{topic}.{group}").values()) > 0
    audited = driftway("audit", *place, "--json")
    assert audited.code == 0, audited
    partitions = json.loads(audited.stdout)["partitions"]
    assert [one["predictions"] for one in partitions] == [ROWS] * PARTITIONS
    assert not any(one["unchecked"] for one in partitions), partitions
    explained = driftway("explain", *near, "--partition", "1", "--offset", "555", "--json")
    assert json.loads(explained.stdout)["emitted"]["verdict"] == "same", explained


@pytest.mark.parametrize("frozen", slow_but([False], [False, True]), ids=["warm", "frozen"])
@pytest.mark.slow
def test_a_model_from_a_file_is_demoted_and_promoted_again(kafka: str, tmp_path: Path, frozen: bool) -> None:
    scenario, file = FaultScenario(kafka, partitions=1, rows=900), tmp_path / "model.driftway"
    begun = Model(ModelSettings((Spec.parse(LEARNER),)), 0)
    begun.advance(Records(0, *columns(scenario.events[0][:300], 0)))
    model_file.save(file, model_file.pack(begun, begun.save(), 300))
    warm = "frozen:" + LEARNER if frozen else "warm:" + LEARNER
    near = scenario.options
    options = (
        *near, *PLAIN, "--warm-start", str(file), *(("--frozen",) if frozen else ()), "--learner", LEARNER,
    )  # fmt: skip
    changes = [("promote", LEARNER, 150), ("drop", warm, 300), ("rollback", "1", 450)]
    work = "worker", *options, "--commit-interval", "0.05", "--stop-at-end"
    scenario.fill(0, 100)
    assert driftway(*work).code == 0
    for verb, name, at in changes:
        words = (verb, "--to", name) if verb == "rollback" else (verb, name)
        change(scenario, *words, at=[at])
    for start in range(100, 900, 200):
        scenario.fill(start, start + 200)
        assert driftway(*work).code == 0
    _, *plans = history(scenario)
    assert [plan["adopted_at"] for plan in plans] == [{"0": at} for *_, at in changes]
    settings = ModelSettings(
        (Spec.parse(LEARNER),) * 2, warm=model_file.load(file).warm_start(frozen), accuracy_every=50
    )
    model, done, scores = Model(settings, 0, scenario.group), 0, list[bytes]()
    for end, plan in [*((at, plan) for (*_, at), plan in zip(changes, plans, strict=True)), (900, None)]:
        scores += model.advance(Records(0, *columns(scenario.events[0][done:end], done))).predictions.to_list()
        done, model = end, model if plan is None else model.followed_by(ModelPlan.parse(json.dumps(plan).encode()))
    found = [one.value for one in read_all(kafka, f"{scenario.prefix}.predictions")]
    assert found == scores
    points = [json.loads(one.value or b"") for one in read_all(kafka, f"{scenario.prefix}.accuracy")]
    assert {(one["learner"], one.get("plan", 1)) for one in points} == {
        (warm, 1), (LEARNER, 1), (warm, 2), (LEARNER, 2), (LEARNER, 3), (warm, 4), (LEARNER, 4),
    }  # fmt: skip
    audited = driftway("audit", *options)
    assert audited.code == 0, audited

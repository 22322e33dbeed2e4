"""Challengers' predictions with late labels, shared models, model files, relearned models, and lost commit records."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import EVERY_MODEL, LabelWait
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.events import Records
from tests.broker.test_emit_all import CHALLENGERS, MODELS, ROWS, has_topic, require, written
from tests.broker.test_log_decides import SECONDS, Forger
from tests.broker.test_models import EVERY, PLAIN, change, columns
from tests.broker.test_models_delayed_labels import LateScenario, untimed
from tests.broker.test_policies import learn
from tests.fault.test_share import PARTITIONS, feed
from tests.fault.test_share import ROWS as SHARED_ROWS
from tests.support.delayed_labels import Outputs, kill_and_replace
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import create_topic, unique
from tests.support.process import Driftway, driftway

QUICK = "--commit-interval", "0.05", "--snapshot-rows", "100", "--emit", "all", "--client"


@pytest.mark.slow
@pytest.mark.parametrize("label_topic", [False, True], ids=["in the input", "topic"])
def test_challenger_predictions_are_exact_with_late_labels_although_workers_die(kafka: str, label_topic: bool) -> None:
    scenario = LateScenario(kafka, label_topic)
    outputs, work = Outputs(kafka, f"{scenario.topic}.{scenario.group}"), ("worker", *scenario.options, *MODELS, *QUICK)
    kill_and_replace(Step.OFFSETS_SENT, work, (NATIVE, PYTHON), scenario.feed(), outputs, commits=9)
    end = 900 if label_topic else min(map(len, scenario.streams.values()))
    settings = ModelSettings(
        tuple(map(Spec.parse, (LEARNER, *CHALLENGERS))), wait=LabelWait(200), accuracy_every=50, emit=EVERY_MODEL
    )
    for partition in scenario.streams:
        model, found = Model(settings, partition, scenario.group), list[Any]()
        for part in scenario.taken(partition, end):
            found += [value for one in model.advance(part).challengers for value in one.predictions.to_list()]
        there = [one.value for one in outputs.records("challengers") if one.partition == partition]
        assert [untimed(value or b"") for value in there] == [untimed(value) for value in found] != []
    done = driftway("audit", *scenario.options, *MODELS)
    assert done.code == 0, done


@pytest.mark.slow
def test_challenger_predictions_are_exact_with_shared_models_although_workers_die(kafka: str) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    near = "--input", topic, "--group", group, "--bootstrap", kafka
    place = (*near, "--learner", "dfop:mu=0.01", "--learner", "pa1", "--share-models", "average:rows=20")
    kill_and_replace(
        Step.FLUSHED, ("worker", *place, *QUICK), (PYTHON, NATIVE), feed(kafka, topic),
        Outputs(kafka, f"{topic}.{group}"), 24,
    )  # fmt: skip
    done = driftway("audit", *place, "--json")
    assert done.code == 0, done
    accounts = json.loads(done.stdout)["partitions"]
    assert [one["challengers"] for one in accounts] == [SHARED_ROWS] * PARTITIONS
    assert not any(one["unchecked"] for one in accounts), accounts
    offset = ("--partition", "1", "--offset", "555", "--challenger", "pa1", "--json")
    explained = driftway("explain", *near, *offset)
    assert json.loads(explained.stdout)["emitted"]["verdict"] == "same", explained


@pytest.mark.slow
def test_challenger_predictions_of_a_relearned_model_and_of_a_demoted_one_from_a_file(
    kafka: str, tmp_path: Path
) -> None:
    scenario, file = FaultScenario(kafka, partitions=1, rows=ROWS), tmp_path / "model.driftway"
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*PLAIN, "--emit", "all")) as worker:
        scenario.fill(0, 400)
        auditor.await_all(400)
        change(scenario, "add", "arow", "--relearned")
        worker.await_text("plan adopted")
        scenario.fill(400, ROWS)
        auditor.await_all(ROWS)
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    settings = ModelSettings((Spec.parse("arow"),), accuracy_every=EVERY)
    scores = [
        json.loads(one or b"")["score"]
        for one in Model(settings, 0).advance(Records(0, *columns(scenario.events[0], 0))).predictions
    ]
    found = [json.loads(one or b"") for one in written(scenario, 0)]
    first = found[0]["offset"]
    assert 400 <= first < ROWS
    assert [one["score"] for one in found] == scores[first:]
    done = driftway("audit", *scenario.options, *PLAIN,
                    "--learner", LEARNER, "--json")  # fmt: skip
    assert done.code == 0, done
    begun = Model(replace(settings, specs=(Spec.parse(LEARNER),)), 0)
    begun.advance(Records(0, *columns(scenario.events[0][:300], 0)))
    model_file.save(file, model_file.pack(begun, begun.save(), 300))
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    options = (*PLAIN, "--warm-start", str(file), "--learner", "no_change")
    learn(scenario, 0, 300, *options, "--emit", "all")
    change(scenario, "promote", "no_change", at=[450])
    learn(scenario, 300, ROWS, *options, "--emit", "all")
    names = Counter(json.loads(one or b"")["learner"] for one in written(scenario, 0))
    assert names == {LEARNER: ROWS, "no_change": 450, f"warm:{LEARNER}": ROWS - 450}
    place = scenario.options
    done = driftway("audit", *place, "--learner", LEARNER, *options, "--json")
    assert done.code == 0, done
    assert json.loads(done.stdout)["partitions"][0]["challengers"] == 2 * ROWS


def everything_of(scenario: FaultScenario, first: int, last: int) -> Any:
    """The outputs of a worker with `--emit all` for rows `first` to `last`."""
    specs = tuple(map(Spec.parse, (LEARNER, *CHALLENGERS)))
    model = Model(ModelSettings(specs, accuracy_every=EVERY, emit=EVERY_MODEL), 0, scenario.group)
    events = scenario.events[0]
    model.advance(Records(0, *columns(events[:first], 0)), emit=False)
    return model.advance(Records(0, *columns(events[first:last], first)))


@pytest.mark.slow
@pytest.mark.parametrize("before", [(), ("--emit", "all")], ids=["first-with-them", "had-them"])
def test_challenger_predictions_without_a_commit_record_are_completed_and_audited(
    kafka: str, before: tuple[str, ...]
) -> None:
    """A worker with `--emit all` has died, and the log of snapshots has lost its last commits, or all of them."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 300, *PLAIN, *MODELS, *before, "--snapshot-rows", "1")  # so the last commit has outputs
    if not has_topic(scenario):
        scenario.create_output("challengers")
    scenario.fill(300, 500)
    first, forger = everything_of(scenario, 300, 350), Forger(scenario)
    forger.write_outputs(first)
    for one in first.challengers:
        forger.write(f"{scenario.prefix}.challengers", list(one.predictions)[:41], list(one.keys)[:41])
    forger.flush()
    forger.producer.commit_transaction(SECONDS)
    log = learn(scenario, 500, ROWS, *PLAIN, *MODELS)
    assert "has lost the commits from offset 300 to 350" in log
    require(scenario, [(0 if before else 300, 350, "json")])

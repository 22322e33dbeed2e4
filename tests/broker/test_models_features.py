"""The features of a group change while workers run: at fixed offsets, despite kills, and verified by the audit."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.state.outputs import Outputs
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.events import Records
from driftway.worker.wire.schema.schema import EventSchema
from tests.broker.test_models import EVERY, PLAIN, adoptions, change, columns, history, models
from tests.broker.test_models_refused import PAGE
from tests.broker.test_policies import learn
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, read_all
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but
from tests.unit.test_readme import typed

ROWS = 1200
FEATURES = "a", "b", "c"
OPTIONS = tuple(word for name in FEATURES for word in ("--feature", name))
CHANGES = (
    (("configure", "--add-feature", "d", "--drop-feature", "b"), (200, 250)),
    (("add", "arow"), (300, 300)),
    (("configure", "--add-feature", "b:missing=mean,indicator"), (500, 520)),
    (("promote", "arow"), (700, 700)),
    (("rollback", "--to", "1"), (900, 950)),
)  # fmt: skip


class Fields(FaultScenario):
    """Events with fields a to d, or, if they are `named`, with an object x of a to c."""

    def use_fields(self, named: bool = False) -> Fields:
        for values in self.events.values():
            for i, value in enumerate(values):
                event = json.loads(value)
                fields = dict(zip("abcd", event["x"], strict=True))
                own = {"x": {k: fields[k] for k in "abc"}} if named else fields
                values[i] = json.dumps({"id": event["id"], "y": event["y"], **own}).encode()
        return self


def undisturbed(scenario: FaultScenario, partition: int) -> dict[str, list[bytes]]:
    """Topic -> values of one run that applies the plans at the partition's offsets."""
    settings = ModelSettings((Spec.parse(LEARNER),), events=EventSchema.parse(FEATURES), accuracy_every=EVERY)
    model, done, outputs = Model(settings, partition, scenario.group), 0, list[Outputs]()
    for end, plan in [*adoptions(history(scenario), partition), (ROWS, None)]:
        while done < end:
            piece = scenario.events[partition][done : min(end, done + 77)]
            outputs.append(model.advance(Records(partition, *columns(piece, done))))
            done += len(piece)
        model = model if plan is None else model.followed_by(plan)
    return {
        "predictions": [value or b"" for one in outputs for value in one.predictions.to_list()],
        "accuracy": [value for one in outputs for _, value in one.points],
    }


def require_undisturbed(scenario: FaultScenario, *options: str) -> None:
    """Compare all outputs with those of one undisturbed run, and let the audit do so from the first offset."""
    for partition in range(scenario.partitions):
        for name, values in undisturbed(scenario, partition).items():
            records = read_all(scenario.bootstrap, f"{scenario.prefix}.{name}")
            assert [one.value for one in records if one.partition == partition] == values != [], (name, partition)
    require_audited(scenario, *options)


def group(scenario: FaultScenario) -> tuple[str, ...]:
    return scenario.options


def require_audited(scenario: FaultScenario, *options: str) -> None:
    done = driftway("audit", *group(scenario), *options)
    assert done.code == 0, done
    assert "Not checked" not in done.stdout


@pytest.mark.parametrize("step", slow_but([Step.COMMITTED], Step), ids=lambda step: step.value)
@pytest.mark.slow
def test_outputs_are_exact_if_a_worker_is_killed_while_it_applies_other_features(
    kafka: str, step: Step, tmp_path: Path
) -> None:
    scenario, fed = Fields(kafka, partitions=2, rows=ROWS).use_fields(), 100
    options = scenario.worker(*PLAIN, *OPTIONS)
    with scenario.auditor() as auditor:
        learn(scenario, 0, fed, *PLAIN, *OPTIONS)
        for words, at in CHANGES:
            change(scenario, *words, at=at)
        for death in (6, 12, 20):
            with CrashingDriftway(step, death, *options) as victim:
                fed = scenario.feed_until_ended(auditor, victim, fed)
        scenario.fill(fed, ROWS)
        # The options of the last worker name other features, which the plan overrides.
        other = scenario.worker(*PLAIN, "--feature", "a", "--feature", "d", "--stop-at-end")
        with Driftway(*other) as worker:
            assert worker.wait(60) == 0, worker.summary()
            assert "the options differ from the plan; the plan applies" in worker.stderr
        auditor.await_all(2 * ROWS)
    assert [tuple(plan["adopted_at"].values()) for plan in history(scenario)[1:]] == [at for _, at in CHANGES]
    require_undisturbed(scenario, "--learner", LEARNER, *PLAIN, *OPTIONS)
    require_past(scenario, tmp_path)


def require_past(scenario: FaultScenario, folder: Path) -> None:
    """Past states and explanations have the features of their plan; a replay of the history has the same bytes."""
    for offset, names in ((150, ["a", "b", "c"]), (400, ["a", "c", "d"]), (600, ["a", "c", "d", "b", "b missing"])):
        done = driftway("explain", *group(scenario), "--partition", "0", "--offset", str(offset), "--json")
        assert done.code == 0, done
        found = json.loads(done.stdout)
        assert sorted(one["name"] for one in found["features"]) == sorted(names)
        assert found["emitted"]["verdict"] == "same"
    plans, scores = folder / "plans.json", folder / "scores.jsonl"
    plans.write_text(models(scenario, "history", "--json").stdout)
    place = "--topic", scenario.topic, "--group", scenario.group, "--bootstrap", scenario.bootstrap
    done = driftway("evaluate", *place, "--plan", str(plans), "--scores", str(scores))
    assert done.code == 0, done
    written = read_all(scenario.bootstrap, f"{scenario.prefix}.predictions")
    both = [one.value for p in range(scenario.partitions) for one in written if one.partition == p]
    assert scores.read_bytes().splitlines() == both
    done = driftway("evaluate", *place, "--learner", "pa1")
    assert done.code != 0
    assert "were changed at offset" in done.stderr
    done = driftway("evaluate", *place, "--learner", "pa1", "--from", "950")
    assert done.code == 0, done


def test_a_model_that_cannot_continue_is_relearned_with_the_new_features(kafka: str) -> None:
    """Its predictions then equal those of a model with these features from the first row on."""
    scenario = Fields(kafka, partitions=1, rows=ROWS).use_fields()
    learner = "kernel_perceptron"
    with Driftway(*scenario.worker(*PLAIN, *OPTIONS)) as worker:
        scenario.fill(0, 300)
        worker.await_text("running")
        await_until(lambda: len(read_all(kafka, f"{scenario.prefix}.predictions")) == 300, 60, "300 rows are predicted")
        change(scenario, "add", learner)
        refused = models(scenario, "configure", "--add-feature", "d")
        assert refused.code == 2
        assert f"{learner} cannot go on with other features: say with --begin" in refused.stderr
        change(scenario, "configure", "--add-feature", "d", "--begin", "relearned")
        change(scenario, "promote", learner)
        await_until(lambda: worker.stderr.count("plan adopted") == 3, 60, "the plans are applied")
        scenario.fill(300, ROWS)
        await_until(
            lambda: len(read_all(kafka, f"{scenario.prefix}.predictions")) == ROWS, 60, "all rows are predicted"
        )
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    settings = ModelSettings((Spec.parse(learner),), events=EventSchema.parse("abcd"), accuracy_every=EVERY)
    whole = Model(settings, 0, scenario.group).advance(Records(0, *columns(scenario.events[0], 0)))
    at = history(scenario)[3]["adopted_at"]["0"]
    ours, theirs = (
        [plain(one or b"") for one in values]
        for values in (
            [one.value for one in read_all(kafka, f"{scenario.prefix}.predictions")][at:],
            whole.predictions.to_list()[at:],
        )
    )
    assert ours == theirs != []
    require_audited(scenario, "--learner", LEARNER, *PLAIN, *OPTIONS)


def plain(prediction: bytes) -> dict[str, Any]:
    """A prediction without its plan and its probability, whose calibrator is unchanged."""
    found = json.loads(prediction)
    return {key: found[key] for key in ("id", "offset", "learner", "prediction", "score")}


def test_features_can_be_chosen_from_an_object_x(kafka: str) -> None:
    scenario = Fields(kafka, partitions=2, rows=400).use_fields(named=True)
    learn(scenario, 0, 100, *PLAIN)
    change(scenario, "configure", "--drop-feature", "b", at=(200, 200))
    for values in scenario.events.values():
        for i in range(200, 400):
            event = json.loads(values[i])
            del event["x"]["b"]
            values[i] = json.dumps(event).encode()
    learn(scenario, 100, 300, *PLAIN)
    change(scenario, "rollback", at=(300, 300))
    for values in scenario.events.values():
        for i in range(300, 400):
            event = json.loads(values[i])
            event["x"]["b"] = 0.5
            values[i] = json.dumps(event).encode()
    learn(scenario, 300, 400, *PLAIN)
    assert not read_all(kafka, f"{scenario.prefix}.rejected")
    require_audited(scenario, "--learner", LEARNER, *PLAIN)


def test_the_commands_of_the_documentation_work_as_typed(kafka: str) -> None:
    scenario = Fields(kafka, partitions=1, rows=300).use_fields()
    renamed = {"TRADES": scenario.topic, "trades": scenario.group, "spread": "d", "volume": "b"}
    options = *PLAIN, "--feature", "a", "--feature", "b"
    lines = [shlex.split(line) for line in typed(PAGE) if "TRADES" in line]
    assert len(lines) == 2
    for i, (_, *words) in enumerate(lines):
        learn(scenario, 100 * i, 100 * (i + 1), *options)
        done = driftway(*(renamed.get(word, word) for word in words), "--bootstrap", kafka)
        assert done.code == 0, done
    learn(scenario, 200, 300, *options)
    assert [plan["features"] for plan in history(scenario)] == [["a", "b"], ["a", "d"], ["a", "b"]]
    require_audited(scenario)


def test_features_that_cannot_be_changed_are_refused_with_one_sentence(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=100)
    learn(scenario, 0, 100, *PLAIN)
    for words, message in (
        (("--drop-feature", "a"), "features in lists, without names"),
        (("--begin", "empty"), "give --detector"),
        (("--metric-window", "10", "--begin", "empty"), "the features stay as they are"),
    ):
        done = models(scenario, "configure", *words)
        assert done.code == 2
        assert message in done.stderr
    assert len(history(scenario)) == 1

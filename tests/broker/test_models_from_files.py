"""A challenger begins with the state of a model file, which workers read from the topic of plans."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path

import pytest

from driftway.learners.spec import Spec
from driftway.worker.admin.state_admin.from_file import from_file
from driftway.worker.kafka.client_config import NATIVE
from driftway.worker.settings import ModelSettings
from driftway.worker.state import model_file
from driftway.worker.state.model import Model
from driftway.worker.state.plans.file_state import FileState
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.events import Records
from tests.broker.test_models import PLAIN, change, columns, history, models
from tests.broker.test_models_monitoring import require_undisturbed, undisturbed
from tests.broker.test_models_restored import KEEPS_ALL
from tests.broker.test_policies import learn
from tests.broker.test_snapshot_damage import flipped, newest_chunks, replaced
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import create_topic, read_all, unique
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

ROWS = 800
LARGE = "projectron:budget=400"
"""Its state takes two chunks."""


def exported(scenario: FaultScenario, learner: str, path: Path, *more: str) -> str:
    """A model file of a learner that another group has trained on the first 100 rows of the scenario."""
    donor = copy(scenario)
    donor.group = unique("donor")
    place = "--input", scenario.topic, "--group", donor.group, "--bootstrap", scenario.bootstrap
    ended = driftway("worker", *place, "--learner", learner, "--learner", "no_change", "--stop-at-end", *more)
    assert ended.code == 0, ended
    done = driftway("snapshot", "export", "--out", str(path), *place, "--partition", "0", "--at", "100")
    assert done.code == 0, done
    return str(path)


def state_in(scenario: FaultScenario, path: str) -> FileState:
    """The state in a file, read without any broker."""
    group = Model(ModelSettings((Spec.parse(LEARNER),)), 0)
    group.advance(Records(0, *columns(scenario.events[0][:1], 0)))
    state = from_file(model_file.load(path), group).file
    assert state is not None
    return state


@pytest.mark.parametrize("step", slow_but([Step.SNAPSHOT_PRODUCED], Step), ids=lambda step: step.value)
def test_a_challenger_begins_from_a_file_that_no_worker_can_access(kafka: str, step: Step, tmp_path: Path) -> None:
    """The file is deleted before any worker applies the plan, and a worker is killed around each offset."""
    scenario, fed = FaultScenario(kafka, partitions=2, rows=ROWS), 100
    options = scenario.worker(*PLAIN, "--client", NATIVE)
    with scenario.auditor() as auditor:
        learn(scenario, 0, fed, *PLAIN)
        auditor.await_all(2 * fed)
        path = exported(scenario, LARGE, tmp_path / "large.driftway")
        state = state_in(scenario, path)
        assert state.chunks == 2
        change(scenario, "add", "--from-file", path, at=(200, 250))
        Path(path).unlink()
        change(scenario, "promote", LARGE, at=(400, 500))
        for death in (9, 12):
            with CrashingDriftway(step, death, *options) as victim:
                fed = scenario.feed_until_ended(auditor, victim, fed, 60)
        scenario.fill(fed, ROWS)
        with Driftway(*options, "--stop-at-end") as worker:
            assert worker.wait(60) == 0, worker.summary()
        auditor.await_all(2 * ROWS)
    assert [tuple(plan["adopted_at"].values()) for plan in history(scenario)[1:]] == [(200, 250), (400, 500)]
    assert history(scenario)[1]["models"][1] == {"learner": LARGE, "file": state.as_dict()}
    assert "(from file large.driftway)" in models(scenario, "show").stdout
    keys = [record.key for record in read_all(kafka, f"{scenario.prefix}.models")]
    assert keys == [*state.chunk_keys(), b"1", b"2", b"3"], "later plans do not write the state again"
    require_undisturbed(scenario, ROWS, state)


@pytest.mark.slow
def test_restores_and_past_states_before_and_after_a_challenger_from_a_file(kafka: str, tmp_path: Path) -> None:
    """The newest snapshot is damaged, so a restore passes the offset again; states before and after it are read."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    create_topic(kafka, f"{scenario.prefix}.snapshots", 1, **KEEPS_ALL)
    learn(scenario, 0, 100, *PLAIN)
    path = exported(scenario, "arow", tmp_path / "arow.driftway")
    state = state_in(scenario, path)
    learn(scenario, 100, 150, *PLAIN)
    change(scenario, "add", "--from-file", path, at=(200,))
    learn(scenario, 150, 300, *PLAIN, "--snapshot-rows", "1000000")
    replaced(scenario, {0: flipped(b"".join(newest_chunks(scenario)), -300)})
    learn(scenario, 300, 400, *PLAIN)
    place = *scenario.options, "--partition", "0"
    for offset, names in ((180, [LEARNER]), (200, [LEARNER, "arow"]), (230, [LEARNER, "arow"])):
        done = driftway("snapshot", "show", *place, "--at", str(offset), "--json")
        assert done.code == 0, done
        shown = json.loads(done.stdout)["learners"]
        assert [one["learner"] for one in shown] == names
    done = driftway("explain", *place, "--offset", "230", "--json")
    assert json.loads(done.stdout)["emitted"]["verdict"] == "same", done
    change(scenario, "promote", "arow", at=(450,))
    change(scenario, "drop", LEARNER, at=(500,))
    learn(scenario, 400, 600, *PLAIN)
    done = driftway("explain", *place, "--offset", "550", "--json")
    assert json.loads(done.stdout)["emitted"]["verdict"] == "same", done
    change(scenario, "rollback", "--to", "1", at=(650,))
    change(scenario, "add", "--from-file", path, at=(700,))
    learn(scenario, 600, ROWS, *PLAIN)
    assert [one.key for one in read_all(kafka, f"{scenario.prefix}.models")].count(next(iter(state.chunk_keys()))) == 1
    expected = undisturbed(scenario, 0, ROWS, state)
    for name in ("predictions", "accuracy"):
        assert [one.value for one in read_all(kafka, f"{scenario.prefix}.{name}")] == expected[name], name


def test_files_that_do_not_fit_are_refused_with_one_sentence(kafka: str, tmp_path: Path) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN)
    (text := tmp_path / "text").write_text("no model")
    refused: list[tuple[tuple[str, ...], str]] = [
        (("--from-file", str(tmp_path / "gone")), "No such file"),
        (("--from-file", str(text)), "is not a model file of Driftway"),
        (
            ("--from-file", exported(scenario, LEARNER, tmp_path / "same.driftway")),
            f"there is a model {LEARNER} already",
        ),
        (
            ("--from-file", exported(scenario, "arow", tmp_path / "raw.driftway", "--no-standardize")),
            "the group standardises the features",
        ),
        (
            ("--from-file", exported(scenario, "rls", tmp_path / "rls.driftway", "--task", "regression")),
            "has regression, the group classification",
        ),
        (("arow", "--from-file", str(text)), "give a LEARNER"),
        ((), "give a LEARNER"),
    ]
    for words, message in refused:
        done = models(scenario, "add", *words)
        assert done.code in (1, 2), done
        assert message in done.stderr, done
        assert done.stderr.count("\n") == 1, done
    assert len(history(scenario)) == 1

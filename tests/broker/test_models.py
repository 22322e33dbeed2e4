"""The models of a group change while workers run: at fixed offsets, despite kills, and verified by the audit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import ModelSettings
from driftway.worker.state.model import Model
from driftway.worker.state.plans.model_plan import ModelPlan
from driftway.worker.state.plans.plan_file import history_of
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.events import Records
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, read_all
from tests.support.process import Driftway, Finished, driftway
from tests.support.selection import slow_but

ROWS, EVERY = 1200, 50
CHALLENGER, CHANGED = "arow", "arow:r=2"
CHANGES = (
    ("add", CHALLENGER), ("promote", CHALLENGER), ("set", CHALLENGER, "r=2"), ("rollback",), ("drop", LEARNER),
)  # fmt: skip
ADOPTED_AT = [(200, 250), (400, 430), (600, 600), (800, 850), (1000, 1000)]
"""Offsets at which the two partitions apply each plan."""
PLAIN = "--accuracy-every", str(EVERY)


def models(scenario: FaultScenario, *arguments: str) -> Finished:
    """Run `driftway models`."""
    place = scenario.options
    return driftway("models", *arguments, *place)


def change(scenario: FaultScenario, *arguments: str, at: Sequence[int] = ()) -> None:
    """Run a command that must succeed; `at` are the offsets at which the partitions apply the plan."""
    places = (word for partition, offset in enumerate(at) for word in ("--at", f"{partition}:{offset}"))
    done = models(scenario, *arguments, *places)
    assert done.code == 0, done


def history(scenario: FaultScenario) -> list[dict[str, Any]]:
    done = models(scenario, "history", "--json")
    assert done.code == 0, done
    plans: list[dict[str, Any]] = json.loads(done.stdout)
    return plans


def audit(scenario: FaultScenario) -> Finished:
    place = scenario.options
    return driftway("audit", *place, "--learner", LEARNER, *PLAIN)


def columns(values: list[bytes], first: int) -> tuple[Any, ...]:
    """Columns of records without keys."""
    records = Records.of_values(ListColumn(values), first)
    return records.offsets, records.values, records.keys, [0] * len(values)


def adoptions(plans: Sequence[dict[str, Any]], partition: int) -> list[tuple[int, ModelPlan]]:
    """Where a partition applied plans, from the output of `driftway models history --json`."""
    return [(adoption.offset, adoption.plan) for adoption in history_of("the history", plans).adoptions(partition)]


def expected(scenario: FaultScenario, partition: int, rows: int) -> tuple[list[bytes], list[bytes]]:
    """Predictions and accuracy points of one undisturbed run, in batches of other sizes than any worker's."""
    model = Model(ModelSettings((Spec.parse(LEARNER),), accuracy_every=EVERY), partition, scenario.group)
    events = scenario.events[partition][:rows]
    predictions, points, done = list[bytes](), list[bytes](), 0
    for end, plan in [*adoptions(history(scenario), partition), (rows, None)]:
        while done < end:
            piece = events[done : min(end, done + 77)]
            outputs = model.advance(Records(partition, *columns(piece, done)))
            predictions += outputs.predictions.to_list()
            points += [value for _, value in outputs.points]
            done += len(piece)
        model = model if plan is None else model.followed_by(plan)
    return predictions, points


def require_expected(scenario: FaultScenario, rows: int = ROWS) -> None:
    """Compare all outputs with those of an undisturbed run."""
    for partition in range(scenario.partitions):
        predictions, points = expected(scenario, partition, rows)
        for name, values in (("predictions", predictions), ("accuracy", points)):
            found = [
                one.value
                for one in read_all(scenario.bootstrap, f"{scenario.prefix}.{name}")
                if one.partition == partition
            ]
            assert found == values, (name, partition)


def test_champion_and_challengers_change_at_the_planned_offsets(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*PLAIN, "--client", PYTHON)) as worker:
        scenario.fill(0, 100)
        auditor.await_all(200)
        for words, at in zip(CHANGES, ADOPTED_AT, strict=True):
            change(scenario, *words, at=at)
        await_until(lambda: worker.stderr.count("plan plan=") == 5, 30, "the worker has read all plans")
        scenario.fill(100, ROWS)
        auditor.await_all(2 * ROWS)
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    first, *plans = history(scenario)
    assert first["adopted_at"] == {}
    assert [tuple(plan["adopted_at"].values()) for plan in plans] == ADOPTED_AT
    assert [[model["learner"] for model in plan["models"]] for plan in plans] == [
        [LEARNER, CHALLENGER], [CHALLENGER, LEARNER], [CHANGED, LEARNER], [CHALLENGER, LEARNER], [CHALLENGER],
    ]  # fmt: skip
    require_expected(scenario)
    done = audit(scenario)
    assert done.code == 0, done


@pytest.mark.parametrize("step", slow_but([Step.COMMITTED], Step), ids=lambda step: step.value)
def test_outputs_are_exact_if_a_worker_is_killed_while_it_applies_plans(kafka: str, step: Step) -> None:
    """At its first commit, which applies the existing plan, and around an offset at which another is applied."""
    scenario, fed = FaultScenario(kafka, partitions=2, rows=ROWS), 100
    options = scenario.worker(*PLAIN, "--client", NATIVE)
    with scenario.auditor() as auditor:
        with Driftway(*options) as worker:
            scenario.fill(0, fed)
            auditor.await_all(2 * fed)
            worker.terminate()
            assert worker.wait(30) == 0, worker.summary()
        change(scenario, "add", CHALLENGER)
        with CrashingDriftway(step, 1, *options) as victim:
            assert victim.wait(60) == -9
        change(scenario, "promote", CHALLENGER, at=(500, 600))
        with CrashingDriftway(step, 12, *options) as victim:
            fed = scenario.feed_until_ended(auditor, victim, fed)
        scenario.fill(fed, ROWS)
        with Driftway(*options, "--stop-at-end") as worker:
            assert worker.wait(60) == 0, worker.summary()
        auditor.await_all(2 * ROWS)
    _, second, third = history(scenario)
    assert all(100 <= second["adopted_at"][partition] <= at for partition, at in third["adopted_at"].items()), second
    assert third["adopted_at"] == {"0": 500, "1": 600}
    require_expected(scenario)
    done = audit(scenario)
    assert done.code == 0, done

"""Challengers' predictions on their own topic: exactly once despite kills and lost records, and audited."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.admin.audit.diff import fields
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.kafka.topics import partition_counts
from driftway.worker.settings import ModelSettings
from driftway.worker.settings.option_values import CHAMPION_ONLY, EVERY_MODEL
from driftway.worker.state.changelog.record_keys import is_emission_key
from driftway.worker.state.model import Model
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.codec import JSON, PACKED
from driftway.worker.wire.events import Records
from tests.broker.test_models import EVERY, PLAIN, adoptions, change, columns, history
from tests.broker.test_policies import learn, learn_and_kill
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import admin, await_until, produce, read_all, truncate
from tests.support.process import Driftway, Finished, driftway
from tests.support.selection import slow_but

ROWS = 900
CHALLENGERS = "arow", "no_change"
MODELS = tuple(word for name in CHALLENGERS for word in ("--learner", name))
ALL = (*PLAIN, *MODELS, "--emit", "all")
Span = tuple[int, int, str]
"""Input offsets, and the format in which challengers' predictions are written for these rows."""


def expected(scenario: FaultScenario, partition: int, spans: list[Span], planned: bool = False) -> list[bytes]:
    """The challengers' predictions of one undisturbed run."""
    specs = [LEARNER] if planned else [LEARNER, *CHALLENGERS]
    settings = ModelSettings(tuple(map(Spec.parse, specs)), accuracy_every=EVERY)
    model, done, found = Model(settings, partition, scenario.group), 0, list[bytes]()
    plans = dict(adoptions(history(scenario), partition)) if planned else {}
    cuts = {end for first, end, _ in spans for end in (first, end)} | set(plans)
    for end in sorted(cuts):
        if end > done:
            form = next((form for first, last, form in spans if first <= done < last), None)
            emit = CHAMPION_ONLY if form is None else EVERY_MODEL
            model.settings = replace(model.settings, emit=emit, output_form=form or JSON)
            outputs = model.advance(Records(partition, *columns(scenario.events[partition][done:end], done)))
            found += [value for one in outputs.challengers for value in one.predictions.to_list()]
            done = end
        if end in plans:
            model = model.followed_by(plans[end])
    return found


def written(scenario: FaultScenario, partition: int) -> list[bytes | None]:
    found = read_all(scenario.bootstrap, f"{scenario.prefix}.challengers")
    return [one.value for one in found if one.partition == partition]


def audit(scenario: FaultScenario, *more: str) -> Finished:
    place = scenario.options
    return driftway("audit", *place, *PLAIN, "--learner", LEARNER, *more)


def require(scenario: FaultScenario, spans: list[Span], planned: bool = False) -> None:
    """Compare the challengers' predictions with those of an undisturbed run, and audit everything."""
    for partition in range(scenario.partitions):
        assert written(scenario, partition) == expected(scenario, partition, spans, planned) != [], partition
    done = audit(scenario, *(() if planned else MODELS), "--json")
    assert done.code == 0, done
    accounts = json.loads(done.stdout)["partitions"]
    assert [one["unchecked"] for one in accounts] == [[]] * scenario.partitions
    assert sum(one["challengers"] for one in accounts) == sum(
        len(written(scenario, p)) for p in range(scenario.partitions)
    )


def has_topic(scenario: FaultScenario) -> bool:
    client = admin(scenario.bootstrap)  # keep a reference: a collected client never answers
    return f"{scenario.prefix}.challengers" in partition_counts(client.list_topics(timeout=10))


CASES = [(step, client, form) for step in Step for client, form in ((NATIVE, PACKED), (PYTHON, JSON))]


@pytest.mark.parametrize("case", slow_but([(Step.FLUSHED, NATIVE, PACKED)], CASES), ids=str)
def test_challenger_predictions_are_written_once_although_workers_die(kafka: str, case: tuple[Step, str, str]) -> None:
    step, client, form = case
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    options = scenario.worker(*ALL, "--client", client, "--output-format", form)
    with scenario.auditor() as auditor:
        with CrashingDriftway(step, 6, *options) as victim:
            fed = scenario.feed_until_ended(auditor, victim, 0)
        scenario.fill(fed, ROWS)
        with Driftway(*options, "--stop-at-end") as worker:
            assert worker.wait(60) == 0, worker.summary()
    require(scenario, [(0, ROWS, form)])


@pytest.mark.slow
def test_the_option_emit_all_may_change_at_each_start(kafka: str) -> None:
    """The audit gets neither the option nor the format, and finds where both changed."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 200, *PLAIN, *MODELS)
    assert not has_topic(scenario)
    learn(scenario, 200, 350, *ALL)
    learn(scenario, 350, 500, *PLAIN, *MODELS, "--output-format", PACKED)
    learn(scenario, 500, 700, *ALL, "--output-format", PACKED)
    learn(scenario, 700, 700, *PLAIN, *MODELS)
    learn(scenario, 700, ROWS, *ALL)
    require(scenario, [(200, 350, JSON), (500, 700, PACKED), (700, ROWS, JSON)])


def test_a_change_of_the_option_keeps_the_snapshot_of_the_last_commit(kafka: str) -> None:
    """The commit that records the change may have no snapshot; its pointer is then that of the commit before."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 300, *ALL)
    learn_and_kill(scenario, 300, 310, *PLAIN, *MODELS)
    assert "damaged" not in learn(scenario, 310, ROWS, *ALL)
    require(scenario, [(0, 300, JSON), (310, ROWS, JSON)])


def test_plans_decide_which_models_are_challengers(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    changes = (
        (("add", "arow"), (200, 250)), (("promote", "arow"), (400, 430)), (("add", "no_change"), (500, 500)),
        (("drop", LEARNER), (700, 700)),
    )  # fmt: skip
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*PLAIN, "--emit", "all")) as worker:
        scenario.fill(0, 100)
        auditor.await_all(200)
        for words, at in changes:
            change(scenario, *words, at=at)
        await_until(lambda: worker.stderr.count("plan plan=") == len(changes), 30, "the worker has read all plans")
        scenario.fill(100, ROWS)
        auditor.await_all(2 * ROWS)
        worker.terminate()
        assert worker.wait(30) == 0, worker.summary()
    require(scenario, [(0, ROWS, JSON)], planned=True)
    names = [json.loads(value or b"")["learner"] for value in written(scenario, 0)]
    assert names == ["arow"] * 200 + [LEARNER] * 100 + [LEARNER, "no_change"] * 200 + ["no_change"] * 200


def forged(scenario: FaultScenario, change: str) -> str:
    """Write a record to the topic that no worker has written; return the message that the audit must print."""
    topic, values = f"{scenario.prefix}.challengers", written(scenario, 0)
    last = json.loads(values[-1] or b"")
    if change == "doubled":
        produce(scenario.bootstrap, topic, [values[-1]])
        return f"is a surplus challenger's prediction of {scenario.topic}/0@{ROWS - 1}"
    client = admin(scenario.bootstrap)
    client.delete_topics([topic])[topic].result(timeout=20)
    await_until(lambda: not has_topic(scenario), 30, "the topic is gone")
    if change == "no topic":
        return f"{scenario.topic}/0@0 has predictions of challengers: expected a topic of them, found none"
    scenario.create_output("challengers")
    if change == "missing":
        produce(scenario.bootstrap, topic, [*values[:100], *values[101:]])
        return f"{scenario.topic}/0@50 has no prediction of challenger arow"
    other = json.dumps(last | {"score": last["score"] + 1.0}, separators=(",", ":")).encode()
    produce(scenario.bootstrap, topic, [*values[:-1], other])
    return f"the prediction of challenger no_change of {scenario.topic}/0@{ROWS - 1} differs: expected score"


@pytest.mark.parametrize("change", slow_but(["missing"], ["missing", "doubled", "differs", "no topic"]))
def test_the_audit_reports_wrong_challenger_predictions(kafka: str, change: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, ROWS, *ALL)
    said = forged(scenario, change)
    done = audit(scenario, *MODELS)
    assert done.code == 1, done
    assert said in done.stderr, done


def test_an_audit_says_which_predictions_of_challengers_it_cannot_check(kafka: str) -> None:
    """The first records of the snapshot topic are gone, and so is the one of where --emit all began."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS, configs={"snapshots": {"cleanup_policy": "delete"}})
    scenario.create_output("snapshots")
    learn(scenario, 0, 300, *ALL)
    chunks = f"{scenario.prefix}.snapshots"
    (began,) = (one.offset for one in read_all(kafka, chunks) if is_emission_key(one.key or b"", 0))
    truncate(kafka, chunks, 1, began + 1)
    learn(scenario, 300, 500, *ALL)
    done = audit(scenario, *MODELS, "--json")
    assert done.code == 0, done
    (account,) = json.loads(done.stdout)["partitions"]
    assert (account["challengers"], account["predictions"]) == (0, 500)
    (sentence,) = account["unchecked"]
    assert "1,000 predictions of challengers before offset 500 cannot be checked" in sentence
    learn(scenario, 500, 600, *PLAIN, *MODELS)
    done = audit(scenario, *MODELS)
    assert done.code == 0, done
    assert "1,000 predictions of challengers before offset 500 cannot be checked" in done.stdout
    produce(
        kafka,
        f"{scenario.prefix}.challengers",
        [(written(scenario, 0)[0] or b"").replace(b'"offset":0,', b'"offset":550,')],
    )
    assert "surplus challenger's prediction" in audit(scenario, *MODELS).stderr


@pytest.mark.parametrize("later", slow_but([("--emit", "champion")], [("--emit", "champion"), ("--emit", "all")]))
def test_lost_challenger_predictions_are_written_again(kafka: str, later: tuple[str, ...]) -> None:
    """Also by a worker that writes only the champion's predictions: its predecessor should have written them."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 300, *PLAIN, *MODELS)
    learn(scenario, 300, 600, *ALL, "--commit-interval", "60")
    values = written(scenario, 0)
    client, topic = admin(kafka), f"{scenario.prefix}.challengers"  # a collected client never answers
    client.delete_topics([topic])[topic].result(timeout=20)
    await_until(lambda: not has_topic(scenario), 30, "the topic is gone")
    scenario.create_output("challengers")
    produce(kafka, topic, values[:7])
    assert "writing the missing outputs again" in learn(scenario, 600, ROWS, *PLAIN, *MODELS, *later)
    require(scenario, [(300, ROWS if "all" in later else 600, JSON)])


@pytest.mark.parametrize("form", slow_but([PACKED], [JSON, PACKED]))
def test_explain_compares_a_challengers_prediction_with_the_written_one(kafka: str, form: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 300, *ALL, "--output-format", form)
    place = *scenario.options, "--partition", "0"
    for name in CHALLENGERS:
        done = driftway("explain", *place, "--offset", "250", "--challenger", name, "--json")
        assert done.code == 0, done
        found: dict[str, Any] = json.loads(done.stdout)
        records = (fields(value or b"") for value in written(scenario, 0))
        (mine,) = (one for one in records if (one["offset"], one["learner"]) == (250, name))
        scores = mine["scores"] if form == PACKED else [mine["score"]]
        emitted = {"verdict": "same", "scores": scores, "probability": mine["probability"]}
        assert (found["learner"], found["emitted"]) == (name, emitted)
    done = driftway("explain", *place, "--offset", "250", "--challenger", "dfop")
    assert done.code == 2, done
    assert "plan 1 has no challenger dfop at offset 250: its challengers are arow, no_change" in done.stderr, done


@pytest.mark.parametrize("client", slow_but([NATIVE], [NATIVE, PYTHON]))
@pytest.mark.slow
def test_challenger_predictions_are_written_with_at_least_once_too(kafka: str, client: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    weak = "--guarantee", "at-least-once", "--client", client
    learn(scenario, 0, 300, *ALL, *weak)
    learn(scenario, 300, 500, *PLAIN, *MODELS, *weak)
    learn(scenario, 500, ROWS, *ALL, *weak)
    require(scenario, [(0, 300, JSON), (500, ROWS, JSON)])

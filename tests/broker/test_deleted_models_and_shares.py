"""Somebody deletes the topic of plans or of shares: an audit says what it cannot check, and checks the rest."""

from __future__ import annotations

import json

import pytest

from tests.broker.test_changed_topics import delete
from tests.broker.test_models import change
from tests.broker.test_policies import commit, learn
from tests.fault.test_share import PARTITIONS, feed
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import create_topic, read_all, unique
from tests.support.process import driftway

BOTH = "--learner", "arow"


def promoted(kafka: str) -> FaultScenario:
    """A group at row 400 whose challenger was promoted at 200."""
    scenario = FaultScenario(kafka, partitions=1, rows=700)
    learn(scenario, 0, 100, *BOTH)
    change(scenario, "promote", "arow", at=[200])
    learn(scenario, 100, 400, *BOTH)
    return scenario


@pytest.mark.slow
def test_an_audit_without_the_topic_of_plans_begins_where_the_models_are_known(kafka: str) -> None:
    scenario = promoted(kafka)
    delete(kafka, f"{scenario.prefix}.models")
    learn(scenario, 400, 600, *BOTH)
    audited = driftway("audit", *scenario.options, "--json")
    assert audited.code == 0, audited
    (partition,) = json.loads(audited.stdout)["partitions"]
    assert partition["begin"] >= 200
    assert partition["predictions"] == 600 - partition["begin"] > 0
    assert "since the models before plan 2 are not known" in partition["unchecked"][0]
    assert f"{scenario.prefix}.models no longer has plan 1" in audited.stderr
    whole = driftway("audit", *scenario.options, "--learner", LEARNER, *BOTH, "--json")
    assert whole.code == 0, whole
    assert json.loads(whole.stdout)["partitions"][0]["predictions"] == 600


@pytest.mark.slow
def test_learners_emptied_by_reset_are_those_of_the_plan_from_the_first_row_on(kafka: str) -> None:
    """Before, the champion of the options predicted the first batch."""
    scenario = promoted(kafka)
    for policy in ("reset", "replay"):
        scenario.fill(*((400, 500) if policy == "reset" else (500, 600)))
        commit(scenario, 300)
        ended = driftway(*scenario.worker("--stop-at-end", *BOTH, "--on-restore-failure", policy))
        assert ended.code == 0, ended
    written = [json.loads(one.value or b"") for one in read_all(kafka, f"{scenario.prefix}.predictions")]
    assert [one["offset"] for one in written] == [*range(400), *range(300, 500), *range(300, 600)]
    assert {one.get("plan", 1) for one in written[:200]} == {1}
    assert {one.get("plan", 1) for one in written[200:]} == {2}
    audited = driftway("audit", *scenario.options, "--json")
    assert audited.code == 0, audited
    assert json.loads(audited.stdout)["partitions"][0]["predictions"] == 300


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["replay", "reset"])
def test_deleted_shares_are_told_and_a_policy_goes_on_without_them(kafka: str, policy: str) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    place = "--input", topic, "--group", group, "--bootstrap", kafka
    work = "worker", *place, "--learner", "pa1", "--share-models", "average:rows=20", "--stop-at-end"
    fed = feed(kafka, topic)
    for _ in range(2):
        next(fed)
        assert driftway(*work).code == 0
    shares = f"{topic}.{group}.shares"
    delete(kafka, shares)
    audited = driftway("audit", *place)
    assert audited.code == 2, audited
    assert f"no topic {shares} (it was deleted: the next start of a worker creates it again)" in audited.stderr
    create_topic(kafka, shares, PARTITIONS, cleanup_policy="compact")
    audited = driftway("audit", *place)
    assert audited.code == 1, audited
    assert f"{topic}/0: offsets before 100 cannot be checked; the snapshot at" in audited.stderr
    next(fed)
    again = driftway(*work, "--on-restore-failure", policy)
    assert again.code == 0, again
    audited = driftway("audit", *place)
    assert audited.code == 0, audited

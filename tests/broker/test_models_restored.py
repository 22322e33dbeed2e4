"""A group whose models were changed is restored, moved, inspected and audited like any other."""

from __future__ import annotations

import json

import pytest

from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.settings import AT_LEAST_ONCE, EXACTLY_ONCE, FAIL, REPLAY
from driftway.worker.wire.codec import PACKED
from tests.broker.test_compacted_input import configure
from tests.broker.test_models import (
    ADOPTED_AT,
    CHALLENGER,
    CHANGES,
    PLAIN,
    ROWS,
    audit,
    change,
    expected,
    history,
    require_expected,
)
from tests.broker.test_models_relearned import damage
from tests.broker.test_policies import commit, delete_before, last_commit, learn, refused
from tests.broker.test_snapshot_damage import flipped, newest_chunks, replaced
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, create_topic, produce, read_all
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

KEEPS_ALL = {"cleanup_policy": "compact,delete", "max_message_bytes": "10485760"}
"""Settings of a snapshot topic that keeps older snapshots while a test runs."""


def new_scenario(kafka: str, *more: str) -> FaultScenario:
    """A group at row 300 that has added a challenger at 200."""
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    create_topic(kafka, f"{scenario.prefix}.snapshots", 1, **KEEPS_ALL)
    learn(scenario, 0, 100, *PLAIN, *more)
    change(scenario, "add", CHALLENGER, at=[200])
    learn(scenario, 100, 300, *PLAIN, *more)
    return scenario


def require_audited(scenario: FaultScenario, rows: int) -> None:
    require_expected(scenario, rows)
    done = audit(scenario)
    assert done.code == 0, done


@pytest.mark.slow
def test_a_restore_from_an_older_snapshot_relearns_across_a_change_of_models(kafka: str) -> None:
    """The newest snapshot is damaged, and the next older one has another plan."""
    scenario = new_scenario(kafka)
    change(scenario, "promote", CHALLENGER, at=[400])
    learn(scenario, 300, 500, *PLAIN, "--snapshot-rows", "1000000")
    damaged = flipped(b"".join(newest_chunks(scenario)), -300)
    replaced(scenario, {0: damaged})
    learn(scenario, 500, 600, *PLAIN)
    require_expected(scenario, 600)


def with_another_champion(kafka: str, *more: str) -> FaultScenario:
    """A group at row 500 whose challenger was promoted at 400, with the newest snapshot there."""
    scenario = new_scenario(kafka, *more)
    change(scenario, "promote", CHALLENGER, at=[400])
    with Driftway(
        *scenario.worker(*PLAIN, "--snapshot-rows", "1000000", "--snapshot-interval", "1000", *more)
    ) as victim:
        scenario.fill(300, 400)
        victim.await_text("plan adopted partition=0 plan=3")
        scenario.fill(400, 500)
        await_until(lambda: last_commit(scenario)[0] == 500, 30, "all committed")
        victim.kill()
    return scenario


@pytest.mark.parametrize("guarantee", slow_but([AT_LEAST_ONCE], [AT_LEAST_ONCE, EXACTLY_ONCE]))
def test_a_plan_is_known_although_the_snapshot_of_its_offset_is_damaged(kafka: str, guarantee: str) -> None:
    more = "--guarantee", guarantee
    scenario = with_another_champion(kafka, *more)
    damage(scenario, 400)
    summary = learn(scenario, 500, 600, *PLAIN, *more)
    assert "relearning from the older snapshot at offset 300" in summary
    require_expected(scenario, 600)


@pytest.mark.parametrize("policy", slow_but([REPLAY], [FAIL, REPLAY]))
def test_a_relearned_log_changes_its_models_where_it_did_before(kafka: str, policy: str) -> None:
    scenario = with_another_champion(kafka)
    damage(scenario, 0)
    learn(scenario, 500, 600, *PLAIN, "--on-restore-failure", policy)
    require_expected(scenario, 600)


def test_an_offset_that_was_set_back_is_predicted_again_by_the_models_of_that_time(kafka: str) -> None:
    scenario = with_another_champion(kafka)
    damage(scenario, 0)
    commit(scenario, 350)
    learn(scenario, 500, 600, *PLAIN, "--on-restore-failure", REPLAY)
    predictions, _ = expected(scenario, 0, 600)
    found = [one.value for one in read_all(kafka, f"{scenario.prefix}.predictions")]
    assert found == predictions[:500] + predictions[350:]


@pytest.mark.parametrize("guarantee", slow_but([EXACTLY_ONCE], [EXACTLY_ONCE, AT_LEAST_ONCE]))
def test_the_log_is_not_relearned_if_it_is_not_known_where_models_changed(kafka: str, guarantee: str) -> None:
    """Other models would predict: those of the options. At-least-once has no commit record that names the plan."""
    more = "--guarantee", guarantee
    scenario = with_another_champion(kafka, *more)
    damage(scenario, 0)
    topic = f"{scenario.prefix}.snapshots"
    delete_before(scenario, topic, 1 + max(one.offset for one in read_all(kafka, topic) if one.key == b"0.plan.3"))
    sentence = refused(scenario, *PLAIN, *more)
    assert f"no older one can be used: {topic} no longer says where plan 3 was adopted" in sentence


def test_an_audit_begins_where_a_log_was_relearned_without_the_plans(kafka: str) -> None:
    """The models of plan 1 continue, and those of other plans wrote the earlier outputs."""
    scenario = with_another_champion(kafka)
    topic = f"{scenario.prefix}.snapshots"
    delete_before(scenario, topic, 1 + max(one.offset for one in read_all(kafka, topic)))
    learn(scenario, 500, 600, *PLAIN, "--on-restore-failure", REPLAY)
    learn(scenario, 600, 700, *PLAIN)
    done = audit(scenario)
    assert done.code == 0, done


@pytest.mark.slow
def test_partitions_that_move_apply_plans_once(kafka: str) -> None:
    """Two workers come and go, one with each client, while plans are written."""
    scenario, fed = FaultScenario(kafka, partitions=4, rows=ROWS), 100
    learn(scenario, 0, fed, *PLAIN)
    for words, at in zip(CHANGES, ADOPTED_AT, strict=True):
        change(scenario, *words, at=[at[0], at[1], *at])
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*PLAIN, "--client", NATIVE)) as first:
        for step in range(10):
            client = PYTHON if step % 2 else NATIVE
            with Driftway(*scenario.worker(*PLAIN, "--client", client)) as second:
                second.await_text("running")
                scenario.fill(fed, fed := fed + 110)
                await_until(lambda: auditor.seen >= 4 * fed, 60, "rows predicted")
                if step % 3 == 0:
                    second.kill()
                else:
                    second.terminate()
                second.wait(30)
        first.terminate()
        assert first.wait(30) == 0, first.summary()
    assert [tuple(plan["adopted_at"].values()) for plan in history(scenario)[1:]] == [(*at, *at) for at in ADOPTED_AT]
    require_audited(scenario, ROWS)


def test_an_idle_partition_commits_a_plan(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN)
    change(scenario, "add", CHALLENGER)
    learn(scenario, 100, 100, *PLAIN)
    change(scenario, "promote", CHALLENGER)
    with Driftway(*scenario.worker(*PLAIN)) as worker:
        await_until(lambda: worker.stderr.count("plan adopted") == 2, 30, "both partitions have applied it")
        worker.kill()
    assert [plan["adopted_at"] for plan in history(scenario)] == [{}, *[{"0": 100, "1": 100}] * 2]
    learn(scenario, 100, 200, *PLAIN)
    require_audited(scenario, 200)


OTHERS = ("--guarantee", AT_LEAST_ONCE), ("--output-format", PACKED)


@pytest.mark.parametrize("more", slow_but(OTHERS[:1], OTHERS))
@pytest.mark.slow
def test_models_change_with_other_guarantees_and_formats(kafka: str, more: tuple[str, ...]) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    learn(scenario, 0, 100, *PLAIN, *more)
    change(scenario, "add", CHALLENGER, at=[150])
    change(scenario, "promote", CHALLENGER, at=[250])
    learn(scenario, 100, 200, *PLAIN, *more)
    learn(scenario, 200, 300, *PLAIN, *more)
    assert [plan["adopted_at"] for plan in history(scenario)] == [{}, {"0": 150}, {"0": 250}]
    done = audit(scenario)
    assert done.code == 0, done


def test_past_states_and_explanations_have_the_models_of_their_plan(kafka: str) -> None:
    scenario = new_scenario(kafka)
    change(scenario, "promote", CHALLENGER, at=[350])
    change(scenario, "drop", LEARNER, at=[450])
    learn(scenario, 300, 500, *PLAIN)
    place = *scenario.options, "--partition", "0"
    champions = {150: [LEARNER], 300: [LEARNER, CHALLENGER], 400: [CHALLENGER, LEARNER], 480: [CHALLENGER]}
    for offset, names in champions.items():
        done = driftway("snapshot", "show", *place, "--at", str(offset), "--json")
        assert done.code == 0, done
        assert [one["learner"] for one in json.loads(done.stdout)["learners"]] == names
        done = driftway("explain", *place, "--offset", str(offset), "--json")
        assert done.code == 0, done
        why = json.loads(done.stdout)
        assert (why["learner"], why["emitted"]["verdict"]) == (names[0], "same"), why
    listed = driftway("snapshot", "list", *place[:-2], "--json")
    assert listed.code == 0, listed
    found = json.loads(listed.stdout)["partitions"][0]["found"]
    assert [one["adopted_at"] for one in found if one["kind"] == "plan"] == [200, 350, 450]


@pytest.mark.slow
def test_a_prediction_before_the_only_snapshot_is_explained_although_models_were_changed_since(kafka: str) -> None:
    """Compaction has removed the older snapshots; the topic of plans has the models with which the group began."""
    scenario = new_scenario(kafka)
    snapshots = f"{scenario.prefix}.snapshots"
    configure(scenario, snapshots, min_compaction_lag_ms="0", max_compaction_lag_ms="500")

    def only_one_is_left() -> bool:
        produce(kafka, snapshots, [b"new segment"], keys=[b"filler"])
        return sum(record.key == b"0.0" for record in read_all(kafka, snapshots)) == 1

    await_until(only_one_is_left, 120, "older snapshots are gone", poll=2.0)
    for offset in (90, 230):
        done = driftway("explain", *scenario.options, "--partition", "0", "--offset", str(offset), "--json")
        assert done.code == 0, done
        found = json.loads(done.stdout)
        assert found["rebuilt_from"] == f"the history's start and {offset} records"
        assert found["emitted"]["verdict"] == "same"

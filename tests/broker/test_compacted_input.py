"""A compacted input is reported at the start; a state that cannot be relearned from what is left is refused."""

from __future__ import annotations

import pytest

from driftway.worker.wire.codec import read_json
from tests.broker.test_audit import commit_by_hand, filled_scenario, finding, pointer_of, run_worker
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import admin, await_until, create_topic, produce, read_all
from tests.support.process import Driftway, Finished, driftway

CANNOT_RESTORE = 4
NEVER = ("--snapshot-rows", "1000000", "--snapshot-interval", "1000000")
COMPACTED = {
    "cleanup.policy": "compact", "segment.ms": "500", "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "0",
}  # fmt: skip


def configure(scenario: FaultScenario, topic: str, **more: str) -> None:
    """Set a topic's settings."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        for key, value in {**COMPACTED, **{key.replace("_", "."): value for key, value in more.items()}}.items()
    ]
    client = admin(scenario.bootstrap)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    for future in client.incremental_alter_configs([resource]).values():
        future.result(timeout=30)


def fill(scenario: FaultScenario, first: int, last: int) -> None:
    """Produce rows with five keys in turn."""
    keys = [b"k%d" % (row % 5) for row in range(first, last)]
    produce(scenario.bootstrap, scenario.topic, scenario.events[0][first:last], keys=keys)


def compact(scenario: FaultScenario, topic: str, filler: bytes) -> None:
    """Let the cleaner run until it has removed records; each new segment needs a record."""
    configure(scenario, topic, min_compaction_lag_ms="0", max_compaction_lag_ms="500")
    before = len(read_all(scenario.bootstrap, topic))

    def cleaned() -> bool:
        produce(scenario.bootstrap, topic, [filler], keys=[b"filler"])
        return len(read_all(scenario.bootstrap, topic)) < before // 2

    await_until(cleaned, 120, f"{topic} is compacted", poll=2.0)


def killed(scenario: FaultScenario, topic: str, *more: str) -> None:
    """Let a worker snapshot 10 rows, commit 200, and kill it."""
    configure(scenario, topic, min_compaction_lag_ms="600000")
    if topic == scenario.topic:
        fill(scenario, 0, 10)
    with Driftway(*scenario.worker(*NEVER, *more)) as worker:
        worker.await_text("running")
        await_until(lambda: predictions(scenario) >= 10, 60, "the first rows")
        fill(scenario, 10, 200)
        await_until(lambda: predictions(scenario) >= 200, 60, "all rows")
        worker.kill()


def predictions(scenario: FaultScenario) -> int:
    return len(read_all(scenario.bootstrap, f"{scenario.prefix}.predictions"))


def explain_last(scenario: FaultScenario, *command: str) -> Finished:
    return driftway(*command, *scenario.options)


def test_a_state_whose_rows_were_compacted_is_refused_with_the_reason_by_all_commands(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=400)
    killed(scenario, scenario.topic)
    assert explain_last(scenario, "audit", "--learner", LEARNER).code == 0
    assert explain_last(scenario, "snapshot", "show", "--partition", "0", "--at", "150").code == 0
    compact(scenario, scenario.topic, scenario.events[0][0])
    reason = f"topic {scenario.topic} is compacted, which removes older records of a key"
    refused = driftway(*scenario.worker("--stop-at-end"))
    assert refused.code == CANNOT_RESTORE, refused
    assert "the committed state stands for 200 records since offset 0, but only " in refused.stderr
    assert reason in refused.stderr
    assert f"compacted input topic={scenario.topic}" in refused.stderr
    audited = explain_last(scenario, "audit", "--learner", LEARNER)
    assert (audited.code, reason in audited.stderr) == (CANNOT_RESTORE, True), audited
    for command in (
        ("snapshot", "show", "--partition", "0", "--at", "150"),
        ("explain", "--partition", "0", "--offset", "199"),
    ):
        asked = explain_last(scenario, *command)
        assert (asked.code, reason in asked.stderr) == (CANNOT_RESTORE, True), asked
    assert predictions(scenario) == 200
    check = driftway("topics", "check", "--input", scenario.topic, "--partitions", "1", "--bootstrap", kafka)
    assert check.code == 1
    assert f"{scenario.topic} has cleanup.policy compact" in check.stderr
    # The suggested option relearns what is left, in a new history, and is needed only once.
    for more in (("--on-restore-failure", "replay"), ()):
        ended = driftway(*scenario.worker("--stop-at-end", *more))
        assert ended.code == 0, ended
    found = read_all(kafka, f"{scenario.prefix}.predictions")
    offsets = [read_json(record.value or b"")["offset"] for record in found]
    assert len(set(offsets)) == len(offsets)
    # The broker may compact records that were predicted before.
    assert {*range(200), *(record.offset for record in read_all(kafka, scenario.topic))} <= set(offsets)


def test_compacted_labels_are_detected_too(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=10)
    labels = create_topic(kafka, f"{scenario.topic}.labels")
    configure(scenario, labels, min_compaction_lag_ms="600000")
    options = ("--label-topic", labels, "--label-wait", "1000")
    produce(kafka, scenario.topic, [b'{"x":[1,2],"id":"e0"}'])
    with Driftway(*scenario.worker(*NEVER, *options)) as worker:
        worker.await_text("running")
        await_until(lambda: predictions(scenario) >= 1, 60, "the first row")
        produce(kafka, scenario.topic, [b'{"x":[%d,2],"id":"e%d"}' % (i % 7, i) for i in range(1, 60)])
        values = [b'{"id":"e%d","y":%d}' % (i, i % 2) for i in range(60)]
        produce(kafka, labels, values, keys=[b"k%d" % (i % 5) for i in range(60)])
        produce(kafka, scenario.topic, [b'{"x":[%d,2],"id":"f%d"}' % (i % 7, i) for i in range(10)])
        await_until(lambda: predictions(scenario) >= 70, 60, "all rows")
        worker.kill()
    compact(scenario, labels, b'{"id":"none","y":0}')
    refused = driftway(*scenario.worker("--stop-at-end", *options))
    assert refused.code == CANNOT_RESTORE, refused
    assert f"topic {labels} is compacted" in refused.stderr


@pytest.mark.slow
def test_under_load_with_kills_a_restore_is_refused_or_exact(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=4000)
    configure(scenario, scenario.topic, min_compaction_lag_ms="4000", max_compaction_lag_ms="5000")
    fed, refusals = 0, 0
    with scenario.auditor() as auditor:
        for _ in range(8):
            with Driftway(*scenario.worker("--snapshot-interval", "1000000")) as worker:
                worker.await_condition(lambda w=worker: "running" in w.stderr or "cannot restore" in w.stderr, "it", 90)
                if "cannot restore" in worker.stderr:
                    assert worker.wait() == CANNOT_RESTORE
                    refusals += 1
                    break
                for _ in range(5):
                    fill(scenario, fed, fed + 100)
                    fed += 100
                    await_until(lambda fed=fed: auditor.seen >= fed, 60, f"{fed} rows predicted")
                worker.kill()
            compact_once(scenario)
    assert not auditor.complaints
    wrong = [place for place, score in auditor.scores.items() if score != scenario.expected[place]]
    assert wrong == []
    assert fed == 4000 or refusals


def compact_once(scenario: FaultScenario) -> None:
    """Give the cleaner time: it looks for work every 15 s."""
    before = len(read_all(scenario.bootstrap, scenario.topic))
    await_until(lambda: len(read_all(scenario.bootstrap, scenario.topic)) < before, 60, "compacted again", poll=1.0)


def test_the_audit_names_compaction_as_the_reason_of_missing_outputs(kafka: str) -> None:
    scenario = filled_scenario(kafka, 600)
    scenario.fill(0, 400)
    run_worker(scenario)
    scenario.fill(400)
    commit_by_hand(scenario, 450, pointer_of(scenario)[1].text())
    found = finding(scenario)
    assert found.startswith("EVENTS/0@400 has no prediction: ")
    assert "compact" not in found
    configure(scenario, f"{scenario.prefix}.predictions", min_compaction_lag_ms="600000")
    assert finding(scenario) == (
        f"{found}; EVENTS.GROUP.predictions has cleanup.policy compact, and compaction removes older records of a key"
    )

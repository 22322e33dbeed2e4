"""A worker continues from topics, snapshots and a model file of an earlier version, with the same bits."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, TopicPartition

from driftway.worker.kafka.client_config import quiet
from tests.regenerate.upgrade_sample import CHALLENGERS, FOLDER, LEARNED, PARTITIONS, TOPICS, new_scenario
from tests.support import stored_topics
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import await_until, produce
from tests.support.process import Driftway, driftway

VERSIONS = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))
LARGEST_BYTES = 200_000


def test_stored_samples_are_small() -> None:
    assert VERSIONS
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < LARGEST_BYTES * len(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_worker_continues_from_the_topics_of_an_earlier_version(kafka: str, version: str) -> None:
    found = stored_topics.read(FOLDER / f"{version}.json.gz")
    stored_topics.remove(kafka, ["upgrade-events", *(f"upgrade-events.upgrade-group.{name}" for name in TOPICS)])
    scenario = new_scenario(kafka)  # its topics are replaced by those of the earlier version
    stored_topics.remove(kafka, [scenario.topic, *(f"{scenario.prefix}.{name}" for name in TOPICS)])
    known = stored_topics.restore_topic(kafka, scenario.topic, found["topics"][""], None)
    for name in TOPICS:
        more = {"cleanup_policy": "compact", "max_message_bytes": "10485760"} if name == "snapshots" else {}
        stored_topics.restore_topic(kafka, f"{scenario.prefix}.{name}", found["topics"][name], known, **more)
    commit(scenario, [(offset, text.replace(stored_topics.NO_ID, known)) for offset, text in found["committed"]])
    expected = {(partition, offset): float.fromhex(score) for partition, offset, score in found["scores"]}
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*CHALLENGERS)) as worker:
        worker.await_text("running")
        assert auditor.seen <= PARTITIONS * LEARNED
        for number, events in enumerate(found["later"]):
            produce(kafka, scenario.topic, [event.encode() for event in events], partition=number)
        await_until(lambda: auditor.seen >= len(expected), 60, "every row predicted")
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
        assert "writing the missing outputs again" not in worker.stderr
        restored = [line for line in worker.stderr.splitlines() if " restored" in line]
        assert len(restored) == PARTITIONS
        assert not any("note" in line for line in restored), restored  # the newest snapshot was used
    auditor.require(expected)
    options = [
        *scenario.options,
        "--learner",
        LEARNER,
        *CHALLENGERS,
    ]
    audited = driftway("audit", *options, *scenario.watched)
    assert audited.code == 0, audited


def commit(scenario: FaultScenario, places: list[tuple[int, str]]) -> None:
    """Commit offsets with their metadata, as the earlier version's group had them."""
    member = Consumer(quiet({"bootstrap.servers": scenario.bootstrap, "group.id": scenario.group}))
    offsets = [TopicPartition(scenario.topic, number, *place) for number, place in enumerate(places)]
    try:
        member.commit(offsets=offsets, asynchronous=False)
    finally:
        member.close()

"""`driftway check` finds what is wrong with a deployment, changes nothing, and names the commands that fix it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic

from driftway.worker.kafka.client_config import quiet
from tests.support import registered
from tests.support.granted_topics import NEEDED, PASSWORD, GrantedTopics, scram
from tests.support.kafka import TopicSpec, admin, await_until, create_topic, create_topics, produce, read_all, unique
from tests.support.kafka_commands import apply
from tests.support.process import Driftway, driftway
from tests.support.registry import Stub
from tests.support.secured_kafka import Secured, add_user, scram_kafka

FAULTS = {
    ("cluster", "group protocol", "error"): "session of 500 ms",
    ("topics", "label topic", "error"): "has 2 partitions: it needs 3",
    ("topics", "outputs", "error"): ".accuracy has 4 partitions",
    ("topics", "clean-up", "warning"): "cleanup.policy",  # two: the input's, and that of the snapshots
    ("topics", "message size", "error"): ".predictions takes batches of 100,000 bytes",
    ("topics", "replicas in sync", "error"): ".rejected has min.insync.replicas 2",
    ("access", "transactions", "error"): "its setting transaction.max.timeout.ms is lower",
    ("events", "sample", "error"): "100.0% of 180 events would be rejected (no-x 180)",
    ("retention", "input", "warning"): "keeps records for 1 h only",
    ("retention", "label topic", "warning"): "keeps labels for 30 min",
}
"""What is seeded: group, check and status -> words of the sentence."""


class CheckRun:
    """A run of ``driftway check --json``."""

    def __init__(self, *arguments: str, before: tuple[str, ...] = ()) -> None:
        done = driftway(*before, "check", "--json", *arguments, seconds=60)
        self.code = done.code
        assert "Traceback" not in done.stderr, done.stderr
        self.found: list[dict[str, Any]] = json.loads(done.stdout)["checks"]
        self.text = done.stdout

    def wrong(self, groups: tuple[str, ...] = ("cluster", "topics", "access", "events", "retention")) -> list[Any]:
        """The warnings and errors, without those about the kernels on this machine."""
        return [one for one in self.found if one["status"] in ("warning", "error") and one["group"] in groups]


def state_of(bootstrap: str, ours: tuple[str, ...], group: str) -> tuple[Any, ...]:
    """What a check must not change: topics whose names begin with `ours`, their records, and whether the group exists.

    Kafka's own topics are left out: the first question for a coordinator makes the broker create them.
    """
    client = admin(bootstrap)
    topics = client.list_topics(timeout=10).topics
    own = {name: len(read_all(bootstrap, name, committed=False)) for name in sorted(topics) if name.startswith(ours)}
    groups = {one.group_id for one in client.list_consumer_groups().result().valid}
    return own, [len(topics[name].partitions) for name in own], group in groups


def run_fix(one: dict[str, Any], options: list[str], folder: Path) -> None:
    """Run a finding's command; if it starts a worker with another option, add that to `options`."""
    words = shlex.split(one["command"])
    if words[1] == "--config":
        del words[1:3]
    if words[:2] == ["driftway", "worker"]:
        options += [word.replace("FIELD", "order") for word in words[-2:]]
    elif words[:3] == ["driftway", "schema", "infer"]:
        done = driftway(*words[1:])
        assert done.code == 0, done.stderr
        (folder / "events.toml").write_text(done.stdout, encoding="utf-8")
    else:
        apply(one["command"])


def test_misconfigurations_are_found_and_fixed_by_the_suggested_commands(
    kafka: str, topic: str, group: str, tmp_path: Path
) -> None:
    labels, outputs = unique("labels"), f"{topic}.{group}"
    create_topics(
        kafka,
        {
            topic: TopicSpec(3, config={"cleanup_policy": "compact,delete", "retention_ms": "3600000"}),
            labels: TopicSpec(2, config={"retention_ms": "1800000"}),
            f"{outputs}.predictions": TopicSpec(3, config={"max_message_bytes": "100000"}),
            f"{outputs}.rejected": TopicSpec(3, config={"min_insync_replicas": "2"}),
            f"{outputs}.accuracy": TopicSpec(4),
            f"{outputs}.snapshots": TopicSpec(3, config={"cleanup_policy": "delete"}),
        },
    )
    for partition in range(3):
        rows = range(partition, 180, 3)
        events: list[bytes | None] = [b'{"order": %d, "sum": %d.5, "n": %d}' % (i, i, i % 7) for i in rows]
        produce(kafka, topic, events, partition, keys=[b"%d" % i for i in rows])
    before = state_of(kafka, (topic, labels), group)
    options = [
        "--input", topic, "--group", group, "--bootstrap", kafka, "--label-topic", labels, "--label-wait", "12h/5000",
        "--learner", "no_change", "-X", "session.timeout.ms=500", "--commit-interval", "1000",
    ]  # fmt: skip
    seeded = CheckRun(*options)
    assert seeded.code == 1
    assert state_of(kafka, (topic, labels), group) == before
    found = {(one["group"], one["check"], one["status"]): one for one in seeded.wrong()}
    assert found.keys() == FAULTS.keys(), seeded.text
    assert {place: words for place, words in FAULTS.items() if words not in found[place]["sentence"]} == {}
    assert len(seeded.wrong()) == 11

    mended = seeded
    for _ in range(3):  # a fix may reveal another problem: with more input partitions, the label topic has too few
        for one in mended.wrong():
            run_fix(one, options, tmp_path)
        mended = CheckRun(*options, before=("--config", str(tmp_path / "events.toml")))
        if not mended.wrong():
            break
    assert mended.wrong() == []
    assert mended.code in (0, 6)  # kernels may not be compiled
    config = ("--config", str(tmp_path / "events.toml"))
    with Driftway(*config, "worker", *options) as worker:  # not to the end: a worker would wait for labels
        worker.await_condition(lambda: worker.stderr.count(" running partition=") >= 4, "four partitions running")
        worker.terminate()
        assert worker.wait() == 0

    shown = driftway(*config, "check", *options)  # for people
    assert "  ok       owner of the outputs: they belong to" in shown.stdout
    # How many depends on what the worker has committed of events that wait for labels.
    assert re.search(r"  ok       sample: read \d+ events of .* none would be rejected", shown.stdout), shown.stdout
    foreign = CheckRun(*options, "--group", unique("group"), "--output-prefix", outputs, before=config)
    assert [one["check"] for one in foreign.wrong()] == ["owner of the outputs"]
    other = driftway("check", "--input", f"{topic}x", "--group", group, "--bootstrap", kafka)
    assert other.code == 2
    assert f"error    input: there is no topic {topic}x" in other.stdout
    internal = CheckRun("--input", "__consumer_offsets", "--group", group, "--bootstrap", kafka).wrong()
    assert [(one["check"], one["command"]) for one in internal] == [("input", "")]  # nor is it to be changed


@pytest.mark.parametrize(
    ("label", "shift", "stamp", "check", "words"),
    [
        ({"order": 1}, 1, None, "partitions of labels", "40 of 40 labels are in another partition than their event"),
        ({"order": "1"}, 0, None, "ids of labels", '40 of 40 labels have the id of their event in another type'),
        ({"order": 1}, 0, -1, "label topic", "40 of 40 labels of"),
        ({"order": 1}, 0, 1_764_000_000, "times of labels", "40 of 40 labels have a timestamp before that of their"),
        ({"order": 1}, 0, None, "", ""),
    ],
)  # fmt: skip
def test_labels_that_would_not_match_their_events_are_reported(
    label: Any, shift: int, stamp: int | None, check: str, words: str, kafka: str, topic: str, group: str
) -> None:
    """As from producers with another partitioner, that write ids as text or times in s, and clients before 0.10."""
    labels, kind = unique("labels"), type(label["order"])
    create_topics(kafka, {topic: TopicSpec(2), labels: TopicSpec(2)})
    more = {} if stamp is None else {"timestamp": stamp}
    for p in (0, 1):
        produce(kafka, topic, [json.dumps({"order": 2 * n + p, "a": n % 5}).encode() for n in range(20)], p)
        rows = [json.dumps({"order": kind(2 * n + p), "y": n % 2}).encode() for n in range(20)]
        produce(kafka, labels, rows, (p + shift) % 2, **more)
        produce(kafka, topic, [b'{"order":-1,"a":0}'], p)  # so that the labels are used
    options = ("--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "no_change", "--feature", "a",
               "--id", "order", "--label-wait", "100", "--label-topic", labels)  # fmt: skip
    wrong = CheckRun(*options).wrong(("events",))
    assert [one["check"] for one in wrong] == [check] * bool(check)
    assert all(words in one["sentence"] and one["command"] for one in wrong)
    if stamp is None:
        return
    assert driftway("worker", *options, "--stop-at-end").code == 0
    reasons = {dict(one.headers)["reason"].decode() for one in read_all(kafka, f"{topic}.{group}.rejected")}
    unstamped = ": without a timestamp, by which a topic of labels is merged, it comes before all events"
    assert reasons == {"late label: no event of this id waits" + unstamped * (stamp < 0)}
    assert driftway("audit", *options).code == 0


def test_events_before_aborted_records_are_sampled(kafka: str, topic: str, group: str) -> None:
    """The log ends with nothing that can be read, but not without events."""
    create_topic(kafka, topic)
    produce(kafka, topic, [b'{"x":[1,2],"y":1}'] * 10)
    options = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "no_change"
    assert driftway("worker", *options, "--stop-at-end").code == 0
    producer = Producer(quiet({"bootstrap.servers": kafka, "transactional.id": unique("other")}))
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"?", partition=0)
    assert producer.flush(20) == 0
    producer.abort_transaction(20)
    (sample,) = [one for one in CheckRun(*options).found if one["check"] == "sample"]
    assert sample["sentence"] == f"read 10 events of {topic}, and none would be rejected"


def set_by_hand(client: Any, topic: str, group: str) -> None:
    request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 3)])
    client.alter_consumer_group_offsets([request])[group].result(timeout=30)


def lose_offset(client: Any, topic: str, group: str) -> None:
    client.delete_consumer_groups([group])[group].result(timeout=30)


def delete(client: Any, topic: str) -> None:
    client.delete_topics([topic])[topic].result(timeout=30)
    await_until(lambda: topic not in client.list_topics(timeout=10).topics, 30, "the topic is gone")


def lose_snapshots(client: Any, topic: str, group: str) -> None:
    delete(client, f"{topic}.{group}.snapshots")


def recreate_input(client: Any, topic: str, group: str) -> None:
    delete(client, topic)
    client.create_topics([NewTopic(topic, 1, 1)])[topic].result(timeout=30)


@pytest.mark.parametrize("harm", [set_by_hand, lose_offset, lose_snapshots, recreate_input])
def test_a_group_whose_state_is_not_at_its_offset_is_reported_as_a_worker_refuses_it(
    kafka: str, topic: str, group: str, harm: Callable[[Any, str, str], None]
) -> None:
    create_topic(kafka, topic)
    produce(kafka, topic, [b'{"x":[1,2],"y":1}'] * 10)
    options = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "no_change"
    assert driftway("worker", *options, "--stop-at-end").code == 0
    assert CheckRun(*options).wrong(("events",)) == []
    harm(admin(kafka), topic, group)
    checked = CheckRun(*options)
    (error,) = checked.wrong(("events",))
    assert (error["check"], error["status"], checked.code) == ("position", "error", 4)
    refused = driftway("worker", *options, "--stop-at-end")
    assert refused.code == 4, refused.stderr
    assert driftway(*shlex.split(error["command"])[1:], "--stop-at-end").code == 0


@pytest.fixture(scope="module")
def guarded() -> Iterator[Secured]:
    """A Kafka with SCRAM authentication."""
    with scram_kafka() as broker:
        yield broker


@pytest.mark.slow
@pytest.mark.parametrize("lacking", NEEDED, ids=lambda one: "-".join(one).replace("/", "_"))
def test_a_missing_permission_is_found_and_granted_by_the_suggested_command(guarded: Secured, lacking: Any) -> None:
    user = unique("user")
    add_user(guarded.plain, user, PASSWORD)
    granted = GrantedTopics(guarded, user, lacking)
    options = ("--input", granted.topic, "--group", granted.group, "--bootstrap", guarded.guarded, *scram(user))
    before = CheckRun(*options)
    (error,) = [one for one in before.wrong() if one["status"] == "error"]
    assert PASSWORD not in before.text
    if lacking[:2] == ("TOPIC", "INPUT"):  # a topic that may not be described seems not to exist
        assert error["sentence"] == f"there is no topic {granted.topic}, or this principal may not describe it"
        return
    assert f"User:{user}" in error["command"]
    apply(error["command"].replace(guarded.guarded, guarded.plain))
    after = CheckRun(*options)
    assert [one for one in after.wrong() if one["status"] == "error"] == []


@pytest.mark.slow
def test_a_registry_is_reported_only_if_it_does_not_answer(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 1)
    options = [
        "--input", topic, "--group", group, "--bootstrap", kafka, "--format", "avro", "--feature", "amount",
        "--label", "fraud", "--learner", "no_change",
    ]  # fmt: skip
    closed = CheckRun(*options, "--registry", "http://127.0.0.1:9", "--registry-property", "max.retries=0")
    (error,) = [one for one in closed.wrong() if one["status"] == "error"]
    assert (error["check"], closed.code) == ("schema registry", 5)
    with Stub() as registry:
        value, _ = registered.avro(registry.url)
        produce(kafka, topic, [value, b"no schema"])
        answered = CheckRun(*options, "--registry", registry.url)
        binary = *options, "--registry", registry.url, "--output-format", "avro"
        taken = CheckRun(*binary)
        assert {one["check"]: one["status"] for one in taken.found}["schema registry"] == "ok"
        assert registry.versions.keys() == {"avro-value"}, "nothing is registered"
        registry.versions[f"{topic}.{group}.predictions-value"] = [1]
        registry.refusal = 409, {}
        refused = CheckRun(*binary)
        (error,) = [one for one in refused.wrong() if one["status"] == "error"]
        assert (error["check"], refused.code) == ("schema registry", 2)
        assert "not compatible" in error["sentence"]
    checks = {one["check"]: one for one in answered.found}
    assert checks["schema registry"]["status"] == "ok"
    assert "registry 1" in checks["sample"]["sentence"]


def test_a_group_member_that_is_not_a_worker_is_reported(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic)
    member = Consumer(quiet({"bootstrap.servers": kafka, "group.id": group, "client.id": "reporting"}))
    try:
        member.subscribe([topic])
        await_until(lambda: member.poll(0.1) or member.assignment(), 60, "a member")
        found = CheckRun("--input", topic, "--group", group, "--bootstrap", kafka).wrong(("access",))
    finally:
        member.close()
    assert [(one["check"], one["status"]) for one in found] == [("group", "warning")]
    assert "client.id reporting" in found[0]["sentence"]

"""Unsuitable topics and settings are reported before the worker joins the group, and no input is altered."""

from __future__ import annotations

import pytest
from confluent_kafka.cimpl import NewPartitions

from tests.support.kafka import admin, create_topic, produce, read_all
from tests.support.process import Driftway, driftway
from tests.support.registry import Stub
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker

EVENTS = [b'{"x":[%d,1],"y":%d,"id":%d}' % (i, i % 2, i) for i in range(20)]
JOINED = "subscribed"


def partitions(kafka: str, topic: str) -> int:
    return len(admin(kafka).list_topics(topic, timeout=20).topics[topic].partitions)


@pytest.mark.parametrize("name", slow_but(["__consumer_offsets"], ["__consumer_offsets", "__transaction_state"]))
def test_an_internal_topic_of_kafka_is_refused_as_input(kafka: str, topic: str, group: str, name: str) -> None:
    done = driftway("worker", "--input", name, "--group", group, "--bootstrap", kafka, "--stop-at-end")
    assert (done.code, done.stderr.splitlines()[-1]) == (
        2,
        f"driftway: {name} cannot be the input: it is an internal topic of Kafka",
    )
    create_topic(kafka, topic, 1)
    labels = "--label-topic", name, "--label-wait", "10"
    done = driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka, *labels)
    assert (done.code, f"driftway: {name} cannot be the label topic" in done.stderr) == (2, True), done
    made = admin(kafka).list_topics(timeout=20).topics
    assert not [one for one in made if one.startswith((f"{name}.{group}", f"{topic}.{group}"))]


@pytest.mark.parametrize("kind", slow_but(["predictions"], ["predictions", "rejected", "snapshots", "alarms"]))
def test_an_output_of_the_group_is_refused_as_its_input(kafka: str, topic: str, group: str, kind: str) -> None:
    create_topic(kafka, topic, 1)
    output = create_topic(kafka, f"{topic}.{group}.{kind}", 1)
    done = driftway("worker", "--input", output, "--group", group, "--bootstrap", kafka, "--stop-at-end")
    assert (done.code, f"driftway: {output} is an output of group {group} on {topic}" in done.stderr) == (2, True), done
    assert not [one for one in admin(kafka).list_topics(timeout=20).topics if one.startswith(f"{output}.")]


@pytest.mark.parametrize("policy", slow_but(["delete"], ["delete", "compact,delete"]))
def test_a_snapshot_topic_that_is_not_compacted_is_reported(kafka: str, topic: str, group: str, policy: str) -> None:
    create_topic(kafka, topic, 1)
    snapshots = create_topic(kafka, f"{topic}.{group}.snapshots", 1, cleanup_policy=policy)
    produce(kafka, topic, EVENTS)
    done = driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end")
    assert done.code == 0, done
    message = f"{snapshots} has cleanup.policy {policy}, not compact"
    assert done.stderr.index(message) < done.stderr.index(JOINED)
    assert "--add-config cleanup.policy=compact" in done.stderr
    checked = driftway("topics", "check", "--input", topic, "--partitions", "1", "--group", group, "--bootstrap", kafka)
    assert (checked.code, message in checked.stderr) == (1, True), checked


def test_an_output_that_accepts_no_records_is_reported(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 1)
    name = create_topic(kafka, f"{topic}.{group}.predictions", 1, min_insync_replicas="2")
    produce(kafka, topic, EVENTS)
    done = driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end")
    assert done.code == 1, done
    assert f"driftway: {name} has min.insync.replicas 2, but only 1 replicas: nothing can be written to" in done.stderr
    assert JOINED not in done.stderr


def test_a_session_timeout_that_the_brokers_do_not_allow_ends_the_worker(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 1)
    session = "-X", "session.timeout.ms=2000000", "--learner", "pa1"
    done = driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka, *session, seconds=60)
    assert done.code == 1, done
    assert "driftway: the brokers do not allow the session timeout: give -X session.timeout.ms" in done.stderr


def test_a_session_that_ends_between_two_heartbeats_is_refused_before_anything_is_made(
    kafka: str, topic: str, group: str
) -> None:
    create_topic(kafka, topic, 1)
    place = "--input", topic, "--group", group, "--bootstrap", kafka, "-X", "session.timeout.ms=1000"
    sentence = (
        "a session of 1000 ms ends between two heartbeats, every 3000 ms: the worker would lose its partitions again "
        "and again; give -X session.timeout.ms=6000 or more"
    )
    done = driftway("worker", *place, seconds=60)
    assert (done.code, done.stderr.splitlines()[-1]) == (2, f"driftway: {sentence}"), done
    assert not [one for one in admin(kafka).list_topics(timeout=20).topics if one.startswith(f"{topic}.")]
    secret = "--registry-property", "basic.auth.user.info=me:hunter2"
    with Stub() as registry:
        options = "--registry", registry.url, *secret, "--output-format", "json-schema"
        checked = driftway("check", *place, *options, seconds=60)
    assert (checked.code, sentence in checked.stdout) == (2, True), checked
    assert "--registry-property 'basic.auth.user.info=***'" in checked.stdout, "of the command that mends it"
    assert "hunter2" not in checked.stdout + checked.stderr


REFUSING = {
    "cleanup_policy=compact": ("no record without a key can be written to it", "--add-config cleanup.policy=delete"),
    "max_message_bytes=200": ("takes batches of 200 bytes only", "--add-config max.message.bytes=10485760"),
}


@pytest.mark.parametrize("setting", slow_but(["cleanup_policy=compact"], REFUSING))
def test_an_output_whose_settings_refuse_records_is_reported(kafka: str, topic: str, group: str, setting: str) -> None:
    option, _, value = setting.partition("=")
    create_topic(kafka, topic, 1)
    name = create_topic(kafka, f"{topic}.{group}.predictions", 1, **{option: value})
    produce(kafka, topic, EVENTS)
    done = driftway("worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--stop-at-end")
    assert done.code == 1, done
    last = done.stderr.splitlines()[-1]
    assert all(part in last for part in (f"driftway: {topic}/0: {name}", *REFUSING[setting])), done


@pytest.mark.parametrize(
    ("n", "says"),
    [
        (0, "driftway topics create"),
        (1, "kafka-topics.sh --alter"),
        pytest.param(3, "another", marks=pytest.mark.slow),
    ],
)
def test_a_label_topic_with_another_number_of_partitions_is_reported(
    kafka: str, topic: str, group: str, n: int, says: str
) -> None:
    create_topic(kafka, topic, 2)
    labels = f"{topic}-labels"
    if n:
        create_topic(kafka, labels, n)
    done = driftway(
        "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--label-topic", labels, "--label-wait", "9"
    )
    assert (done.code, says in done.stderr.splitlines()[-1]) == (2, True), done
    assert JOINED not in done.stderr
    assert not n or partitions(kafka, labels) == n


def test_no_partitions_are_added_to_a_label_topic_when_the_input_grows(kafka: str, topic: str, group: str) -> None:
    create_topic(kafka, topic, 1)
    labels = create_topic(kafka, f"{topic}-labels", 1)
    produce(kafka, topic, EVENTS)
    options = (
        "--input", topic, "--group", group, "--bootstrap", kafka, "--label-topic", labels, "--label-wait", "99",
        "--unavailable-timeout", "8", "-X", "topic.metadata.refresh.interval.ms=1000",
    )  # fmt: skip
    client = admin(kafka)  # keep a reference: a collected client never answers
    with Driftway("worker", *options) as worker:
        worker.await_text("running partition=0")
        client.create_partitions([NewPartitions(topic, 2)])[topic].result(timeout=20)
        assert worker.wait(100) == 1, worker.summary()
        last = worker.stderr.splitlines()[-1]
    assert f"label topic {labels} has 1 partition, but none for partition 1 of {topic}" in last
    assert f"`kafka-topics.sh --alter --topic {labels} --partitions 2`" in last
    assert partitions(kafka, labels) == 1
    client.create_partitions([NewPartitions(labels, 2)])[labels].result(timeout=20)
    produce(kafka, topic, EVENTS, 1)
    done = driftway("worker", *options, "--stop-at-end")
    assert done.code == 0, done
    assert len(read_all(kafka, f"{topic}.{group}.predictions")) == 2 * len(EVENTS)

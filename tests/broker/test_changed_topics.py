"""Topics change while a worker runs: input or outputs are deleted, the label topic gets more partitions."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import NewPartitions

from driftway.worker.kafka.cluster import settings_of_topics
from driftway.worker.kafka.topics import LARGEST_RECORD
from driftway.worker.wire.codec import read_json
from tests.support.brokers import own_broker
from tests.support.kafka import END_SECONDS, admin, await_until, create_topic, produce, read_all
from tests.support.process import Driftway, driftway

CANNOT_RESTORE = 4
ROWS = 300


def events(first: int, last: int) -> list[bytes]:
    return [json.dumps({"id": i, "x": [i % 7, i % 3], "y": i % 2}).encode() for i in range(first, last)]


@pytest.mark.slow
def test_deleted_outputs_are_created_again_and_unread_label_partitions_are_reported(
    kafka: str, topic: str, group: str
) -> None:
    """The outputs of the last commit are written again, since a restore does not find them."""
    labels = f"{topic}-labels"
    deleted = [f"{topic}.{group}.{name}" for name in ("predictions", "accuracy")]
    create_topic(kafka, topic)
    create_topic(kafka, labels)
    produce(kafka, topic, events(0, ROWS))
    place = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "pa1"
    late = "--label-topic", labels, "--label-wait", "1s"
    with Driftway("worker", *place, *late) as worker:
        await_until(lambda: len(predicted(kafka, deleted[0])) == ROWS, 60, "the first rows predicted")
        delete(kafka, *deleted)
        produce(kafka, topic, events(ROWS, 2 * ROWS))
        worker.await_text("again: somebody had deleted it")
        wanted = list(range(ROWS, 2 * ROWS))
        await_until(lambda: predicted(kafka, deleted[0])[-ROWS:] == wanted, 60, "the rows after that predicted")
        offsets = predicted(kafka, deleted[0])
        assert offsets == sorted(set(offsets)), "no event is predicted twice"
        client = admin(kafka)  # keep a reference: a collected client never answers
        client.create_partitions([NewPartitions(labels, 2)])[labels].result(timeout=END_SECONDS)
        worker.await_text("labels not read")
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
        assert worker.stderr.count("labels not read") == 1


@pytest.mark.slow
def test_a_worker_whose_input_is_deleted_ends_with_the_reason(kafka: str, topic: str, group: str) -> None:
    """The cluster answers all the time: nothing is logged of an outage. `driftway watch` ends, too."""
    with (
        worker_that_has_predicted(kafka, topic, group) as worker,
        Driftway("watch", "--input", topic, "--bootstrap", kafka) as watch,
    ):
        watch.await_condition(lambda: "partition" in watch.stdout, "the first lines")
        delete(kafka, topic)
        for process in (worker, watch):
            assert process.wait() == 1, process.summary()
            assert f"topic {topic} no longer exists: it was deleted" in process.stderr
            assert "does not answer" not in process.stderr


@pytest.mark.slow
def test_a_worker_whose_snapshot_topic_is_deleted_ends_with_the_way_out(kafka: str, topic: str, group: str) -> None:
    """Only a start makes this topic, so to try again for `--unavailable-timeout` would be in vain."""
    with worker_that_has_predicted(kafka, topic, group) as worker:
        delete(kafka, f"{topic}.{group}.snapshots")
        produce(kafka, topic, events(ROWS, 2 * ROWS))
        assert worker.wait() == CANNOT_RESTORE, worker.summary()
        assert f"{topic}.{group}.snapshots, which holds the state, was deleted" in worker.stderr
        assert "--on-restore-failure replay" in worker.stderr
    place = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "pa1"
    ended = driftway("worker", *place, "--stop-at-end", "--on-restore-failure", "replay")
    assert ended.code == 0, ended
    assert predicted(kafka, f"{topic}.{group}.predictions") == list(range(2 * ROWS))
    assert driftway("audit", *place).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_a_worker_whose_label_topic_is_deleted_ends_with_the_reason(
    kafka: str, topic: str, group: str, busy: bool
) -> None:
    """Whether nothing is committed, or a commit waits for the topic."""
    labels = f"{topic}-labels"
    create_topic(kafka, labels, 2)
    late = "--label-topic", labels, "--label-wait", "1h"
    with worker_that_has_predicted(kafka, topic, group, *late) as worker:
        delete(kafka, labels)
        if busy:
            produce(kafka, topic, events(ROWS, 2 * ROWS))
        assert worker.wait(30) == 1, worker.summary()
        assert f"topic {labels} no longer exists: it was deleted" in worker.stderr


@pytest.mark.slow
def test_a_deleted_output_is_not_left_to_a_broker_that_creates_topics(
    pytestconfig: pytest.Config, topic: str, group: str
) -> None:
    """With auto.create.topics.enable, as by default, the broker would create it with settings of its own."""
    rejected = f"{topic}.{group}.rejected"
    with own_broker(pytestconfig, {"auto.create.topics.enable": "true"}) as broker:
        kafka = broker.bootstrap
        with worker_that_has_predicted(kafka, topic, group) as worker:
            delete(kafka, rejected)
            produce(kafka, topic, [b"?"])
            worker.await_text(f"created {rejected} again: somebody had deleted it")
            await_until(lambda: len(read_all(kafka, rejected)) == 1, 60, "the rejection written")
            assert settings_of_topics(kafka, {}, [rejected])[rejected]["max.message.bytes"] == str(LARGEST_RECORD)
            worker.terminate()
            assert worker.wait() == 0, worker.summary()


@contextlib.contextmanager
def worker_that_has_predicted(kafka: str, topic: str, group: str, *options: str) -> Iterator[Driftway]:
    """A worker that has predicted all events of a new topic with two partitions."""
    create_topic(kafka, topic, 2)
    produce(kafka, topic, events(0, ROWS))
    place = "--input", topic, "--group", group, "--bootstrap", kafka, "--learner", "pa1"
    with Driftway("worker", *place, *options) as worker:
        await_until(lambda: len(predicted(kafka, f"{topic}.{group}.predictions")) == ROWS, 60, "all rows predicted")
        yield worker


def delete(kafka: str, *topics: str) -> None:
    client = admin(kafka)  # keep a reference: a collected client never answers
    for future in client.delete_topics(list(topics)).values():
        future.result(timeout=END_SECONDS)


def predicted(kafka: str, topic: str) -> list[int]:
    """Offsets of the predicted events; none while there is no topic."""
    if topic not in admin(kafka).list_topics(timeout=10).topics:
        return []
    return [read_json(record.value or b"")["offset"] for record in read_all(kafka, topic)]

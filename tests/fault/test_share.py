"""Model exchange between partitions (`--share-models`): a successor combines the updates of the worker that died."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition

from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.stream.task.committing.checkpoint import Step
from tests.support.delayed_labels import Outputs, kill_and_replace
from tests.support.kafka import admin, await_until, create_topic, produce, read_all, unique
from tests.support.process import Driftway, driftway

pytestmark = pytest.mark.timeout(300)  # as by default; those with a limit start before others

PARTITIONS, ROWS, PIECE = 3, 600, 50
LEARNERS = ("--learner", "dfop:mu=0.01", "--learner", "pa1", "--learner", "majority_class")


def events(seed: int) -> list[bytes]:
    """Events of one concept, the same for all partitions."""
    draw, values = random.Random(seed), list[bytes]()
    for i in range(ROWS):
        x = [draw.gauss(0.0, 1.0) for _ in range(3)]
        values.append(json.dumps({"id": i, "x": x, "y": int(x[0] + 0.5 * x[1] > 0.2)}).encode())
    return values


def feed(kafka: str, topic: str) -> Iterator[int]:
    """Produce to all partitions piece by piece; yield the number of events sent so far."""
    streams = [events(partition) for partition in range(PARTITIONS)]
    for start in range(0, ROWS, PIECE):
        for partition, values in enumerate(streams):
            produce(kafka, topic, values[start : start + PIECE], partition)
        yield PARTITIONS * (start + PIECE)


def rounds_received(kafka: str, prefix: str) -> dict[int, int]:
    """Partition -> number of rounds in which updates of others were combined."""
    found = dict.fromkeys(range(PARTITIONS), 0)
    for record in read_all(kafka, f"{prefix}.shares"):
        found[record.partition] += any(json.loads(record.value or b"")["received"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "victim", "successor", "share"),
    [
        (Step.OFFSETS_SENT, NATIVE, PYTHON, "average:rows=20"),
        pytest.param(Step.COMMITTED, PYTHON, NATIVE, "gossip:rows=20", marks=pytest.mark.slow),
    ],
)
def test_a_successor_combines_the_same_updates_as_the_killed_worker(
    kafka: str, step: Step, victim: str, successor: str, share: str
) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    place = ("--input", topic, "--group", group, "--bootstrap", kafka, *LEARNERS, "--share-models", share)
    work = ("worker", *place, "--commit-interval", "0.05", "--snapshot-rows", "100", "--client")
    kill_and_replace(step, work, (victim, successor), feed(kafka, topic), Outputs(kafka, f"{topic}.{group}"), 24)
    combined = rounds_received(kafka, f"{topic}.{group}")
    assert min(combined.values()) > 1, combined
    audited = driftway("audit", *place, "--json")
    assert audited.code == 0, audited
    partitions = json.loads(audited.stdout)["partitions"]
    assert [one["predictions"] for one in partitions] == [ROWS] * PARTITIONS
    assert all(one["shares"] > combined[one["partition"]] and not one["unchecked"] for one in partitions), partitions
    event = ("--input", topic, "--group", group, "--bootstrap", kafka, "--partition", "1", "--offset", "555")
    explained = driftway("explain", *event, "--json")
    assert json.loads(explained.stdout)["emitted"]["verdict"] == "same", explained
    refused = driftway("worker", *place[:-2], "--stop-at-end")
    assert refused.code == 4
    assert f"made with share {share}, this worker has none" in refused.stderr


def test_partitions_keep_exchanging_updates_after_they_move_between_workers(kafka: str) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    place = ("--input", topic, "--group", group, "--bootstrap", kafka, *LEARNERS, "--share-models", "average:rows=20")
    work = ("worker", *place, "--commit-interval", "0.05", "--snapshot-rows", "100")
    outputs, pieces = Outputs(kafka, f"{topic}.{group}"), feed(kafka, topic)

    def give(pieces_now: int) -> None:
        for _ in range(pieces_now):
            sent = next(pieces)
            await_until(lambda sent=sent: len(outputs.records("predictions")) >= sent, 30, "predicted")

    with Driftway(*work) as first:
        first.await_text("running partition=1")
        give(4)
        with Driftway(*work) as second:
            second.await_text("running partition=")
            give(4)
            first.kill()
            give(4)
            second.terminate()
            assert second.wait() == 0, second.summary()
    assert min(rounds_received(kafka, f"{topic}.{group}").values()) > 2
    audited = driftway("audit", *place)
    assert audited.code == 0, audited


def rows_since_snapshot(outputs: Outputs) -> int:
    """Number of rows of partition 0 between its last snapshot and its last commit."""
    commits = [one.value for one in outputs.records("snapshots") if one.partition == 0 and b'"pointer"' in one.value]
    last = json.loads(commits[-1])
    return int(last["offset"]) - int(last["pointer"].rpartition(":")[2])


@pytest.mark.slow
def test_a_restore_that_needs_deleted_rounds_is_refused(kafka: str) -> None:
    topic, group = unique("events"), unique("group")
    create_topic(kafka, topic, PARTITIONS)
    create_topic(kafka, f"{topic}.{group}.shares", PARTITIONS, cleanup_policy="compact,delete")
    place = ("--input", topic, "--group", group, "--bootstrap", kafka, *LEARNERS, "--share-models", "average:rows=20")
    work = ("worker", *place, "--commit-interval", "0.05")
    pieces, outputs = feed(kafka, topic), Outputs(kafka, f"{topic}.{group}")
    with Driftway(*work) as worker:
        worker.await_text("running partition=1")
        for sent in pieces:
            await_until(lambda sent=sent: len(outputs.records("predictions")) >= sent, 30, "predicted")
            if rows_since_snapshot(outputs) >= 40:  # at least one round, which a successor must repeat
                break
        worker.kill()
    assert rows_since_snapshot(outputs) >= 40
    last_of_all = max(one.offset for one in outputs.records("shares") if one.partition == 0)
    gone = TopicPartition(f"{topic}.{group}.shares", 0, last_of_all + 1)
    client = admin(kafka)
    for future in client.delete_records([gone]).values():
        future.result(10)
    refused = driftway(*work, "--stop-at-end")
    assert refused.code == 4
    assert f"are gone from {topic}.{group}.shares; --on-restore-failure replay relearns the log" in refused.stderr
    for _ in pieces:
        pass
    for more in (("--on-restore-failure", "reset"), ()):
        again = driftway(*work, "--stop-at-end", *more)
        assert again.code == 0, again
    assert {one.partition for one in outputs.records("shares")} == set(range(PARTITIONS))

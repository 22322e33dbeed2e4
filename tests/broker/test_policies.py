"""A worker that cannot restore says so and stops; it starts otherwise only as it was told."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from tests.support.kafka import admin, await_until
from tests.support.process import Driftway, driftway
from tests.support.stage import Stage
from worker.client import quiet

CANNOT_RESTORE = 4


def learned(kafka: str) -> Stage:
    """A stage whose first half has been learned, and whose worker is gone."""
    stage = Stage(kafka, partitions=1, rows=1000)
    stage.fill(0, 500)
    assert driftway(*stage.worker("--stop-at-end")).code == 0
    return stage


def reset(stage: Stage, offset: int) -> None:
    """Commit an offset as an operator would, without a snapshot pointer."""
    member = Consumer(quiet({"bootstrap.servers": stage.bootstrap, "group.id": stage.group}))
    member.commit(offsets=[TopicPartition(stage.topic, 0, offset)], asynchronous=False)
    member.close()


def refused(stage: Stage, *more: str) -> str:
    """The sentence of a worker that exits with 4."""
    ended = driftway(*stage.worker("--stop-at-end", *more))
    assert ended.code == CANNOT_RESTORE, ended
    assert "Traceback" not in ended.stderr
    return ended.stderr.splitlines()[-1]


def test_an_offset_without_snapshot_is_refused_and_both_ways_out_are_named(kafka: str) -> None:
    stage = learned(kafka)
    reset(stage, 200)
    sentence = refused(stage)
    assert "committed without a snapshot" in sentence
    assert "--if-unrestorable replay" in sentence
    assert "fresh" in sentence


def test_replay_relearns_the_log_in_silence_and_goes_on_with_the_same_bits(kafka: str) -> None:
    stage = learned(kafka)
    reset(stage, 500)
    stage.fill(500)
    with stage.auditor() as auditor:
        with Driftway(*stage.worker("--stop-at-end", "--if-unrestorable", "replay")) as worker:
            assert worker.wait() == 0, worker.story()
        await_until(lambda: auditor.seen >= len(stage.expected), 30, "every row predicted")
    auditor.require(stage.expected)


def test_fresh_starts_with_an_empty_learner_where_the_group_stands(kafka: str) -> None:
    stage = learned(kafka)
    reset(stage, 500)
    stage.fill(500)
    with stage.auditor() as auditor:
        assert driftway(*stage.worker("--stop-at-end", "--if-unrestorable", "fresh")).code == 0
        await_until(lambda: auditor.seen >= len(stage.expected), 30, "every row predicted")
    assert not auditor.complaints
    assert auditor.scores[0, 500] == 0.0, "the first score of an empty learner"


def test_snapshot_of_another_learner_is_refused(kafka: str) -> None:
    sentence = refused(learned(kafka), "--learner", "arow")
    assert "the snapshot was made with learners" in sentence
    assert "--if-unrestorable" in sentence


def test_offset_that_the_log_no_longer_holds_is_refused_or_skipped_as_told(kafka: str) -> None:
    stage = learned(kafka)
    stage.fill(500)
    client = admin(kafka)
    for future in client.delete_records([TopicPartition(stage.topic, 0, 800)]).values():
        future.result(timeout=30)
    sentence = refused(stage)
    assert "the log holds 800 to 1000" in sentence
    assert "--if-offset-lost earliest goes on at 800, latest at 1000" in sentence
    with stage.auditor() as auditor:
        assert driftway(*stage.worker("--stop-at-end", "--if-offset-lost", "earliest")).code == 0
        await_until(lambda: auditor.seen >= 700, 30, "the rows before the loss and those still held")
    assert not auditor.complaints
    assert sorted(offset for _, offset in auditor.scores) == [*range(500), *range(800, 1000)]

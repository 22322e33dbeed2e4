"""A worker that cannot restore exits with a message, unless an option says how to start anyway."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from driftway.worker.kafka.client_config import quiet
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from tests.support.audit import bits, placed_score
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import admin, await_until, committed_offset, create_topic, read_all
from tests.support.process import Driftway, driftway

CANNOT_RESTORE = 4
NO_SNAPSHOTS = ("--snapshot-rows", "1000000", "--snapshot-interval", "1000000")
"""Except at the first commit after a damaged snapshot, at a clean stop, and after 0.25 s of learning."""
EVERY_COMMIT = ("--snapshot-rows", "1")
ATTEMPTS = 5


def learn(scenario: FaultScenario, first: int, last: int, *more: str) -> str:
    """Produce rows `first` to `last` and let a worker read to the end; return its log."""
    scenario.fill(first, last)
    ended = driftway(*scenario.worker("--stop-at-end", *more))
    assert ended.code == 0, ended
    return ended.stderr


def learned(kafka: str) -> FaultScenario:
    """A scenario whose worker has learned the first half, written a snapshot, and exited."""
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    learn(scenario, 0, 500, *EVERY_COMMIT)  # on a slow machine there are several commits
    return scenario


def learn_and_kill(scenario: FaultScenario, first: int, last: int, *more: str) -> None:
    """Produce rows `first` to `last`, and kill a worker that has committed them, so that it writes no snapshot."""
    scenario.fill(first, last)
    with Driftway(*scenario.worker(*NO_SNAPSHOTS, *more)) as victim:
        await_until(
            lambda: committed_offset(scenario.bootstrap, scenario.group, scenario.topic)[0] == last, 60, "all committed"
        )
        victim.kill()


def learned_and_killed(kafka: str, first: int, last: int, *more: str) -> FaultScenario:
    """A scenario with a snapshot at `first` (and perhaps before), whose worker was killed at `last` without another.

    On a busy machine the rows may take so long that a snapshot is due; then another scenario is begun.
    """
    for _ in range(ATTEMPTS):
        scenario = FaultScenario(kafka, partitions=1, rows=1000)
        create_topic(
            kafka, f"{scenario.prefix}.snapshots", 1, cleanup_policy="compact,delete", max_message_bytes="10485760"
        )
        learn(scenario, 0, first, *EVERY_COMMIT, *more)
        learn_and_kill(scenario, first, last, *more)
        offset, pointer = last_commit(scenario)
        assert offset == last
        if pointer.state_offset == first:
            return scenario
    raise AssertionError(f"a snapshot at {last} in each of {ATTEMPTS} scenarios")


def last_commit(scenario: FaultScenario) -> tuple[int, Pointer]:
    """The committed offset and its pointer."""
    offset, metadata = committed_offset(scenario.bootstrap, scenario.group, scenario.topic)
    pointer = Pointer.parse(metadata)
    assert pointer is not None, metadata
    return offset, pointer


def commit(scenario: FaultScenario, offset: int, metadata: str | None = None) -> None:
    """Commit an offset as an operator would; without metadata, it has no snapshot pointer."""
    member = Consumer(quiet({"bootstrap.servers": scenario.bootstrap, "group.id": scenario.group}))
    place = TopicPartition(scenario.topic, 0, offset)
    if metadata is not None:
        place = TopicPartition(scenario.topic, 0, offset, metadata)

    def accepted() -> bool:
        try:
            member.commit(offsets=[place], asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_MEMBER_ID:
                raise
            return False
        return True

    await_until(accepted, 30, "the group has no members, not even a killed one")
    member.close()


def delete_before(scenario: FaultScenario, topic: str, offset: int) -> None:
    """Remove the records before `offset`, as retention would."""
    client = admin(scenario.bootstrap)
    for future in client.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result(timeout=30)


def require_audit(scenario: FaultScenario) -> None:
    """Require that an audit passes: it begins where a decision took effect."""
    done = driftway("audit", *scenario.options)
    assert done.code == 0, done


def predicted(scenario: FaultScenario) -> dict[tuple[int, int], list[float]]:
    """(partition, offset) -> all scores that a read_committed reader sees, in log order."""
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    for record in read_all(scenario.bootstrap, f"{scenario.prefix}.predictions"):
        place, score = placed_score(record.value or b"")
        found[place].append(score)
    return found


def require_same(scenario: FaultScenario, once: Iterable[int], twice: Iterable[int] = ()) -> None:
    """Check that exactly these offsets are predicted, once or twice, each time with the expected score."""
    found = predicted(scenario)
    assert {offset: len(scores) for (_, offset), scores in found.items()} == (
        dict.fromkeys(once, 1) | dict.fromkeys(twice, 2)
    )
    for place, scores in found.items():
        assert {bits(score) for score in scores} == {bits(scenario.expected[place])}, place


def refused(scenario: FaultScenario, *more: str) -> str:
    """Return the error message of a worker that exits with code 4."""
    ended = driftway(*scenario.worker("--stop-at-end", *more))
    assert ended.code == CANNOT_RESTORE, ended
    assert "Traceback" not in ended.stderr
    return ended.stderr.splitlines()[-1]


def test_an_offset_without_a_snapshot_is_refused_and_both_options_are_named(kafka: str) -> None:
    scenario = learned(kafka)
    commit(scenario, 200)
    sentence = refused(scenario)
    assert "committed without a snapshot" in sentence
    assert "--on-restore-failure replay" in sentence
    assert "reset starts" in sentence


def test_replay_relearns_the_log_without_output_and_continues_with_the_same_bits(kafka: str) -> None:
    scenario = learned(kafka)
    commit(scenario, 500)
    scenario.fill(500)
    with scenario.auditor() as auditor:
        with Driftway(*scenario.worker("--stop-at-end", "--on-restore-failure", "replay")) as worker:
            assert worker.wait() == 0, worker.summary()
        await_until(lambda: auditor.seen >= len(scenario.expected), 30, "every row predicted")
    auditor.require(scenario.expected)


def test_fresh_starts_an_empty_learner_at_the_committed_offset(kafka: str) -> None:
    scenario = learned(kafka)
    commit(scenario, 500)
    scenario.fill(500)
    with scenario.auditor() as auditor:
        assert driftway(*scenario.worker("--stop-at-end", "--on-restore-failure", "reset")).code == 0
        await_until(lambda: auditor.seen >= len(scenario.expected), 30, "every row predicted")
    assert not auditor.complaints
    assert auditor.scores[0, 500] == 0.0, "the first score of an empty learner"
    require_audit(scenario)


def test_a_snapshot_of_another_learner_is_refused(kafka: str) -> None:
    sentence = refused(learned(kafka), "--learner", "arow")
    assert "the snapshot was made with learners" in sentence
    assert "--on-restore-failure" in sentence


def test_a_deleted_offset_is_refused_or_skipped_with_the_option(kafka: str) -> None:
    scenario = learned(kafka)
    scenario.fill(500)
    delete_before(scenario, scenario.topic, 800)
    sentence = refused(scenario)
    assert "the log holds 800 to 1000" in sentence
    assert "--on-offset-out-of-range earliest predicts from 800 on, latest predicts from 1000 on" in sentence
    learn(scenario, 0, 0, "--on-offset-out-of-range", "earliest")
    assert sorted(offset for _, offset in predicted(scenario)) == [*range(500), *range(800, 1000)]
    assert predicted(scenario)[0, 800] != [0.0], "the learner keeps what it has learned"
    learn(scenario, 0, 0)  # the option was for one decision


def test_a_decision_on_an_idle_partition_is_committed_at_once(kafka: str) -> None:
    scenario = learned(kafka)
    scenario.fill(500)
    delete_before(scenario, scenario.topic, 1000)
    assert "the log holds 1000 to 1000" in refused(scenario)
    learn(scenario, 0, 0, "--on-offset-out-of-range", "earliest")
    assert committed_offset(kafka, scenario.group, scenario.topic)[0] == 1000
    learn(scenario, 0, 10)
    assert predicted(scenario)[0, 1000] != [0.0], "the learner keeps what it has learned"


REPLAY, RESET = ("--on-restore-failure", "replay"), ("--on-restore-failure", "reset")
EARLIEST, LATEST = ("--on-offset-out-of-range", "earliest"), ("--on-offset-out-of-range", "latest")


def test_an_offset_set_back_is_refused_and_replay_predicts_again_with_the_same_bits(kafka: str) -> None:
    """The log is relearned from 0, or from the snapshot of the first commit."""
    scenario = learned(kafka)
    commit(scenario, 200)
    sentence = refused(scenario)
    assert "(a reset" in sentence
    assert re.search(r"replay relearns the log from (offset 0|the snapshot at offset \d+ on), reset starts", sentence)
    learn(scenario, 500, 1000, *REPLAY)
    require_same(scenario, once=[*range(200), *range(500, 1000)], twice=range(200, 500))
    require_audit(scenario)


@pytest.mark.slow
def test_an_offset_set_back_continues_from_an_older_snapshot_if_the_first_rows_are_deleted(kafka: str) -> None:
    """There are snapshots at 200 and 500, and soon after 200; relearning from 150 would give other bits."""
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    learn(scenario, 0, 200, *EVERY_COMMIT)
    learn(scenario, 200, 500, *EVERY_COMMIT)
    delete_before(scenario, scenario.topic, 150)
    commit(scenario, 300)
    assert re.search(r"replay relearns the log from the snapshot at offset 2\d\d on, reset", refused(scenario))
    learn(scenario, 500, 1000, *REPLAY)
    require_same(scenario, once=[*range(300), *range(500, 1000)], twice=range(300, 500))


@pytest.mark.slow
def test_an_offset_set_back_with_fresh_begins_there_with_an_empty_learner(kafka: str) -> None:
    scenario = learned(kafka)
    commit(scenario, 200)
    learn(scenario, 500, 1000, *RESET)
    found = predicted(scenario)
    assert {len(found[0, offset]) for offset in range(200, 500)} == {2}
    assert found[0, 200][-1] == 0.0, "the first score of an empty learner"
    require_audit(scenario)


@pytest.mark.slow
@pytest.mark.parametrize("C", [499, 0])
def test_an_offset_set_back_to_the_first_row_or_a_snapshot(kafka: str, C: int) -> None:
    scenario = learned(kafka)
    commit(scenario, C)
    learn(scenario, 500, 1000, *REPLAY)
    require_same(scenario, once=[*range(C), *range(500, 1000)], twice=range(C, 500))


@pytest.mark.slow
def test_an_offset_set_forward_is_refused_and_replay_learns_the_skipped_rows(kafka: str) -> None:
    scenario = learned(kafka)
    scenario.fill(500, 800)
    commit(scenario, 700)
    assert "committed without a snapshot" in refused(scenario)
    learn(scenario, 800, 1000, *REPLAY)
    require_same(scenario, once=[*range(500), *range(700, 1000)])


@pytest.mark.slow
def test_an_offset_set_forward_with_fresh_does_not_learn_the_skipped_rows(kafka: str) -> None:
    scenario = learned(kafka)
    scenario.fill(500, 800)
    commit(scenario, 700)
    learn(scenario, 800, 1000, *RESET)
    found = predicted(scenario)
    assert sorted(offset for _, offset in found) == [*range(500), *range(700, 1000)]
    assert found[0, 700] == [0.0]
    require_audit(scenario)


@pytest.mark.slow
def test_an_offset_beyond_the_end_is_refused_and_latest_continues_at_the_end(kafka: str) -> None:
    scenario, options = learned(kafka), REPLAY
    scenario.fill(500, 600)
    commit(scenario, 5000)
    assert "committed without a snapshot" in refused(scenario)
    sentence = refused(scenario, *options)
    assert "to 5000 are needed, the log holds 0 to 600" in sentence
    assert "earliest predicts from 0 on, latest learns from 500 on and predicts from 600 on" in sentence
    learn(scenario, 0, 0, *options, *LATEST)
    assert committed_offset(kafka, scenario.group, scenario.topic)[0] == 600, (
        "the decision is committed without a new row"
    )
    learn(scenario, 600, 1000)
    require_same(scenario, once=[*range(500), *range(600, 1000)])


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "first"), [(EARLIEST, 0), (LATEST, 600)])
def test_an_offset_beyond_the_end_with_fresh_continues_at_the_chosen_offset(
    kafka: str, lost: tuple[str, str], first: int
) -> None:
    scenario = learned(kafka)
    scenario.fill(500, 600)
    commit(scenario, 5000)
    assert "offsets 5000 to 5000 are needed, the log holds 0 to 600" in refused(scenario, *RESET)
    with scenario.auditor(), Driftway(*scenario.worker(*RESET, *lost)) as worker:
        worker.await_text("running")
        scenario.fill(600)
        await_until(lambda: committed_offset(kafka, scenario.group, scenario.topic)[0] == 1000, 30, "all rows are read")
    found = predicted(scenario)
    assert sorted(offset for _, offset in found) == sorted({*range(500), *range(first, 1000)})
    assert found[0, first][-1] == 0.0


@pytest.mark.parametrize(
    ("lost", "first"), [(EARLIEST, 650), pytest.param(LATEST, 700, marks=pytest.mark.slow)], ids=["earliest", "latest"]
)
def test_rows_lost_after_the_snapshot_are_refused_or_skipped_with_the_option(
    kafka: str, lost: tuple[str, str], first: int
) -> None:
    """Snapshot at 500, log start at 600, committed 650: rows 600 to 649 are learned without output."""
    scenario = learned_and_killed(kafka, 500, 650)
    scenario.fill(650, 700)
    delete_before(scenario, scenario.topic, 600)
    assert "offsets 500 to 650 are needed, the log holds 600 to 700" in refused(scenario)
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*lost)) as worker:
        worker.await_text("running")
        scenario.fill(700)
        auditor.await_all(650 + 1000 - first)
    assert sorted(offset for _, offset in predicted(scenario)) == [*range(650), *range(first, 1000)]


@pytest.mark.slow
def test_a_log_emptied_with_its_last_transaction_marker_may_have_lost_no_row(kafka: str) -> None:
    """The committed offset is that of the marker, which is deleted too: whether events were deleted is unknown."""
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    sender = Producer({"bootstrap.servers": kafka, "transactional.id": scenario.topic})
    sender.init_transactions()
    sender.begin_transaction()
    for event in scenario.events[0][:500]:
        sender.produce(scenario.topic, event, partition=0)
    sender.commit_transaction()
    learn(scenario, 0, 0)
    delete_before(scenario, scenario.topic, 501)
    sentence = refused(scenario)
    emptied = "offsets 500 to 500 are needed, the log holds {0} to {0}: it is empty; if only markers of transactions "
    assert emptied.format(501) + "were deleted, at 1 offset from 500 on, no event is lost" in sentence
    scenario.fill(0, 250)
    delete_before(scenario, scenario.topic, 751)
    assert emptied.format(751) + "were deleted, at 251 offsets from 500 on, no event is lost" in refused(scenario)
    learn(scenario, 500, 600, *EARLIEST)
    assert sorted(offset for _, offset in predicted(scenario)) == [*range(500), *range(751, 851)]


@pytest.mark.slow
def test_rows_deleted_beyond_snapshot_and_offset_are_skipped_with_latest(kafka: str) -> None:
    scenario = learned(kafka)
    scenario.fill(500, 900)
    delete_before(scenario, scenario.topic, 800)
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*LATEST)) as worker:
        worker.await_text("running")
        scenario.fill(900)
        auditor.await_all(600)
    assert sorted(offset for _, offset in predicted(scenario)) == [*range(500), *range(900, 1000)]


@pytest.mark.slow
def test_replay_after_the_committed_offset_was_deleted_needs_a_second_option(kafka: str) -> None:
    scenario = learned(kafka)
    scenario.fill(500)
    commit(scenario, 600)
    delete_before(scenario, scenario.topic, 800)
    assert "--on-offset-out-of-range earliest predicts from 800 on" in refused(scenario, *REPLAY)
    assert "--on-offset-out-of-range earliest predicts from 800 on" in refused(scenario, *RESET)
    learn(scenario, 0, 0, *RESET, *EARLIEST)
    assert sorted(offset for _, offset in predicted(scenario)) == [*range(500), *range(800, 1000)]


@pytest.mark.slow
def test_an_offset_set_beyond_the_marker_at_the_end_of_the_log_is_valid(kafka: str) -> None:
    """No record follows the last row: the restored partition must run without waiting for one."""
    scenario = FaultScenario(kafka, partitions=1, rows=600)
    write_in_transaction(scenario, 0, 500)
    learn(scenario, 0, 0)
    commit(scenario, 501)
    learn(scenario, 0, 0, *REPLAY)
    assert committed_offset(kafka, scenario.group, scenario.topic)[0] == 501
    write_in_transaction(scenario, 500, 600)
    learn(scenario, 0, 0)
    found = predicted(scenario)
    assert sorted(offset for _, offset in found) == [*range(500), *range(501, 601)]
    for row in range(500, 600):
        assert bits(found[0, row + 1][0]) == bits(scenario.expected[0, row])


def write_in_transaction(scenario: FaultScenario, first: int, last: int) -> None:
    """Produce rows in one transaction, whose marker takes an offset of its own."""
    properties = {"bootstrap.servers": scenario.bootstrap, "transactional.id": scenario.topic}
    producer = Producer(quiet(properties))
    producer.init_transactions(30)
    producer.begin_transaction()
    for event in scenario.events[0][first:last]:
        producer.produce(scenario.topic, event, partition=0)
    producer.commit_transaction(30)

"""The newer group protocol: a running group migrates to it and back; coordinators that have lost group state."""

from __future__ import annotations

import contextlib
import struct

import pytest
from confluent_kafka import Consumer, Producer

from driftway.worker.kafka.client_config import quiet
from tests.support.brokers import own_broker
from tests.support.fault_scenario import SESSION_MS, FaultScenario
from tests.support.groups import member, set_session
from tests.support.kafka import admin, await_until, committed_offset
from tests.support.process import Driftway, stop
from tests.support.proxy import GROUP_ID_NOT_FOUND, HEARTBEAT, UNKNOWN_SERVER_ERROR, Proxy
from tests.support.selection import slow_but

ASSIGNMENT_EPOCH = 6
"""Type of the record with the epoch of a group's assignment (ConsumerGroupTargetAssignmentMetadata)."""
ALLOWED = "__admin_client"
"""The only client id that Kafka allows to write to its internal topics."""
NEWER, CLASSIC = ("-X", "group.protocol=consumer"), ("-X", "group.protocol=classic")


def plain(scenario: FaultScenario, *more: str) -> tuple[str, ...]:
    """Arguments of a worker without the options for session and heartbeat."""
    arguments = scenario.worker(*more)
    kept = [word for i, word in enumerate(arguments) if "session" not in word and "heartbeat" not in word]
    return tuple(word for i, word in enumerate(kept) if word != "-X" or (i + 1 < len(kept) and "=" in kept[i + 1]))


@pytest.mark.slow
def test_a_running_classic_group_moves_to_the_newer_protocol_and_back(kafka: str) -> None:
    """Members are replaced one by one while rows arrive; no row is lost, repeated or changed."""
    scenario = FaultScenario(kafka, partitions=4, rows=1800)
    set_session(kafka, scenario.group, SESSION_MS)
    old, back = scenario.worker(), (*plain(scenario), *CLASSIC)
    fed = 0
    with scenario.auditor() as auditor, contextlib.ExitStack() as stack:

        def start(*arguments: str) -> Driftway:
            worker = stack.enter_context(Driftway(*arguments))
            worker.await_text("running")
            return worker

        def feed() -> None:
            nonlocal fed
            scenario.fill(fed, fed + 200)
            fed += 200
            auditor.await_all(4 * fed, 60)

        members = [start(*old), start(*old)]
        feed()
        for arguments, protocol in ((plain(scenario, *NEWER), "consumer"), (back, "classic")):
            for _ in range(2):
                members.append(start(*arguments))
                assert f"protocol={protocol}" in members[-1].stderr
                feed()
                stop(members.pop(0))
                feed()
        assert fed == scenario.rows
        stop(*members)
    auditor.require(scenario.expected)


def test_a_group_that_cannot_migrate_gets_the_reason_and_migrates_once_its_members_have_left(kafka: str) -> None:
    """The broker refuses to convert a group whose members send assignor data, as these two do."""
    scenario = FaultScenario(kafka, partitions=4, rows=400)
    set_session(kafka, scenario.group, SESSION_MS)
    cooperative = scenario.worker("-X", "partition.assignment.strategy=cooperative-sticky")
    with scenario.auditor() as auditor:
        with contextlib.ExitStack() as stack:
            old = stack.enter_context(Driftway(*cooperative))
            old.await_text("running")
            other = stack.enter_context(Driftway(*cooperative))
            other.await_text("running")
            scenario.fill(0, 200)
            auditor.await_all(800)
            with Driftway(*plain(scenario, *NEWER, "--unavailable-timeout", "4")) as new:
                assert new.wait(60) == 1, new.summary()
                assert "driftway: the broker refused this consumer: " in new.stderr.splitlines()[-1]
            stop(old, other)
        scenario.fill(200)
        with Driftway(*plain(scenario, *NEWER, "--stop-at-end")) as new:
            assert new.wait(60) == 0, new.summary()
            assert "protocol=consumer" in new.stderr
        auditor.await_all(1600)
    auditor.require(scenario.expected)


@pytest.mark.parametrize("protocol", slow_but(["classic"], ["classic", "consumer"]))
def test_without_transactions_offsets_are_committed_before_partitions_move(kafka: str, protocol: str) -> None:
    """The offset is committed inside the client's rebalance callback, during which no other thread can run."""
    scenario = FaultScenario(kafka, partitions=2, rows=800)
    set_session(kafka, scenario.group, SESSION_MS)
    arguments = (*plain(scenario), "--guarantee", "at-least-once", "-X", f"group.protocol={protocol}")
    with scenario.auditor() as auditor, Driftway(*arguments) as first:
        first.await_text("running")
        scenario.fill(0, 200)
        auditor.await_all(400)
        with Driftway(*arguments) as second:
            second.await_text("running", 30)
            scenario.fill(200, 400)
            auditor.await_all(800)
            stop(second)
        scenario.fill(400)
        await_until(lambda: len(auditor.scores) == 1600, 60, "every row predicted")
        stop(first)
    assert not auditor.complaints, "no worker died, so nothing is repeated"
    auditor.require(scenario.expected)


@pytest.mark.slow
def test_a_worker_that_stops_at_the_end_reads_the_partitions_of_a_dead_member_too(kafka: str) -> None:
    """The newer protocol leaves them to the dead member until its session ends, and assigns the others before that."""
    scenario = FaultScenario(kafka, partitions=2, rows=200)
    set_session(kafka, scenario.group, 8000)
    arguments = (*plain(scenario), *NEWER)
    with scenario.auditor() as auditor:
        with Driftway(*arguments) as first:
            first.await_text("running")
            scenario.fill(0, 100)
            auditor.await_all(200)
            with Driftway(*arguments) as second:
                second.await_text("running")
                first.kill()
                scenario.fill(100)
                stop(second)
        with Driftway(*arguments, "--stop-at-end") as last:
            assert last.wait(60) == 0, last.summary()
            assert "waiting for partitions of other members" in last.stderr
        auditor.await_all(400, 5)
    auditor.require(scenario.expected)


def test_a_static_member_whose_name_another_one_takes_says_so(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=100)
    arguments = (*plain(scenario), "-X", "group.instance.id=one")
    with Driftway(*arguments) as first:
        first.await_text("running")
        with Driftway(*arguments) as second:
            assert first.wait(60) == 3, first.summary()
            sentence = f"another consumer of group {scenario.group} has this worker's group.instance.id, one"
            assert f"driftway: {sentence}: give each worker its own" in first.stderr
            second.await_text("running")
            stop(second)


@pytest.mark.slow
def test_a_successor_waits_until_the_name_of_a_killed_member_is_free(kafka: str) -> None:
    """The newer protocol reserves the name until the session expires; the classic protocol reassigns it at once."""
    scenario = FaultScenario(kafka, partitions=1, rows=400)
    set_session(kafka, scenario.group, 4000)
    arguments = (*plain(scenario), "-X", "group.protocol=consumer", "-X", "group.instance.id=one")
    with scenario.auditor() as auditor:
        with Driftway(*arguments) as first:
            first.await_text("running")
            scenario.fill(0, 200)
            auditor.await_all(200)
            first.kill()
        scenario.fill(200)
        with Driftway(*arguments) as second:
            second.await_text("not admitted to the group, trying again")
            auditor.await_all(400)
            stop(second)
    auditor.require(scenario.expected)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["range", "consumer"])
def test_a_worker_that_a_full_group_does_not_admit_says_so_once(pytestconfig: pytest.Config, protocol: str) -> None:
    """It waits, and takes over when the other one leaves."""
    with own_broker(pytestconfig, {"group.max.size": "1", "group.consumer.max.size": "1"}) as broker:
        scenario = FaultScenario(broker.bootstrap, partitions=1, rows=100)
        scenario.fill(0, 100)
        with Driftway(*member(scenario, protocol, "one")) as first:
            first.await_text("running")
            with Driftway(*member(scenario, protocol, "two")) as second:
                second.await_text("waiting for partitions" if protocol == "range" else "consumer error")
                assert second.stderr.count("consumer error") == 1
                assert "the brokers allow no more members (group.max.size, or group.consumer.max.size" in second.stderr
                stop(first)
                second.await_text("running")
                stop(second)


@pytest.mark.slow
def test_a_worker_whose_group_has_members_with_another_strategy_says_what_may_be_wrong(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=100)
    scenario.fill(0, 100)
    other = Consumer(
        quiet(
            {
                "bootstrap.servers": kafka,
                "group.id": scenario.group,
                "partition.assignment.strategy": "cooperative-sticky",
            }
        )
    )
    other.subscribe([scenario.topic])
    try:
        await_until(lambda: other.poll(0.1) or other.assignment(), 60, "the other program has its partition")
        with Driftway(*scenario.worker()) as worker:
            worker.await_text("Inconsistent group protocol")
            assert "another program is in this group" in worker.stderr
            assert "partition.assignment.strategy" in worker.stderr
            stop(worker)
    finally:
        other.close()


EPOCHS = 200
"""Number of epochs by which the group is behind its last assignment."""


def set_assignment_epoch(kafka: str, group: str, epoch: int) -> None:
    """Write to the coordinator's log that the group's last assignment had the given epoch."""
    partitions = len(admin(kafka).list_topics("__consumer_offsets", timeout=10).topics["__consumer_offsets"].partitions)
    hashed = 0
    for letter in group.encode():  # Java's String.hashCode
        hashed = (31 * hashed + letter) & 0xFFFFFFFF
    key = struct.pack(">hh", ASSIGNMENT_EPOCH, len(group)) + group.encode()
    producer = Producer(quiet({"bootstrap.servers": kafka, "client.id": ALLOWED, "acks": "all"}))
    place = min(hashed, 2**32 - hashed) % partitions  # absolute value of the signed hash
    producer.produce("__consumer_offsets", struct.pack(">hib", 0, epoch, 0), key, place)
    assert producer.flush(30) == 0


@pytest.mark.slow
def test_partitions_are_assigned_after_the_coordinator_has_lost_the_groups_epoch(
    request: pytest.FixtureRequest,
) -> None:
    """After a partial load of a group's log, Kafka 4.1 assigns nothing until the epoch exceeds the old one."""
    with own_broker(request.config) as kafka:
        scenario = FaultScenario(kafka.bootstrap, partitions=2, rows=400)
        newer = plain(scenario, *NEWER)
        scenario.fill(0, 200)
        with scenario.auditor() as auditor, Driftway(*newer, "--stop-at-end") as before:
            assert before.wait() == 0, before.summary()
            auditor.await_all(400)
        set_assignment_epoch(kafka.bootstrap, scenario.group, EPOCHS)
        kafka.restart()
        scenario.fill(200)
        with scenario.auditor() as auditor, Driftway(*newer) as worker, Driftway(*newer) as other:
            auditor.await_all(800, 60)
            stop(worker, other)
            output = worker.stderr + other.stderr
        auditor.require(scenario.expected)
    assert "the group left partitions unassigned" in output


@pytest.mark.parametrize(
    ("guarantee", "error"),
    [
        ("exactly-once", UNKNOWN_SERVER_ERROR),
        pytest.param("at-least-once", UNKNOWN_SERVER_ERROR, marks=pytest.mark.slow),
        pytest.param("exactly-once", GROUP_ID_NOT_FOUND, marks=pytest.mark.slow),
    ],
)
def test_a_worker_rejoins_after_an_unexpected_error_in_a_heartbeat_reply(
    kafka: str, guarantee: str, error: int
) -> None:
    """The client treats these errors in a heartbeat reply as the end of its membership.

    Kafka 4.1 returns them for a group that it has loaded only partly (docs/upstream).
    """
    scenario = FaultScenario(kafka, partitions=2, rows=600)
    set_session(kafka, scenario.group, SESSION_MS)
    with (
        Proxy(kafka) as proxy,
        scenario.auditor() as auditor,
        Driftway(*plain(scenario, *NEWER, "--bootstrap", proxy.bootstrap, "--guarantee", guarantee)) as worker,
    ):
        scenario.fill(0, 300)
        auditor.await_all(600)
        for partition in range(2):  # with at-least-once, outputs are visible before the offset commit
            await_until(lambda p=partition: _committed(scenario, p) == 300, 10, "the offsets are committed")
        proxy.fail(HEARTBEAT, error)
        worker.await_text("not admitted to the group, trying again")
        scenario.fill(300)
        auditor.await_all(1200)
        assert "lost partitions=[0, 1]" in worker.stderr
        stop(worker)
    auditor.require(scenario.expected)


def _committed(scenario: FaultScenario, partition: int) -> int:
    return committed_offset(scenario.bootstrap, scenario.group, scenario.topic, partition)[0]

"""The newer group protocol: a running group migrates to it and back; and a coordinator that lost group state."""

from __future__ import annotations

import contextlib
import struct

import pytest
from confluent_kafka import Producer

from driftway.worker.kafka.client_config import quiet
from tests.support.brokers import own_broker
from tests.support.fault_scenario import SESSION_MS, FaultScenario
from tests.support.groups import set_session
from tests.support.kafka import admin, await_until, committed_offset
from tests.support.process import Driftway
from tests.support.proxy import GROUP_ID_NOT_FOUND, HEARTBEAT, UNKNOWN_SERVER_ERROR, Proxy
from tests.support.selection import slow_but

ASSIGNMENT_EPOCH = 6
"""Type of the record with the epoch of a group's assignment (ConsumerGroupTargetAssignmentMetadata)."""
ALLOWED = "__admin_client"
"""The only client id that Kafka allows to write to its internal topics."""
NEWER, CLASSIC = ("-X", "group.protocol=consumer"), ("-X", "group.protocol=classic")


def plain(stage: FaultScenario, *more: str) -> tuple[str, ...]:
    """Arguments of a worker without the options for session and heartbeat."""
    arguments = stage.worker(*more)
    kept = [word for i, word in enumerate(arguments) if "session" not in word and "heartbeat" not in word]
    return tuple(word for i, word in enumerate(kept) if word != "-X" or (i + 1 < len(kept) and "=" in kept[i + 1]))


def leave(*workers: Driftway) -> None:
    for worker in workers:
        worker.terminate()
    for worker in workers:
        assert worker.wait() == 0, worker.story()


@pytest.mark.slow
def test_running_classic_group_moves_to_the_newer_protocol_and_back(kafka: str) -> None:
    """Members are replaced one by one while rows arrive; no row is lost, repeated or changed."""
    stage = FaultScenario(kafka, partitions=4, rows=1800)
    set_session(kafka, stage.group, SESSION_MS)
    old, back = stage.worker(), (*plain(stage), *CLASSIC)
    fed = 0
    with stage.auditor() as auditor, contextlib.ExitStack() as stack:

        def start(*arguments: str) -> Driftway:
            worker = stack.enter_context(Driftway(*arguments))
            worker.await_text("running")
            return worker

        def feed() -> None:
            nonlocal fed
            stage.fill(fed, fed + 200)
            fed += 200
            auditor.await_all(4 * fed, 60)

        members = [start(*old), start(*old)]
        feed()
        for arguments, protocol in ((plain(stage, *NEWER), "consumer"), (back, "classic")):
            for _ in range(2):
                members.append(start(*arguments))
                assert f"protocol={protocol}" in members[-1].stderr
                feed()
                leave(members.pop(0))
                feed()
        assert fed == stage.rows
        leave(*members)
    auditor.require(stage.expected)


def test_group_that_may_not_change_over_says_so_and_does_once_its_members_have_left(kafka: str) -> None:
    """The broker refuses to convert a group whose members send assignor data, as these two do."""
    stage = FaultScenario(kafka, partitions=4, rows=400)
    set_session(kafka, stage.group, SESSION_MS)
    cooperative = stage.worker("-X", "partition.assignment.strategy=cooperative-sticky")
    with stage.auditor() as auditor:
        with contextlib.ExitStack() as stack:
            old = stack.enter_context(Driftway(*cooperative))
            old.await_text("running")
            other = stack.enter_context(Driftway(*cooperative))
            other.await_text("running")
            stage.fill(0, 200)
            auditor.await_all(800)
            with Driftway(*plain(stage, *NEWER, "--unavailable-timeout", "4")) as new:
                assert new.wait(60) == 1, new.story()
                assert "driftway: the broker refused this consumer: " in new.stderr.splitlines()[-1]
            leave(old, other)
        stage.fill(200)
        with Driftway(*plain(stage, *NEWER, "--stop-at-end")) as new:
            assert new.wait(60) == 0, new.story()
            assert "protocol=consumer" in new.stderr
        auditor.await_all(1600)
    auditor.require(stage.expected)


@pytest.mark.parametrize("protocol", slow_but(["classic"], ["classic", "consumer"]))
def test_without_transactions_partitions_move_with_their_offset(kafka: str, protocol: str) -> None:
    """The offset is committed inside the client's rebalance callback, during which no other thread can run."""
    stage = FaultScenario(kafka, partitions=2, rows=800)
    set_session(kafka, stage.group, SESSION_MS)
    arguments = (*plain(stage), "--guarantee", "at-least-once", "-X", f"group.protocol={protocol}")
    with stage.auditor() as auditor, Driftway(*arguments) as first:
        first.await_text("running")
        stage.fill(0, 200)
        auditor.await_all(400)
        with Driftway(*arguments) as second:
            second.await_text("running", 30)
            stage.fill(200, 400)
            auditor.await_all(800)
            leave(second)
        stage.fill(400)
        await_until(lambda: len(auditor.scores) == 1600, 60, "every row predicted")
        leave(first)
    assert not auditor.complaints, "nobody died, so nothing comes twice"
    auditor.require(stage.expected)


@pytest.mark.slow
def test_name_of_a_killed_member_is_waited_for(kafka: str) -> None:
    """The newer protocol reserves the name until the session expires; the classic one reassigns it at once."""
    stage = FaultScenario(kafka, partitions=1, rows=400)
    set_session(kafka, stage.group, 4000)
    arguments = (*plain(stage), "-X", "group.protocol=consumer", "-X", "group.instance.id=one")
    with stage.auditor() as auditor:
        with Driftway(*arguments) as first:
            first.await_text("running")
            stage.fill(0, 200)
            auditor.await_all(200)
            first.kill()
        stage.fill(200)
        with Driftway(*arguments) as second:
            second.await_text("not admitted to the group, trying again")
            auditor.await_all(400)
            leave(second)
    auditor.require(stage.expected)


EPOCHS = 200
"""Number of epochs by which the group is behind its last assignment."""


def forget_epochs(kafka: str, group: str, epoch: int) -> None:
    """Write to the coordinator's log that the group's last assignment has the given epoch."""
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
def test_partitions_that_the_coordinator_has_forgotten_are_assigned(request: pytest.FixtureRequest) -> None:
    """After a partial load of a group's log, Kafka 4.1 assigns nothing until the epoch exceeds the old one."""
    with own_broker(request.config) as kafka:
        stage = FaultScenario(kafka.bootstrap, partitions=2, rows=400)
        newer = plain(stage, *NEWER)
        stage.fill(0, 200)
        with stage.auditor() as auditor, Driftway(*newer, "--stop-at-end") as before:
            assert before.wait() == 0, before.story()
            auditor.await_all(400)
        forget_epochs(kafka.bootstrap, stage.group, EPOCHS)
        kafka.restart()
        stage.fill(200)
        with stage.auditor() as auditor, Driftway(*newer) as worker, Driftway(*newer) as other:
            auditor.await_all(800, 60)
            leave(worker, other)
            output = worker.stderr + other.stderr
        auditor.require(stage.expected)
    assert "the group left partitions unassigned" in output


@pytest.mark.parametrize(
    ("guarantee", "error"),
    [
        ("exactly-once", UNKNOWN_SERVER_ERROR),
        pytest.param("at-least-once", UNKNOWN_SERVER_ERROR, marks=pytest.mark.slow),
        pytest.param("exactly-once", GROUP_ID_NOT_FOUND, marks=pytest.mark.slow),
    ],
)
def test_coordinator_that_stumbles_is_joined_anew(kafka: str, guarantee: str, error: int) -> None:
    """The client treats these errors in a heartbeat reply as the end of its membership.

    Kafka 4.1 returns them for a group that it has loaded only partly (docs/upstream).
    """
    stage = FaultScenario(kafka, partitions=2, rows=600)
    set_session(kafka, stage.group, SESSION_MS)
    with (
        Proxy(kafka) as proxy,
        stage.auditor() as auditor,
        Driftway(*plain(stage, *NEWER, "--bootstrap", proxy.bootstrap, "--guarantee", guarantee)) as worker,
    ):
        stage.fill(0, 300)
        auditor.await_all(600)
        for partition in range(2):  # with at-least-once, outputs are visible before the offset commit
            await_until(lambda p=partition: _committed(stage, p) == 300, 10, "the offsets are committed")
        proxy.fail(HEARTBEAT, error)
        worker.await_text("not admitted to the group, trying again")
        stage.fill(300)
        auditor.await_all(1200)
        assert "lost partitions=[0, 1]" in worker.stderr
        leave(worker)
    auditor.require(stage.expected)


def _committed(stage: FaultScenario, partition: int) -> int:
    return committed_offset(stage.bootstrap, stage.group, stage.topic, partition)[0]

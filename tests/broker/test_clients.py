"""Both Kafka clients write the same records, and a group may switch between them."""

from __future__ import annotations

import contextlib
import random
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from driftway.worker.kafka import client_factory
from driftway.worker.kafka.client_config import NATIVE, PYTHON, READER, quiet
from driftway.worker.kafka.confluent.sender import ConfluentSender
from driftway.worker.kafka.error_handling import ErrorAction, classify, reported_fatal_error
from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.headers import Headers
from tests.broker.test_rejections import Mixed, malformed
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import Record, await_until, committed_offset, create_topic, produce, read_all, unique
from tests.support.poisoned_buffers import PoisonedDriftway
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker

WAYS = "native", "python"


def records(kafka: str, topic: str, group: str, output: str) -> list[tuple[object, ...]]:
    """Records of an output without their timestamps; the group's name is replaced."""
    found = read_all(kafka, f"{topic}.{group}.{output}")

    def anonymous(record: Record) -> bytes | None:
        return None if record.value is None else record.value.replace(group.encode(), b"GROUP")

    return [(one.partition, one.key, anonymous(one), one.headers) for one in found]


@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], ["exactly-once", "at-least-once"]))
@pytest.mark.parametrize("form", slow_but(["json"], ["json", "packed"]))
def test_both_clients_write_the_same_records(kafka: str, form: str, guarantee: str) -> None:
    """Good and bad events, with keys, empty keys and no keys, and values that are null or empty."""
    chance, topic = random.Random(8), create_topic(kafka, unique("events"), 2)
    for partition in range(2):
        odd = [(None, "null value"), (b"", "not JSON: it is empty"), *[malformed(chance) for _ in range(60)]]
        mixed = Mixed(chance, partition, 900, odd)
        keys = [b"" if offset % 7 == 0 else key for offset, key in enumerate(mixed.keys)]
        produce(kafka, topic, mixed.values, partition, keys)
    groups = {way: unique(way) for way in WAYS}
    for way, group in groups.items():
        done = driftway(
            "worker", "--input", topic, "--group", group, "--bootstrap", kafka, "--client", way, "--stop-at-end",
            "--accuracy-every", "100", "--output-format", form, "--guarantee", guarantee,
        )  # fmt: skip
        assert done.code == 0, done
        assert f"client={way}" in done.stderr
    for output in ("predictions", "accuracy", "rejected"):
        native, python = (records(kafka, topic, groups[way], output) for way in WAYS)
        assert len(python) >= 18
        assert native == python


@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], ["exactly-once", "at-least-once"]))
def test_a_group_may_change_its_client_after_a_worker_dies(kafka: str, guarantee: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=800)
    with scenario.auditor() as auditor:
        for i, way in enumerate(("native", "python", "native")):
            with Driftway(*scenario.worker("--client", way, "--guarantee", guarantee)) as worker:
                worker.await_text("running partition=0")
                worker.await_text("running partition=1")
                scenario.fill(200 * i, 200 * (i + 1))
                await_until(lambda i=i: auditor.seen >= 400 * (i + 1), 60, "rows predicted")
                worker.kill()
        scenario.fill(600)
        with Driftway(*scenario.worker("--client", "native", "--guarantee", guarantee, "--stop-at-end")) as worker:
            assert worker.wait(60) == 0, worker.summary()
        auditor.await_all(len(scenario.expected))
    if guarantee == "exactly-once":
        auditor.require(scenario.expected)


def test_members_of_a_group_may_use_different_clients(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=4, rows=400)
    with (
        scenario.auditor() as auditor,
        Driftway(*scenario.worker("--client", "native")) as native,
        Driftway(*scenario.worker("--client", "python")) as python,
    ):
        for one in (native, python):
            one.await_text("running partition=")
        scenario.fill(0, 200)
        await_until(lambda: auditor.seen >= 800, 60, "half of the rows predicted")
        native.kill()
        scenario.fill(200)
        auditor.await_all(len(scenario.expected))
        python.terminate()
        assert python.wait() == 0, python.summary()
    auditor.require(scenario.expected)


@pytest.mark.slow
def test_freed_memory_is_not_read(kafka: str) -> None:
    """glibc fills freed and uninitialized memory with other bytes (MALLOC_PERTURB_)."""
    scenario, poison = FaultScenario(kafka, partitions=2, rows=600), {"MALLOC_PERTURB_": "165"}
    for last in (200, 400, 600):
        scenario.fill(last - 200, last)
        for _ in range(3):  # each commits, or restores what the previous one committed
            arguments = scenario.worker("--client", "native", "--stop-at-end", "--accuracy-every", "50")
            with Driftway(*arguments, env=poison) as worker:
                assert worker.wait(60) == 0, worker.summary()
    with scenario.auditor() as auditor:
        auditor.await_all(len(scenario.expected))
    auditor.require(scenario.expected)
    assert driftway("audit", *scenario.worker()[1:7], "--learner", LEARNER, "--accuracy-every", "50").code == 0


@pytest.mark.parametrize("form", slow_but(["json"], ["json", "packed"]))
def test_no_buffer_is_read_once_it_is_free(kafka: str, form: str) -> None:
    """Commits every few ms keep the buffers of many batches in use, those of keys and malformed events included."""
    chance, topic, group = random.Random(3), create_topic(kafka, unique("events"), 2), unique("group")
    for partition in range(2):
        mixed = Mixed(chance, partition, 20_000, [malformed(chance) for _ in range(300)])
        produce(kafka, topic, mixed.values, partition, mixed.keys)
    options = ("--input", topic, "--group", group, "--bootstrap", kafka, "--accuracy-every", "100")
    for _ in range(2):  # the second one restores what the first committed
        ways = "--client", "native", "--stop-at-end", "--commit-interval", "0.005", "--output-format", form
        with PoisonedDriftway("worker", *options, *ways) as worker:
            assert worker.wait(60) == 0, worker.summary()
    done = driftway("audit", *options)
    assert done.code == 0, done


@pytest.mark.parametrize("client", [NATIVE, PYTHON])
def test_metadata_of_any_length_is_read_back_unchanged(kafka: str, topic: str, group: str, client: str) -> None:
    """A library that expects a terminating zero byte would read past the end of the text."""
    create_topic(kafka, topic)
    properties = {"bootstrap.servers": kafka, "group.id": group, "enable.auto.commit": False}
    member = client_factory.make_member(client, properties, topic, incremental=False)
    for n in (*range(1, 90), 3000):
        text = "".join(chr(97 + (n + i) % 26) for i in range(n))
        member.commit(0, n, text)
        assert committed_offset(kafka, group, topic) == (n, text)
    member.close()


class ProducerWithLostError:
    """A producer whose flush fails as the client's does when a callback has cleared a fatal error."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def flush(self, seconds: float) -> int:
        with pytest.raises(KafkaException):
            self._producer.flush(seconds)
        raise SystemError("<method 'flush' of 'cimpl.Producer' objects> returned NULL without setting an exception")


def test_a_fatal_error_that_the_client_does_not_report_is_raised(kafka: str, topic: str) -> None:
    create_topic(kafka, topic, 1)
    properties = quiet({"bootstrap.servers": kafka, "transactional.id": unique("transactions")})
    zombie, successor = (ConfluentSender(properties, 0, every_report=False) for _ in range(2))
    zombie.init_transactions(30)
    zombie.begin_transaction()
    successor.init_transactions(30)
    zombie._producer = ProducerWithLostError(zombie._producer)  # type: ignore[assignment]
    zombie.send_one(topic, b"of a dead worker", None)
    with pytest.raises(KafkaException) as fenced:
        zombie.flush(30)
    assert classify(fenced.value.args[0]) is ErrorAction.FENCED


@pytest.mark.parametrize("headers", [None, [[("key", b"value")]]])
@pytest.mark.parametrize("client", [NATIVE, PYTHON])
def test_a_sender_that_was_fenced_before_it_sends_says_so(
    kafka: str, topic: str, client: str, headers: Headers | None
) -> None:
    create_topic(kafka, topic, 1)
    properties = quiet({"bootstrap.servers": kafka, "transactional.id": unique("transactions")})
    zombie, successor = (client_factory.make_sender(client, properties, 0, every_report=True) for _ in range(2))
    zombie.init_transactions(30)
    zombie.begin_transaction()
    successor.init_transactions(30)
    zombie.send_one(topic, b"of a dead worker", None)
    with contextlib.suppress(KafkaException):
        zombie.flush(30)
    with pytest.raises(KafkaException) as raised:
        zombie.send(topic, ListColumn([b"another"]), ListColumn([None]), headers)
    assert classify(raised.value.args[0]) is ErrorAction.FENCED


def test_an_exception_that_is_not_a_fatal_error_is_not_reported_as_one(kafka: str) -> None:
    properties = quiet({"bootstrap.servers": kafka, "transactional.id": unique("transactions")})
    sender = ConfluentSender(properties, 0, every_report=False)
    sender.init_transactions(30)
    sender.begin_transaction()
    with pytest.raises(SystemError), reported_fatal_error(sender._producer):
        raise SystemError


@pytest.mark.parametrize("client", [NATIVE, PYTHON])
def test_the_leader_epoch_of_records_is_known(kafka: str, topic: str, client: str) -> None:
    """It is 0 for a topic's first leader; a restore uses it to recognise records that replaced others."""
    create_topic(kafka, topic)
    produce(kafka, topic, [b"one", b"other"])
    with closing(client_factory.make_fetcher(client, {"bootstrap.servers": kafka, **READER}, topic)) as fetcher:
        fetcher.assign({0: 0})
        (found,) = await_until(lambda: fetcher.poll(10, 1.0).records, 30, "records")
    assert found.epoch == 0
    assert found.before(1).epoch is None, "it is not known for a part of a batch"


@pytest.mark.parametrize("client", [NATIVE, PYTHON])
def test_a_member_knows_the_log_ends_of_partitions_that_it_has_fetched(
    kafka: str, topic: str, group: str, client: str
) -> None:
    create_topic(kafka, topic, 2)
    produce(kafka, topic, [b"row"] * 300, 1)
    properties = {"bootstrap.servers": kafka, "group.id": group, "auto.offset.reset": "earliest"}
    member = client_factory.make_member(client, properties, topic, incremental=False)
    assert max(map(member.fetched_end, range(2))) < 0, "nothing has been fetched"

    def assigned(partitions: list[int]) -> None:
        member.assign_paused(partitions)
        member.resume(1)

    member.subscribe(assigned, member.unassign, member.unassign)
    (found,) = await_until(lambda: member.poll(10, 1.0).records, 30, "records")
    assert len(found) <= 10
    assert member.fetched_end(1) == 300
    assert member.fetched_end(0) <= 0, "not known while it is paused, or known to be empty"
    assert member.fetched_end(7) < 0, "a partition that does not exist, as after the topic was deleted"
    member.close()

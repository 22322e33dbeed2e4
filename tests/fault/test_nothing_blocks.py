"""Problems of one partition never block the loop: the others continue, and rebalances are answered in time."""

from __future__ import annotations

import time
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaException

from driftway.learners import Spec
from driftway.worker.kafka import deadline
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from driftway.worker.kafka.client_factory import make_member
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import reader_properties
from driftway.worker.kafka.log_reader.topic_facts import UNKNOWN_IDS
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.stream.background import restores
from driftway.worker.stream.background.restores import PendingRestores
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.stream.task.committing.exactly_once import ExactlyOnceCheckpoint
from driftway.worker.stream.worker import COMMIT_SECONDS
from tests.support.crash import FaultyDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.groups import member
from tests.support.kafka import admin, await_until
from tests.support.process import Driftway
from tests.support.proxy import ADD_OFFSETS, END_TXN, ILLEGAL_GENERATION, INIT_PRODUCER_ID, Proxy

pytestmark = pytest.mark.timeout(300)  # as by default; those with a limit start before others

STANDSTILL_SECONDS = 5.0


def test_a_slow_restore_of_one_partition_does_not_delay_the_others(kafka: str) -> None:
    """The coordinator answers late when partition 0 is taken over; partition 1 is not delayed."""
    scenario = FaultScenario(kafka, partitions=2, rows=1200)
    with (
        Proxy(kafka) as proxy,
        scenario.auditor() as auditor,
        Driftway(*scenario.worker("--bootstrap", proxy.bootstrap)) as worker,
    ):
        worker.await_text("running partition=1")
        worker.await_text("running partition=0")
        scenario.fill(0, 200)
        auditor.await_all(400)
        first = f"{scenario.group}/{scenario.topic}/0".encode()
        proxy.hold(INIT_PRODUCER_ID, END_TXN, requests=1000, about=first)  # a takeover or an abort
        proxy.fail(ADD_OFFSETS, ILLEGAL_GENERATION, about=first)
        scenario.fill(200, 300)
        await_until(proxy.held.total, 30, "partition 0 is being taken over")
        for begin in range(300, 1200, 100):
            began = time.monotonic()
            scenario.fill(begin, begin + 100, among=[1])
            await_until(lambda upto=begin + 99: auditor.last[1] == upto, 30, "partition 1 goes on")
            assert time.monotonic() - began < STANDSTILL_SECONDS
        assert auditor.last[0] == 199
        proxy.forget()
        scenario.fill(300, among=[0])
        auditor.await_all(2400, 60)
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    auditor.require(scenario.expected)


@pytest.mark.parametrize("protocol", ["range", pytest.param("consumer", marks=pytest.mark.slow)])
def test_a_revocation_ends_long_before_the_rebalance_times_out(kafka: str, protocol: str) -> None:
    """A hanging commit may take 8 s, as long as the group waits; the whole revocation is limited to 3 s."""
    scenario = FaultScenario(kafka, partitions=2, rows=1200)
    hurried = ("-X", "max.poll.interval.ms=8000", *(("-X", "session.timeout.ms=7000") if protocol == "range" else ()))
    arguments = member(scenario, protocol, "unnamed", *hurried)
    with scenario.auditor() as auditor, FaultyDriftway("stall=25", Step.FLUSHED, 5, *arguments) as stuck:
        stuck.await_text("running partition=1")
        stuck.await_text("running partition=0")
        fed = scenario.feed_until(auditor, lambda: auditor.seen >= 800, 1200)
        with Driftway(*arguments) as successor:
            successor.await_text("subscribed")
            successor.await_text("running", 8)
            assert "lost partitions" not in stuck.stderr, stuck.summary()
            scenario.fill(fed)
            auditor.await_all(2400, 60)
            for one in (stuck, successor):
                one.terminate()
            assert [stuck.wait(), successor.wait()] == [0, 0], stuck.summary()
    auditor.require(scenario.expected)


def test_a_last_commit_that_does_not_return_is_reported(kafka: str) -> None:
    """It waits for a deleted topic. The next worker creates the topic again, and writes the missing predictions."""
    scenario = FaultScenario(kafka, partitions=1, rows=2000)
    client, topic = admin(kafka), f"{scenario.prefix}.accuracy"  # a collected client never answers
    with Driftway(*scenario.worker()) as worker:
        worker.await_text("running")
        client.delete_topics([topic])[topic].result(timeout=20)
        await_until(lambda: topic not in client.list_topics(timeout=10).topics, 30, "the topic is gone")
        scenario.fill(0, 2000)
        time.sleep(2)  # no condition to wait for: a commit has begun, and does not return
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
        assert "last commit failed partition=0 error=the client did not return" in worker.stderr, worker.summary()
    with scenario.auditor() as auditor, Driftway(*scenario.worker()):
        auditor.await_all(2000)


def test_the_timeout_of_a_restore_starts_when_the_restore_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time spent waiting in the queue does not count against a restore's timeout."""
    go_on, budgets, clock = Event(), [], SimpleNamespace(now=0.0)
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def slow(*given: Any) -> None:
        budgets.append(given[4].left)
        go_on.wait(10)

    monkeypatch.setattr(restores, "restore", slow)
    monkeypatch.setattr(restores, "MAX_CONCURRENT", 1)
    tasks: list[Any] = [
        SimpleNamespace(
            partition=p, checkpoint=None, in_memory_offset=None, new_model=None, input_count=SimpleNamespace(gap=None)
        )
        for p in range(3)
    ]
    ids: Any = SimpleNamespace(ask=lambda _deadline, _since: UNKNOWN_IDS)
    line = PendingRestores(SimpleNamespace(), ids)  # type: ignore[arg-type]
    for task in tasks:
        line.submit(task, 5.0)
    await_until(lambda: len(budgets) == 1, 10, "the first has begun")
    clock.now += 1.0  # time in the queue must not count
    go_on.set()
    done: list[int] = []
    await_until(lambda: done.extend(e.task.partition for e in line.collect()) or len(done) == 3, 10, "all are done")
    assert done == [0, 1, 2]
    assert all(budget > 4.9 for budget in budgets), budgets


@pytest.mark.slow
@pytest.mark.parametrize("client", [PYTHON, NATIVE])
def test_an_unanswered_request_ends_with_the_deadline_of_its_commit(kafka: str, client: str) -> None:
    """The client's call outlives its own timeout, so an abandoned commit holds threads and descriptors until then."""
    scenario = FaultScenario(kafka, partitions=1, rows=1)
    with Proxy(kafka) as proxy:
        model = ModelSettings((Spec.parse(LEARNER),))
        settings = WorkerSettings(proxy.bootstrap, scenario.topic, scenario.group, model, client=client)
        checkpoint = ExactlyOnceCheckpoint(settings, 0)
        checkpoint.acquire(Deadline(30))
        member = make_member(client, reader_properties(settings), scenario.topic, incremental=False)
        proxy.lose(ADD_OFFSETS)
        began = time.monotonic()
        with pytest.raises(KafkaException, match="Timed out"):
            checkpoint.sender.send_offsets({scenario.topic: (1, None)}, member.metadata(), 1.0)
        assert time.monotonic() - began < COMMIT_SECONDS + 5
        assert proxy.lost[ADD_OFFSETS] == 1
        member.close()
        checkpoint.close_producer()

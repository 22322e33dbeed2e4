"""Constant rebalances and similar disturbances never affect the outputs."""

from __future__ import annotations

import contextlib
import time

import pytest

from driftway.worker.stream.task.committing.checkpoint import Step
from tests.support.brokers import own_broker
from tests.support.crash import FaultyDriftway
from tests.support.fault_scenario import FaultScenario
from tests.support.groups import member
from tests.support.kafka import await_until
from tests.support.process import Driftway, driftway, stop
from tests.support.slow_restore import SlowRestoreDriftway

pytestmark = pytest.mark.timeout(300)  # as by default; those with a limit start before others

EVERY_SECONDS = 2.0
"""Time between two members that join or leave."""
SILENCE_SECONDS = 15.0
"""Longest time during the rebalances without a new prediction, on a busy machine."""
GRACE_SECONDS = 20.0


@pytest.mark.parametrize(
    ("protocol", "seconds"),
    [
        ("range", 12),
        pytest.param("range", 20, marks=pytest.mark.slow),
        pytest.param("cooperative", 20, marks=pytest.mark.slow),
        pytest.param("consumer", 20, marks=pytest.mark.slow),
        pytest.param("range", 60, marks=pytest.mark.slow),
        pytest.param("cooperative", 60, marks=pytest.mark.slow),
        pytest.param("consumer", 60, marks=pytest.mark.slow),
    ],
)
def test_constant_rebalances_neither_stop_nor_change_predictions(kafka: str, protocol: str, seconds: int) -> None:
    """A member joins or leaves every 2 s while rows keep arriving; predictions keep coming."""
    turns, per_turn = int(seconds / EVERY_SECONDS), 200
    scenario = FaultScenario(kafka, partitions=4, rows=turns * per_turn)
    with scenario.auditor() as auditor, contextlib.ExitStack() as stack:

        def join() -> Driftway:
            return stack.enter_context(Driftway(*member(scenario, protocol, "unnamed")))

        members, left = [join()], []
        members[0].await_text("running")
        for turn in range(turns):
            began, before = time.monotonic(), auditor.seen
            if turn % 2 == 0:
                members.append(join())
            else:
                left.append(members.pop(0))
                left[-1].terminate()
            scenario.fill(turn * per_turn, (turn + 1) * per_turn)
            await_until(lambda before=before: auditor.seen > before, SILENCE_SECONDS, "something new was predicted")
            time.sleep(max(0.0, began + EVERY_SECONDS - time.monotonic()))  # pace of the rebalances
        await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
        stop(*members)
        for worker in left:
            assert worker.wait() == 0, worker.summary()
    auditor.require(scenario.expected)


def test_sigterm_during_a_restore_ends_the_worker_in_time(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=1000)
    with scenario.auditor() as auditor:
        with Driftway(*scenario.worker()) as first:
            scenario.fill(0, 500)
            await_until(lambda: auditor.seen >= 1000, 60, "first rows predicted")
            first.kill()
        scenario.fill(500)
        with SlowRestoreDriftway(3.0, *scenario.worker()) as second:
            second.await_text("assigned partitions=[0, 1]")
            second.terminate()
            assert second.wait(GRACE_SECONDS) == 0, second.summary()
            assert "restored" not in second.stderr
            assert "left" in second.stderr
        with Driftway(*scenario.worker("--stop-at-end")) as last:
            assert last.wait() == 0, last.summary()
        await_until(lambda: auditor.seen >= len(scenario.expected), 30, "every row predicted")
    auditor.require(scenario.expected)


def test_a_rebalance_during_a_restore_starts_no_partition_twice(kafka: str) -> None:
    """Partitions that move during their restore are restored by their final owner."""
    scenario = FaultScenario(kafka, partitions=4, rows=1000)
    with scenario.auditor() as auditor:
        with Driftway(*scenario.worker()) as first:
            scenario.fill(0, 500)
            await_until(lambda: auditor.seen >= 2000, 60, "first rows predicted")
            first.kill()
        with SlowRestoreDriftway(2.0, *scenario.worker()) as second:
            second.await_text("assigned partitions=[0, 1, 2, 3]")
            with Driftway(*scenario.worker()) as third:
                scenario.fill(500)
                await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
                third.await_text("subscribed")  # a SIGTERM during Python's start would just kill it
                stop(second, third)
    auditor.require(scenario.expected)


def test_a_worker_without_partitions_stands_by_and_takes_over(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=1500)
    with scenario.auditor() as auditor, contextlib.ExitStack() as stack:
        workers = [stack.enter_context(Driftway(*scenario.worker())) for _ in range(3)]
        scenario.fill(0, 500)
        await_until(lambda: auditor.seen >= 1000, 60, "first rows predicted")
        for worker in workers:
            worker.await_text("assigned")

        def owned(worker: Driftway) -> str:
            return worker.stderr.rpartition("assigned partitions=")[2].partition("\n")[0]

        await_until(lambda: sorted(map(owned, workers)) == ["[0]", "[1]", "[]"], 30, "one stands by")
        (standby,) = [worker for worker in workers if owned(worker) == "[]"]
        owners = [worker for worker in workers if worker is not standby]
        owners[0].kill()
        scenario.fill(500, 1000)
        await_until(lambda: auditor.seen >= 2000, 60, "the standby predicts")
        owners[1].kill()
        scenario.fill(1000)
        await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
        stop(standby)
    auditor.require(scenario.expected)


def test_a_rolling_restart_of_static_members_causes_no_rebalance(kafka: str) -> None:
    """Each member is back before its session expires: the others see no rebalance, and none relearns its state."""
    scenario, names = FaultScenario(kafka, partitions=3, rows=1500), ("one", "two", "three")
    patient = ("-X", "session.timeout.ms=30000")
    with scenario.auditor() as auditor, contextlib.ExitStack() as stack:

        def start(name: str) -> Driftway:
            return stack.enter_context(Driftway(*member(scenario, "static", name, *patient)))

        workers = {name: start(name) for name in names}
        scenario.fill(0, 300)
        await_until(lambda: auditor.seen >= 900, 60, "first rows predicted")
        await_until(lambda: all("running" in w.stderr for w in workers.values()), 60, "each of them owns a partition")
        for turn, name in enumerate(names, start=1):
            before = {other: workers[other].stderr.count("assigned") for other in names if other != name}
            stop(workers[name])
            scenario.fill(turn * 300, (turn + 1) * 300)
            workers[name] = start(name)
            workers[name].await_text("running")
            wanted = (turn + 1) * 900
            await_until(lambda wanted=wanted: auditor.seen >= wanted, 60, f"{wanted} rows predicted")
            for other, count in before.items():
                assert workers[other].stderr.count("assigned") == count, workers[other].summary()
            assert "restored partition=" in workers[name].stderr
            assert "committed=0\n" not in workers[name].stderr, workers[name].summary()
        scenario.fill(1200)
        await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
        stop(*workers.values())
    auditor.require(scenario.expected)


def test_a_broker_that_is_down_at_the_start_is_reported(request: pytest.FixtureRequest) -> None:
    """Once the broker is up, the same command succeeds."""
    with own_broker(request.config) as kafka:
        scenario = FaultScenario(kafka.bootstrap, partitions=1, rows=500)
        scenario.fill()
        kafka.kill()
        done = driftway(*scenario.worker("--stop-at-end"))
        assert done.code == 5, done.stderr
        assert done.stderr == f"driftway: no Kafka broker answered at {kafka.bootstrap} within 7 s\n"
        kafka.restart()
        with scenario.auditor() as auditor:
            done = driftway(*scenario.worker("--stop-at-end"))
            assert done.code == 0, done.stderr
            await_until(lambda: auditor.seen >= len(scenario.expected), 30, "every row predicted")
        auditor.require(scenario.expected)


@pytest.mark.parametrize("protocol", ["range", pytest.param("cooperative", marks=pytest.mark.slow)])
def test_a_member_that_does_not_poll_in_time_is_replaced_and_rejoins(kafka: str, protocol: str) -> None:
    """Its heartbeats continue, so only `max.poll.interval.ms` reveals that it is stuck."""
    scenario, hurried = FaultScenario(kafka, partitions=2, rows=1500), ("-X", "max.poll.interval.ms=3000")
    arguments = member(scenario, protocol, "unnamed", *hurried)
    with scenario.auditor() as auditor, FaultyDriftway("stall=10", Step.BEGUN, 5, *arguments) as stuck:
        stuck.await_text("subscribed")
        with Driftway(*arguments) as successor:
            successor.await_text("running")
            stuck.await_text("running")
            scenario.fill(0, 500)
            await_until(lambda: auditor.seen >= 1000, 60, "first rows predicted")
            for first in range(500, 1000, 100):
                scenario.fill(first, first + 100)
                wanted = 2 * (first + 100)
                await_until(lambda wanted=wanted: auditor.seen >= wanted, 60, f"{wanted} rows predicted")
            assert successor.stderr.count("assigned") >= 2, "no other member had to take over"
            stuck.await_text("lost partitions", 30)
            scenario.fill(1000)
            await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
            stop(stuck, successor)
    auditor.require(scenario.expected)

"""What a dead or frozen worker leaves behind: an open transaction, and ownership of its partitions."""

from __future__ import annotations

import time

from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.stream.task.committing.exactly_once import TRANSACTION_TIMEOUT_MS
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import SESSION_MS, FaultScenario
from tests.support.kafka import await_until
from tests.support.process import Driftway, driftway


def test_readers_see_new_predictions_despite_a_dead_workers_open_transaction(kafka: str) -> None:
    """The successor's `init_transactions` aborts it at once; the transaction timeout would take a minute."""
    scenario = FaultScenario(kafka, partitions=1)
    scenario.fill(0, 1000)
    with scenario.auditor() as auditor:
        with CrashingDriftway(Step.FLUSHED, 1, *scenario.worker()) as victim:
            assert victim.wait() == -9, victim.summary()
        assert auditor.seen == 0, "nothing was committed"
        died = time.monotonic()
        with Driftway(*scenario.worker()) as successor:
            scenario.fill(1000)
            await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
            assert time.monotonic() - died < TRANSACTION_TIMEOUT_MS / 1000 / 2
            successor.terminate()
            assert successor.wait() == 0, successor.summary()
    auditor.require(scenario.expected)


def test_a_frozen_worker_writes_nothing_visible_after_its_partitions_have_moved(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2)
    scenario.fill(0, 500)
    with scenario.auditor() as auditor, Driftway(*scenario.worker()) as zombie:
        await_until(lambda: auditor.seen >= 1000, 60, "first rows predicted")
        scenario.fill(500, 700)
        zombie.freeze()
        with Driftway(*scenario.worker()) as successor:
            successor.await_text("running", SESSION_MS / 1000 + 30)
            scenario.fill(700, 1500)
            await_until(lambda: auditor.seen >= 3000, 60, "the successor predicts")
            zombie.thaw()
            zombie.await_text("lost")
            scenario.fill(1500)
            await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
            for worker in (zombie, successor):
                worker.terminate()
                assert worker.wait() == 0, worker.summary()
    auditor.require(scenario.expected)


def test_no_row_is_lost_or_repeated_on_sigterm(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=3000)
    with scenario.auditor() as auditor:
        for first in range(0, scenario.rows, 1000):
            with Driftway(*scenario.worker()) as worker:
                worker.await_text("running")
                scenario.fill(first, first + 1000)
                await_until(lambda first=first: auditor.seen > 2 * first, 60, "some rows predicted")
                worker.terminate()
                assert worker.wait() == 0, worker.summary()
                assert "left" in worker.stderr
        with Driftway(*scenario.worker("--stop-at-end")) as last:
            assert last.wait() == 0, last.summary()
        await_until(lambda: auditor.seen >= len(scenario.expected), 30, "every row predicted")
    auditor.require(scenario.expected)


def test_a_takeover_does_not_wait_for_a_timeout(kafka: str) -> None:
    """`make long-log` measures how fast it is."""
    scenario = FaultScenario(kafka, partitions=2, rows=4000)
    scenario.fill(0, 3000)
    with scenario.auditor() as auditor, Driftway(*scenario.worker()) as victim:
        await_until(lambda: auditor.seen >= 6000, 60, "first rows predicted")
        with Driftway(*scenario.worker()) as successor:
            successor.await_text("subscribed")
            victim.kill()
            scenario.fill(3000)
            successor.await_text("assigned partitions=[0, 1]")
            assigned = time.monotonic()
            await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
            arrivals = [auditor.arrivals[p, 3999] for p in (0, 1)]
            assert max(arrivals) - assigned < TRANSACTION_TIMEOUT_MS / 1000 / 4, successor.summary()
            successor.terminate()
            assert successor.wait() == 0
    auditor.require(scenario.expected)


def test_snapshots_are_listed_at_once_after_a_worker_was_killed(kafka: str) -> None:
    """Its offset is in an open transaction: the last committed one is listed, without waiting for its end."""
    scenario = FaultScenario(kafka, partitions=1)
    scenario.fill(0, 1000)
    with Driftway(*scenario.worker("--stop-at-end")) as first:
        assert first.wait() == 0, first.summary()
    scenario.fill(1000)
    with CrashingDriftway(Step.OFFSETS_SENT, 1, *scenario.worker()) as victim:
        assert victim.wait() == -9, victim.summary()
    died = time.monotonic()
    done = driftway("snapshot", "list", *scenario.options, "--json")
    assert done.code == 0, done
    assert time.monotonic() - died < TRANSACTION_TIMEOUT_MS / 1000 / 4
    assert '"committed":1000' in done.stdout.replace(" ", "")

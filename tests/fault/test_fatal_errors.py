"""Fatal errors of clients: the worker exits with a message or replaces the client; it never hangs."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from driftway.learners import Spec
from driftway.worker.settings import ModelSettings, WorkerSettings
from driftway.worker.stream.background.call import GRACE_SECONDS
from driftway.worker.stream.consumer.partition_consumer import PartitionConsumer
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.metrics import WorkerMetrics
from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.stream.worker import COMMIT_SECONDS, Worker
from tests.support.brokers import own_broker
from tests.support.crash import KILL, SECOND, FaultyDriftway, take_over
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.groups import member
from tests.support.kafka import await_until
from tests.support.process import Driftway


def test_a_second_member_of_the_same_name_ends_the_first_with_exit_code_3(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=200)
    with Driftway(*member(scenario, "static", "same")) as first:
        first.await_text("running")
        with Driftway(*member(scenario, "static", "same")) as second:
            second.await_text("running")
            assert first.wait(10) == 3, first.summary()
            assert "Traceback" not in first.stderr
            second.terminate()
            assert second.wait() == 0


def test_a_worker_fenced_while_it_writes_a_snapshot_continues(kafka: str) -> None:
    """Its stderr has log lines only: the client does not print the fencing itself."""
    scenario = FaultScenario(kafka, partitions=1, rows=600)
    with (
        scenario.auditor() as auditor,
        FaultyDriftway(SECOND, Step.OUTPUTS_PRODUCED, 1, *scenario.worker("--log-format", "json")) as victim,
    ):
        victim.await_text("running")
        scenario.fill()
        victim.await_condition(lambda: auditor.seen >= len(scenario.expected), "every row predicted")
        victim.terminate()
        assert victim.wait() == 0, victim.summary()
        assert "fenced" in {json.loads(line).get("action") for line in victim.stderr.splitlines()}
    auditor.require(scenario.expected)


@pytest.mark.slow
def test_a_worker_fenced_repeatedly_from_outside_its_group_ends_with_exit_code_3(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=1000)
    with scenario.auditor() as auditor, Driftway(*scenario.worker()) as victim:
        victim.await_text("running")
        for turn in itertools.count():
            take_over(list(scenario.worker()), partition=0)
            scenario.fill(20 * turn, 20 * (turn + 1))
            wanted = 20 * (turn + 1)
            await_until(
                lambda wanted=wanted: auditor.seen >= wanted or victim.process.poll() is not None,
                30,
                "it goes on or ends",
            )
            if victim.process.poll() is not None:
                break
        assert victim.wait() == 3, victim.summary()
        assert "in a row, by somebody outside the group" in victim.stderr
        assert "Traceback" not in victim.stderr
        with Driftway(*scenario.worker()) as successor:
            scenario.fill(20 * (turn + 1))
            successor.await_condition(lambda: auditor.seen >= len(scenario.expected), "every row predicted")
            successor.terminate()
            assert successor.wait() == 0, successor.summary()
    auditor.require(scenario.expected)


def test_partitions_assigned_while_a_worker_leaves_are_not_started(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebalance may assign partitions while the worker leaves, inside the consumer's close."""
    scenario = FaultScenario(kafka, partitions=1, rows=10)
    model = ModelSettings((Spec.parse(LEARNER),), n_features=4)
    worker = Worker(
        WorkerSettings(kafka, scenario.topic, scenario.group, model, stop_at_end=True),
        EventLog(),
        WorkerMetrics(scenario.group, scenario.topic),
    )
    close = PartitionConsumer.close

    def assign_and_close(consumer: PartitionConsumer) -> None:
        worker._assigned([0])
        close(consumer)

    monkeypatch.setattr(PartitionConsumer, "close", assign_and_close)
    scenario.fill()
    worker.run()
    assert not worker.tasks


@pytest.mark.slow
@pytest.mark.parametrize("step", [Step.OUTPUTS_PRODUCED, Step.FLUSHED, Step.OFFSETS_SENT])
def test_a_hanging_commit_is_abandoned_and_changes_nothing_when_it_resumes(kafka: str, step: Step) -> None:
    """Its thread resumes long after the task has continued with a new client."""
    scenario, asleep = FaultScenario(kafka, partitions=2, rows=1200), COMMIT_SECONDS + GRACE_SECONDS + 10
    with scenario.auditor() as auditor, FaultyDriftway(f"stall={asleep}", step, 3, *scenario.worker()) as worker:
        worker.await_text("running")
        fed = scenario.feed_until(auditor, lambda: "did not return" in worker.stderr, scenario.rows - 200)
        scenario.fill(fed)
        worker.await_condition(lambda: auditor.seen >= len(scenario.expected), "every row predicted")
        time.sleep(asleep - COMMIT_SECONDS - GRACE_SECONDS)  # until the stalled thread has resumed
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
        assert worker.stderr.count("did not return") == 1
    auditor.require(scenario.expected)


@pytest.mark.slow
def test_a_worker_survives_a_broker_restart_during_a_commit(request: pytest.FixtureRequest) -> None:
    with own_broker(request.config) as kafka:
        scenario = FaultScenario(kafka.bootstrap, rows=1600)
        arguments = member(scenario, "cooperative", "worker", "-X", "reconnect.backoff.max.ms=300")
        with (
            scenario.auditor() as auditor,
            FaultyDriftway(f"{KILL}={kafka.pid}", Step.FLUSHED, 7, *arguments) as worker,
        ):
            worker.await_text("running")
            fed = scenario.feed_until(auditor, lambda: kafka.exit_code() is not None, scenario.rows)
            kafka.restart()
            scenario.fill(fed)
            worker.await_condition(lambda: auditor.seen >= len(scenario.expected), "every row predicted")
            worker.terminate()
            assert worker.wait() == 0, worker.summary()
        auditor.require(scenario.expected)

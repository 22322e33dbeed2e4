"""Outputs that the broker refuses, once or always: none is skipped, and retries end."""

from __future__ import annotations

import time

import pytest

from tests.support.audit import bits, placed_score
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until, committed_offset, read_all
from tests.support.kafka_commands import apply
from tests.support.process import Driftway
from tests.support.proxy import PRODUCE, Proxy
from tests.support.selection import slow_but


@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], ["exactly-once", "at-least-once"]))
def test_a_worker_ends_and_names_the_setting_if_an_output_refuses_records(kafka: str, guarantee: str) -> None:
    """A compacted topic refuses records without a key, and these events have none."""
    scenario = FaultScenario(kafka, partitions=1, rows=300, configs={"predictions": {"cleanup_policy": "compact"}})
    scenario.fill()
    with Driftway(*scenario.worker("--guarantee", guarantee)) as worker:
        assert worker.wait(120) == 1, worker.summary()
        sentence = worker.stderr.splitlines()[-1]
        assert "Traceback" not in worker.stderr
    refused = f"{scenario.topic}/0: {scenario.prefix}.predictions has cleanup.policy compact: no record without a key "
    assert sentence.startswith(f"driftway: {refused}")
    assert "--add-config cleanup.policy=delete` sets another" in sentence
    assert committed_offset(kafka, scenario.group, scenario.topic)[0] < 0


@pytest.mark.parametrize("topic", slow_but(["predictions"], ["predictions", "snapshots"]))
def test_a_worker_whose_timestamps_an_output_refuses_names_the_setting_and_goes_on_once_it_is_raised(
    kafka: str, topic: str
) -> None:
    """As with a clock that is an hour ahead of the broker's, whose outputs Kafka refuses by default."""
    setting = "message.timestamp.before.max.ms"
    scenario = FaultScenario(kafka, partitions=1, rows=300, configs={topic: {setting.replace(".", "_"): "1"}})
    scenario.fill()
    with Driftway(*scenario.worker()) as worker:
        worker.await_text("commit failed")
        (refused, *_) = [line for line in worker.stderr.splitlines() if "commit failed" in line]
        assert f"{scenario.prefix}.{topic}" in refused
        assert setting in refused
        place = f"--bootstrap-server {kafka} --entity-type topics --entity-name {scenario.prefix}.{topic}"
        apply(f"kafka-configs.sh --alter {place} --add-config {setting}=3600000")
        await_until(
            lambda: committed_offset(kafka, scenario.group, scenario.topic)[0] == 300, 60, "all rows are committed"
        )
        worker.terminate()
        assert worker.wait() == 0, worker.summary()


def test_the_ownership_record_may_take_longer_than_outputs(kafka: str) -> None:
    """It is written to a topic that was just created and may have no leader yet."""
    scenario = FaultScenario(kafka, partitions=1, rows=50)
    scenario.fill()
    with Proxy(kafka) as proxy:
        proxy.hold(PRODUCE, about=b".snapshots")
        hurried = "--stop-at-end", "-X", "delivery.timeout.ms=1000"
        with Driftway(*scenario.worker("--bootstrap", proxy.bootstrap, *hurried)) as worker:
            worker.await_condition(lambda: proxy.held[PRODUCE], "the ownership record is on its way")
            proxy.shut = True
            time.sleep(1.5)
            proxy.shut = False
            assert worker.wait(60) == 0, worker.summary()
    assert committed_offset(kafka, scenario.group, scenario.topic)[0] == 50


def test_without_transactions_undelivered_outputs_are_sent_again(kafka: str) -> None:
    """The message timed out, so the flush returned without an error; the offset must not be committed past it."""
    scenario = FaultScenario(kafka, partitions=1, rows=600)
    hurried = ("--guarantee", "at-least-once", "-X", "message.timeout.ms=1000")
    with Proxy(kafka) as proxy, Driftway(*scenario.worker("--bootstrap", proxy.bootstrap, *hurried)) as worker:
        worker.await_text("running")
        scenario.fill(0, 200)
        await_until(
            lambda: committed_offset(kafka, scenario.group, scenario.topic)[0] == 200, 30, "first rows are committed"
        )
        proxy.hold(PRODUCE, about=b".predictions")
        proxy.shut = True
        scenario.fill(200, 300)
        await_until(lambda: proxy.held[PRODUCE], 30, "predictions are on their way")
        await_until(
            lambda: (
                "commit failed" in worker.stderr or committed_offset(kafka, scenario.group, scenario.topic)[0] == 300
            ),
            60,
            "they were not delivered",
        )
        proxy.shut = False
        scenario.fill(300)
        await_until(
            lambda: committed_offset(kafka, scenario.group, scenario.topic)[0] == 600, 60, "all rows are committed"
        )
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    found = [placed_score(record.value or b"") for record in read_all(kafka, f"{scenario.prefix}.predictions")]
    assert {place for place, _ in found} == scenario.expected.keys(), "none is missing; some may be written twice"
    assert all(bits(score) == bits(scenario.expected[place]) for place, score in found)

"""Partitions are added to the input, with and without running workers: outputs grow too, and every row is read."""

from __future__ import annotations

import json

import pytest

from driftway.worker.kafka.topics import partition_counts
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import admin, await_until, read_all
from tests.support.process import Driftway, driftway
from tests.support.selection import slow_but

SOON = ("-X", "topic.metadata.refresh.interval.ms=1000")


def counts(scenario: FaultScenario) -> dict[str, int]:
    """Number of partitions of each output."""
    present = partition_counts(admin(scenario.bootstrap).list_topics(timeout=10))
    return {name.rpartition(".")[2]: n for name, n in present.items() if name.startswith(f"{scenario.prefix}.")}


def test_partitions_added_under_load_are_predicted_from_their_beginning_without_a_restart(kafka: str) -> None:
    """This holds even with `--start latest`: the new partitions did not exist when the group started."""
    scenario = FaultScenario(kafka, partitions=4, rows=1500, at_first=2)
    arguments = scenario.worker(*SOON, "--start", "latest")
    with Driftway(*arguments) as one, Driftway(*arguments) as other:
        for worker in (one, other):
            worker.await_text("running partition=")
        # Rows that arrive before a partition's first restore are before `latest`, where the group begins.
        for line in ("running partition=0", "running partition=1"):
            await_until(lambda: any(line in one_.stderr for one_ in (one, other)), 60, line)  # noqa: B023 - called at once
        scenario.fill(0, 500, among=(0, 1))
        await_until(lambda: seen(scenario) == 1000, 60, "rows of the first partitions predicted")
        scenario.grow()
        scenario.fill(0, 500, among=(2, 3))
        for first in range(500, 1500, 100):
            scenario.fill(first, first + 100)
        await_until(lambda: seen(scenario) == 6000, 90, "all rows predicted")
        for worker in (one, other):
            worker.terminate()
            assert worker.wait() == 0, worker.summary()
    require_all(scenario)
    assert counts(scenario) == dict.fromkeys(("predictions", "accuracy", "rejected", "snapshots"), 4)


def test_an_audit_with_the_offset_where_the_group_began_knows_that_later_partitions_begin_at_0(kafka: str) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=100, at_first=1)
    work = scenario.worker("--start", "20", "--stop-at-end")
    scenario.fill(among=[0])
    assert driftway(*work).code == 0
    scenario.grow()
    scenario.fill(among=[1])
    assert driftway(*work).code == 0
    done = driftway("audit", *scenario.options, "--start", "20", "--json")
    assert done.code == 0, done
    assert [(one["begin"], one["predictions"]) for one in json.loads(done.stdout)["partitions"]] == [(20, 80), (0, 100)]


def seen(scenario: FaultScenario) -> int:
    """Number of predictions so far."""
    return len(read_all(scenario.bootstrap, f"{scenario.prefix}.predictions"))


def require_all(scenario: FaultScenario) -> None:
    """Check that every row is predicted exactly once, with a new reader that knows all partitions."""
    with scenario.auditor() as auditor:
        auditor.await_all(len(scenario.expected))
    auditor.require(scenario.expected)


@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], ["exactly-once", "at-least-once"]))
def test_outputs_with_too_few_partitions_at_the_start_get_more(kafka: str, guarantee: str) -> None:
    scenario = FaultScenario(kafka, partitions=3, rows=200, at_first=1)
    arguments = scenario.worker("--stop-at-end", "--guarantee", guarantee)
    scenario.fill(among=(0,))
    with Driftway(*arguments) as worker:
        assert worker.wait() == 0, worker.summary()
    scenario.grow()
    scenario.fill(among=(1, 2))
    with Driftway(*arguments, "--start", "latest") as again:
        assert again.wait() == 0, again.summary()
        assert "added partitions" in again.stderr
    require_all(scenario)

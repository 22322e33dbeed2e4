"""Both guarantees, with every rebalance protocol."""

from __future__ import annotations

from collections import defaultdict

import pytest

from driftway.worker.stream.task.committing.checkpoint import Step
from driftway.worker.wire.codec import read_json
from tests.support.crash import CrashingDriftway
from tests.support.fault_scenario import SESSION_MS, FaultScenario
from tests.support.kafka import Record, await_until, read_all
from tests.support.process import Driftway
from tests.support.selection import slow_but

PROTOCOLS = {
    "range": ("partition.assignment.strategy=range",),
    "cooperative": ("partition.assignment.strategy=cooperative-sticky",),
    "consumer": ("group.protocol=consumer",),
}


def member(scenario: FaultScenario, protocol: str, *more: str) -> Driftway:
    """A worker of the scenario's group; with the new protocol, session and heartbeat are set on the broker."""
    properties = [word for pair in PROTOCOLS[protocol] for word in ("-X", pair)]
    arguments = list(scenario.worker(*properties, *more))
    if protocol == "consumer":
        for name in ("session.timeout.ms", "heartbeat.interval.ms"):
            at = next(i for i, word in enumerate(arguments) if word.startswith(name))
            del arguments[at - 1 : at + 1]
    return Driftway(*arguments)


@pytest.mark.parametrize("protocol", slow_but(["consumer"], PROTOCOLS))
def test_workers_that_join_and_leave_neither_change_scores_nor_cause_gaps(kafka: str, protocol: str) -> None:
    scenario = FaultScenario(kafka, partitions=4, rows=3000)
    with scenario.auditor() as auditor, member(scenario, protocol) as first:
        first.await_text("running")
        scenario.fill(0, 1000)
        await_until(lambda: auditor.seen >= 1000, 60, "the first worker predicts")
        with member(scenario, protocol) as second:
            second.await_text("running")
            scenario.fill(1000, 2000)
            await_until(lambda: auditor.seen >= 6000, 60, "both predict")
            first.terminate()
            assert first.wait() == 0, first.summary()
            scenario.fill(2000)
            with member(scenario, protocol) as third:
                third.await_text("running")
                await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
                for worker in (second, third):
                    worker.terminate()
                    assert worker.wait() == 0, worker.summary()
    auditor.require(scenario.expected)


def by_offset(records: list[Record]) -> dict[tuple[int, int], list[bytes]]:
    """(input partition, offset) -> all its predictions, in log order."""
    found: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    for record in records:
        prediction = read_json(record.value or b"")
        found[prediction["partition"], prediction["offset"]].append(record.value or b"")
    return found


def test_at_least_once_learns_each_row_once_and_repeats_the_same_bytes(kafka: str) -> None:
    """Killed after writing outputs but not their offsets: they appear twice, with equal bytes; no row is missing."""
    scenario = FaultScenario(kafka, partitions=2, rows=3000)
    options = ("--guarantee", "at-least-once", "-X", "group.instance.id=one")
    for turn, (step, nth) in enumerate([(Step.FLUSHED, 1), (Step.OFFSETS_SENT, 2), (Step.COMMITTED, 2)]):
        with CrashingDriftway(step, nth, *scenario.worker(*options)) as victim:
            victim.await_text("running")
            scenario.fill(turn * 1000, (turn + 1) * 1000)
            assert victim.wait() == -9, victim.summary()
    with Driftway(*scenario.worker(*options, "--stop-at-end")) as last:
        assert last.wait() == 0, last.summary()
    found = by_offset(read_all(kafka, f"{scenario.prefix}.predictions", committed=False))
    assert found.keys() == scenario.expected.keys()
    assert {place: read_json(values[-1])["score"] for place, values in found.items()} == scenario.expected
    assert max(len(values) for values in found.values()) > 1, "the kills came too late to have an effect"
    for place, values in found.items():
        assert len(set(values)) == 1, f"{place} was predicted differently: {values}"


def test_at_least_once_repeats_nothing_if_no_worker_dies(kafka: str) -> None:
    """This also holds for a rebalance, as a revoked partition is committed first."""
    scenario = FaultScenario(kafka, partitions=2, rows=2000)
    options = ("--guarantee", "at-least-once")
    with scenario.auditor() as auditor, Driftway(*scenario.worker(*options)) as first:
        first.await_text("running")
        scenario.fill(0, 1000)
        with Driftway(*scenario.worker(*options)) as second:
            second.await_text("running", SESSION_MS / 1000 + 30)
            scenario.fill(1000)
            await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
            for worker in (first, second):
                worker.terminate()
                assert worker.wait() == 0, worker.summary()
    auditor.require(scenario.expected)

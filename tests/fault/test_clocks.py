"""Jumps of the worker's clock and of event timestamps neither change nor delay any output."""

from __future__ import annotations

import json
import time

import numpy as np
from confluent_kafka import Producer

from driftway.worker.kafka.client_config import quiet
from driftway.worker.state.changelog.snapshot_pointer import Pointer
from tests.support.audit import Auditor
from tests.support.clock_jumps import HOUR, ClockJumpDriftway
from tests.support.fault_scenario import LEARNER, FaultScenario
from tests.support.kafka import admin, await_until, committed_offset, read_all
from tests.support.log_times import logged_at
from tests.support.process import Driftway, driftway

JUMPS = (-1, -1, 1, 1, 1, -1, -1, -1)
"""In hours; for two phases the clock is behind by far longer than the test waits."""
SILENCE_SECONDS = 10.0
"""Longest time after a jump until new predictions and a new snapshot, on a busy machine."""
PIECE = 300
DAY_MS = 24 * 3600 * 1000
NEVER_MS = 2**62


def snapshot_offset(scenario: FaultScenario) -> int:
    """Input offset of the newest committed snapshot of partition 0; -1 if there is none."""
    pointer = Pointer.parse(committed_offset(scenario.bootstrap, scenario.group, scenario.topic)[1])
    return -1 if pointer is None else pointer.state_offset


def test_jumps_of_the_wall_clock_neither_change_nor_delay_outputs(kafka: str) -> None:
    """Commits, snapshots and log lines go on as before; only the timestamps in the log jump."""
    scenario = FaultScenario(kafka, partitions=2, rows=PIECE * len(JUMPS))
    by_time = ("--snapshot-interval", "0.01", "--snapshot-rows", "1000000", "--metric-window", "20")
    with scenario.auditor() as auditor, ClockJumpDriftway(*scenario.worker(*by_time, "--log-format", "json")) as worker:
        worker.await_text('"running"')
        began = time.time()
        for turn, hours in enumerate(JUMPS):
            worker.jump(hours)
            first, before = turn * PIECE, snapshot_offset(scenario)
            scenario.fill(first, first + PIECE)
            wanted = 2 * (first + PIECE)
            await_until(lambda wanted=wanted: auditor.seen >= wanted, SILENCE_SECONDS, f"{wanted} rows predicted")
            await_until(lambda before=before: snapshot_offset(scenario) > before, SILENCE_SECONDS, "a new snapshot")
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
        entries = [json.loads(line) for line in worker.stderr.splitlines()]
    auditor.require(scenario.expected)
    assert [fact["event"] for fact in entries if fact["event"] in ("subscribed", "left")] == ["subscribed", "left"]
    assert abs(logged_at(entries[0]) - began) < HOUR / 2
    assert abs(logged_at(entries[-1]) - began - sum(JUMPS) * HOUR) < HOUR / 2, "the clock did not jump"


def allow_any_timestamp(scenario: FaultScenario) -> None:
    """Let the input accept records with timestamps in the future, and retain records with old ones."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    settings = {"message.timestamp.after.max.ms": NEVER_MS, "retention.ms": -1}
    entries = [
        ConfigEntry(key, str(value), incremental_operation=AlterConfigOpType.SET) for key, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, scenario.topic, incremental_configs=entries)
    client = admin(scenario.bootstrap)  # keep a reference: a collected client never answers
    client.incremental_alter_configs([resource])[resource].result(timeout=30)


def fill_at(scenario: FaultScenario, times: dict[int, list[int]], first: int, last: int) -> None:
    """Produce events `first` to `last`, each with its own timestamp, in a few batches."""
    producer = Producer(quiet({"bootstrap.servers": scenario.bootstrap, "max.in.flight": 1}))
    for start in range(first, last, 100):
        for partition, events in scenario.events.items():
            for i in range(start, min(start + 100, last, len(events))):
                producer.produce(scenario.topic, events[i], partition=partition, timestamp=times[partition][i])
        assert producer.flush(30) == 0


def require_whole(auditor: Auditor, scenario: FaultScenario, rejected: int) -> None:
    """Fail unless every row is predicted and every partition's event at offset `rejected` is rejected."""
    auditor.await_all(len(scenario.expected) + scenario.partitions)
    auditor.require(scenario.expected)
    assert auditor.rejected == {(partition, rejected): "not JSON" for partition in scenario.events}


def test_jumps_of_event_timestamps_change_no_prediction(kafka: str) -> None:
    """Only the order of the log matters, also after a crash; a rejection has its event's timestamp."""
    rows = 1000
    scenario, rng = FaultScenario(kafka, partitions=2, rows=rows), np.random.default_rng(3)
    allow_any_timestamp(scenario)
    now, times = int(time.time() * 1000), {}
    for partition, events in scenario.events.items():
        events.append(b"broken")
        times[partition] = (now + rng.integers(-10, 11, len(events)) * DAY_MS).tolist()
    with scenario.auditor() as auditor:
        with Driftway(*scenario.worker()) as first:
            first.await_text("running")
            fill_at(scenario, times, 0, rows // 2)
            await_until(lambda: auditor.seen >= rows, 30, "the first half predicted")
            first.kill()
        fill_at(scenario, times, rows // 2, rows + 1)
        done = driftway(*scenario.worker("--stop-at-end"))
        assert done.code == 0, done.stderr
        require_whole(auditor, scenario, rows)
    timestamps = {r.partition: dict(r.headers)["timestamp"] for r in read_all(kafka, f"{scenario.prefix}.rejected")}
    assert timestamps == {partition: b"%d" % times[partition][rows] for partition in times}
    options = (*scenario.options, "--learner", LEARNER)
    done = driftway("audit", *options)
    assert done.code == 0, done

"""A slow stream with short retention: a restart never needs rows that retention has deleted."""

from __future__ import annotations

import os
import random
import re
import threading

import pytest

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import standalone_consumer, watermarks
from tests.support.brokers import own_broker
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until
from tests.support.process import Driftway

RESTARTS = int(os.environ.get("DRIFTWAY_RESTARTS", "3"))
"""Number of clean restarts, and of kills."""
RETENTION = {"retention_ms": "20000", "segment_ms": "1000", "file_delete_delay_ms": "100"}
"""Long enough for a worker to start and read a row. The test must not run first, when all processes start brokers. So
it has no time limit of its own, as `tests/conftest.py` would then run it first."""
CHECKED_OFTEN = {"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500"}
MAX_RELEARNED = 6
"""Rows after a kill, at one row and one snapshot a second, on a slow machine."""


class SlowStream(threading.Thread):
    """Produces one row of partition 0 a second, after the first row of each partition; a context manager.

    Parameters
    ----------
    scenario : FaultScenario
        The rows.
    """

    def __init__(self, scenario: FaultScenario) -> None:
        super().__init__(name="slow stream", daemon=True)
        self.scenario, self.sent, self._over = scenario, 1, threading.Event()

    def __enter__(self) -> SlowStream:
        self.scenario.fill(0, 1)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        """Produce until the end of the `with` block."""
        while not self._over.wait(1.0):
            self.scenario.fill(self.sent, self.sent + 1, among=[0])
            self.sent += 1


@pytest.mark.slow
def test_restarts_never_need_rows_that_retention_has_deleted(pytestconfig: pytest.Config) -> None:
    """Partition 1 is idle after its first row, which is soon deleted."""
    rng = random.Random(7)
    with own_broker(pytestconfig, CHECKED_OFTEN) as kafka:
        scenario = FaultScenario(kafka.bootstrap, partitions=2, configs={"input": RETENTION})
        options = scenario.worker("--snapshot-rows", "1000000", "--snapshot-interval", "1")
        with scenario.auditor() as auditor:
            with SlowStream(scenario) as stream:
                for number in range(2 * RESTARTS):
                    killed, after_kill = number % 2 == 0, number % 2 == 1
                    with Driftway(*options) as worker:
                        worker.await_condition(lambda worker=worker: worker.stderr.count("running") == 2, "two tasks")
                        assert max(relearned(worker.stderr)) <= (MAX_RELEARNED if after_kill else 0), worker.summary()
                        rows = stream.sent + 2 + rng.randrange(3)
                        await_until(lambda rows=rows: auditor.seen > rows, 60, f"{rows} rows predicted")
                        if killed:
                            worker.kill()
                        else:
                            worker.terminate()
                            assert worker.wait() == 0, worker.summary()
                reader = standalone_consumer({"bootstrap.servers": kafka.bootstrap}, {})
                busy, idle = ((reader, scenario.topic, partition, Deadline(90)) for partition in (0, 1))
                await_until(lambda: watermarks(*busy)[0] > 0, 60, "retention has taken rows")
                await_until(lambda: watermarks(*idle)[0] == 1, 60, "and every row of the idle partition")
                reader.close()
            with Driftway(*options, "--stop-at-end") as last:
                assert last.wait() == 0, last.summary()
            auditor.await_all(stream.sent + 1)
        auditor.require({(p, o): s for (p, o), s in scenario.expected.items() if o < (stream.sent if p == 0 else 1)})


def relearned(log: str) -> list[int]:
    """Rows that each restore of a worker relearned, according to its log."""
    places = re.findall(r"restored .*?position=(\d+) committed=(\d+)", log)
    return [int(committed) - int(position) for position, committed in places]

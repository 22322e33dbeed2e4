"""Workers of an earlier version and the current one in one group: upgraded while events arrive, and rolled back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.support.audit import Auditor
from tests.support.earlier_version import EarlierDriftway, checkout
from tests.support.fault_scenario import DETECTORS, LEARNER, FaultScenario
from tests.support.kafka import await_until
from tests.support.process import Driftway, driftway

BEFORE = "before-0.1.0"
VERSIONS = {
    "0.1.0": "49960dc5",  # whose topics and snapshots tests/broker/upgrades has
    BEFORE: "f3471da0",  # options, fields and metrics had other names, and snapshots had no tests or calibrators
}
PARTITIONS, ROWS = 3, 20_000
START_SECONDS = 300.0
"""An earlier version compiles its kernels first."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Version -> folder of its files, unpacked once, as its compiled kernels depend on the folder."""
    return cache(lambda version: checkout(VERSIONS[version], tmp_path_factory.mktemp(version)))


@contextmanager
def constant_rows(scenario: FaultScenario, auditor: Auditor) -> Iterator[list[int]]:
    """Keep producing rows of every partition; yield a list with their number; all are predicted at the end."""
    fed, ended = [0], threading.Event()

    def feed() -> None:
        while not ended.wait(0.1) and fed[0] < scenario.rows:
            scenario.fill(fed[0], fed[0] + 20)
            fed[0] += 20

    feeder = threading.Thread(target=feed, name="feeder")
    feeder.start()
    try:
        yield fed
        ended.set()
        feeder.join()
        await_until(lambda: auditor.seen >= fed[0] * scenario.partitions, 60, "every row predicted")
    finally:
        ended.set()
        feeder.join()


def await_more(auditor: Auditor, rows: int = 300) -> None:
    """Wait until this many more rows are predicted."""
    wanted = auditor.seen + rows
    auditor.await_all(wanted, 60)


def start(stack: ExitStack, worker: Driftway) -> Driftway:
    """Start a worker and wait until it owns a partition of the group."""
    stack.enter_context(worker)
    worker.await_text("running partition", START_SECONDS)
    return worker


def stop(worker: Driftway, auditor: Auditor) -> None:
    """Stop a worker, and wait until others have taken over its partitions."""
    worker.terminate()
    assert worker.wait() == 0, worker.summary()
    await_more(auditor)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_group_is_upgraded_and_rolled_back_while_events_arrive(
    kafka: str, folders: Callable[[str], Path], version: str
) -> None:
    earlier = folders(version)
    scenario = FaultScenario(kafka, PARTITIONS, ROWS, seed=48, detectors=DETECTORS)
    options = scenario.worker("--learner", "arow")
    with ExitStack() as stack, scenario.auditor() as auditor:
        old = [start(stack, EarlierDriftway(earlier, *options)) for _ in range(2)]
        with constant_rows(scenario, auditor) as fed:
            await_more(auditor)
            new = []
            for worker in old:
                new.append(start(stack, Driftway(*options)))
                stop(worker, auditor)
            back = start(stack, EarlierDriftway(earlier, *options))
            for worker in new:
                stop(worker, auditor)
        back.terminate()
        assert back.wait() == 0, back.summary()
        for worker in (*old, *new, back):
            restored = [line for line in worker.stderr.splitlines() if " restored" in line]
            assert restored
            assert not any("note" in line for line in restored), restored  # the newest snapshot was used
    auditor.require({place: score for place, score in scenario.expected.items() if place[1] < fed[0]})
    asked = [*scenario.options, "--learner", LEARNER]
    audited = driftway("audit", *asked, "--learner", "arow", *scenario.watched)
    assert audited.code == 0, audited


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_earlier_version_refuses_unreadable_state_until_it_may_relearn_the_log(
    kafka: str, folders: Callable[[str], Path]
) -> None:
    folder = folders(BEFORE)
    scenario = FaultScenario(kafka, PARTITIONS, 900, seed=49)
    with scenario.auditor() as auditor, ExitStack() as stack:
        worker = start(stack, Driftway(*scenario.worker()))
        scenario.fill(0, 400)
        auditor.await_all(400 * PARTITIONS)
        with EarlierDriftway(folder, *scenario.worker()) as old:
            assert old.wait(START_SECONDS) == 4, old.summary()
            assert "cannot restore" in old.stderr
            assert "Traceback" not in old.stderr
        scenario.fill(400, 600)
        auditor.await_all(600 * PARTITIONS)
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
        replayed = start(stack, EarlierDriftway(folder, *scenario.worker("--if-unrestorable", "replay")))
        scenario.fill(600)
        auditor.await_all(900 * PARTITIONS)
        replayed.terminate()
        assert replayed.wait() == 0, replayed.summary()
    auditor.require(scenario.expected)
    audited = driftway("audit", *scenario.options, "--learner", LEARNER)
    assert audited.code == 1, audited  # together, both versions have written all outputs
    assert "@600 differs: expected the field probability, found none" in audited.stderr

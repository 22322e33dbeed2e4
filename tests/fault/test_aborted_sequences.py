"""A lost Produce reply followed by an abortable error: librdkafka would commit a transaction with missing messages.

The client sends messages whose reply was lost again. If an abortable error comes first, it reuses their sequence
numbers, although the broker has them: the broker takes the next batch of the same producer and size for a duplicate,
acknowledges it, and does not write it (docs/upstream). In each test a reply is lost, then the transaction fails. A
worker that kept the producer would lose predictions, or the position or snapshot that it committed.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driftway.worker.state.changelog.snapshot_pointer import Pointer
from tests.support.audit import Auditor, bits
from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until, committed_offset, read_all
from tests.support.process import Driftway
from tests.support.proxy import ADD_OFFSETS, ADD_PARTITIONS, ILLEGAL_GENERATION, INVALID_RECORD, PRODUCE, Proxy
from tests.support.selection import slow_but

pytestmark = pytest.mark.timeout(300)  # as by default; those with a limit start before others

ONE_BROKER = ("-X", "metadata.recovery.strategy=none")
"""Otherwise the client forgets its only broker, and with it the transaction coordinator, and nothing can fail."""
SLOW = ("--commit-interval", "6")
"""So long that the transaction fails before the commit starts, also on a busy machine."""
EVERY_COMMIT, NEVER = ("--snapshot-rows", "1"), ("--snapshot-rows", "1000000")
WHEN_TRIED_AGAIN = ("--snapshot-rows", "150")
BAD = b"{not json"
BEFORE, BATCH = 200, 100


@pytest.fixture
def proxy(kafka: str) -> Iterator[Proxy]:
    with Proxy(kafka) as proxy_of_broker:
        yield proxy_of_broker


@pytest.fixture
def scenario(kafka: str) -> FaultScenario:
    return FaultScenario(kafka, partitions=1, rows=BEFORE + 2 * BATCH)


def process_first_rows(worker: Driftway, scenario: FaultScenario, auditor: Auditor) -> None:
    """Process the first rows and a rejected one, so that the client knows every topic."""
    worker.await_text("running")
    scenario.write(BAD)
    scenario.fill(0, BEFORE)
    auditor.await_all(BEFORE + 1)


def fail_transaction(scenario: FaultScenario, proxy: Proxy, worker: Driftway, what: int) -> None:
    """Produce rows and block new connections to the broker until their transaction has failed."""
    proxy.shut = True
    scenario.fill(BEFORE, BEFORE + BATCH)
    await_until(lambda: proxy.lost[PRODUCE] or proxy.held[PRODUCE], 30, "messages are on their way")
    if what == ADD_PARTITIONS:
        scenario.write(BAD)
    worker.await_condition(lambda: proxy.failed[what] and "commit failed" in worker.stderr, "a commit fails")
    proxy.shut = False


def require_complete(auditor: Auditor, scenario: FaultScenario, rows: int) -> None:
    """Fail unless every row is predicted once, in order, with the bits of an undisturbed run."""
    assert not auditor.complaints
    places = sorted(auditor.scores)
    assert len(places) == rows
    for place, row in zip(places, range(rows), strict=True):
        assert bits(auditor.scores[place]) == bits(scenario.expected[0, row]), place


def positions(scenario: FaultScenario) -> list[bytes]:
    """Values of all position records that a read_committed reader sees."""
    topic = f"{scenario.prefix}.snapshots"
    return [record.value or b"" for record in read_all(scenario.bootstrap, topic) if record.key == b"0.position"]


def stop(worker: Driftway) -> None:
    worker.terminate()
    assert worker.wait() == 0, worker.summary()


@pytest.mark.parametrize("way", slow_but(["lost"], ["lost", "late"]))
def test_predictions_are_written_after_their_reply_was_lost_and_the_transaction_aborted(
    scenario: FaultScenario, proxy: Proxy, way: str
) -> None:
    """In the late case the broker receives them after the abort and rejects them for their older epoch."""
    arguments = scenario.worker("--bootstrap", proxy.bootstrap, *ONE_BROKER, *SLOW, *EVERY_COMMIT)
    with scenario.auditor() as auditor, Driftway(*arguments) as worker:
        process_first_rows(worker, scenario, auditor)
        if way == "lost":
            proxy.lose(PRODUCE, cut=True, about=b".predictions")
        else:
            proxy.hold(PRODUCE, about=b".predictions")
        proxy.fail(ADD_PARTITIONS, INVALID_RECORD, b".rejected", after=proxy.missed(PRODUCE))
        fail_transaction(scenario, proxy, worker, ADD_PARTITIONS)
        auditor.await_all(BEFORE + BATCH + 2, 60)
        proxy.release()
        scenario.fill(BEFORE + BATCH)
        auditor.await_all(scenario.rows + 2)
        stop(worker)
    require_complete(auditor, scenario, scenario.rows)


@pytest.mark.parametrize("snapshots", slow_but([NEVER], [NEVER, WHEN_TRIED_AGAIN]), ids=["position", "snapshot"])
def test_a_position_record_with_a_lost_reply_does_not_replace_the_next_record(
    scenario: FaultScenario, proxy: Proxy, snapshots: tuple[str, ...]
) -> None:
    """The next record of the same size in the snapshots topic is the next position, or a chunk of a snapshot."""
    with (
        scenario.auditor() as auditor,
        Driftway(*scenario.worker("--bootstrap", proxy.bootstrap, *ONE_BROKER, *snapshots)) as worker,
    ):
        process_first_rows(worker, scenario, auditor)
        proxy.lose(PRODUCE, cut=True, about=b"0.position")
        proxy.fail(ADD_OFFSETS, ILLEGAL_GENERATION, after=proxy.missed(PRODUCE))
        fail_transaction(scenario, proxy, worker, ADD_OFFSETS)
        auditor.await_all(BEFORE + BATCH + 1, 60)
        worker.kill()
        offset, metadata = committed_offset(scenario.bootstrap, scenario.group, scenario.topic)
        assert offset == BEFORE + BATCH + 1
        assert str(offset).encode() in positions(scenario)[-1]
        pointer = Pointer.parse(metadata)
        assert pointer is not None
        visible = {r.offset: r.key for r in read_all(scenario.bootstrap, f"{scenario.prefix}.snapshots")}
        assert visible.get(pointer.first) == b"0.0"
        with Driftway(*scenario.worker(*snapshots)) as successor:
            scenario.fill(BEFORE + BATCH)
            auditor.await_all(scenario.rows + 1)
            stop(successor)
    require_complete(auditor, scenario, scenario.rows)

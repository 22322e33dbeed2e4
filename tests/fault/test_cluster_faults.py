"""Faults of a cluster's brokers under load: every event is predicted once, with the right bits.

Two workers, one with each client, share a group; rows keep arriving during the fault.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from driftway.workbench.broker import LocalCluster
from driftway.worker.kafka.client_config import NATIVE, PYTHON
from tests.broker.test_log_decides import require_audited
from tests.fault.test_matrix import stop
from tests.support.audit import Auditor
from tests.support.brokers import started
from tests.support.cluster_faults import FAULTS, clusters
from tests.support.fault_scenario import FaultScenario
from tests.support.groups import member
from tests.support.process import Driftway

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(400)]

PARTITIONS, ROWS, BEFORE = 3, 9000, 500
PIECE, PIECE_SECONDS = 25, 0.25
"""100 rows a second and partition while the fault lasts."""
STANDSTILL_SECONDS = 120.0


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    """The cluster that the parameter names."""
    with started(request.config, clusters()[request.param]()) as made:
        yield made


def longest_silences(auditor: Auditor, ended_at: float) -> tuple[float, float]:
    """Return the longest time for which a reader saw no prediction of a partition, and the longest one after the fault.

    The second is counted from the end of the fault, as `time.monotonic`, to a partition's next prediction.
    """
    times: dict[int, list[float]] = {}
    for (partition, offset), arrival in auditor.arrivals.items():
        if offset >= BEFORE - 1:
            times.setdefault(partition, []).append(arrival)
    longest = max(after - before for arrivals in times.values() for before, after in pairwise(sorted(arrivals)))
    first = (min((at for at in arrivals if at > ended_at), default=ended_at) for arrivals in times.values())
    return longest, max(first) - ended_at


@pytest.mark.parametrize("protocol", ["range", "consumer"])
@pytest.mark.parametrize(
    ("cluster", "fault"),
    [pytest.param(fault.cluster, name, id=name) for name, fault in FAULTS.items()],
    indirect=["cluster"],
)
def test_every_event_is_predicted_once_when_a_cluster_fault_happens_under_load(
    cluster: LocalCluster, fault: str, protocol: str
) -> None:
    scenario = FaultScenario(cluster.bootstrap, partitions=PARTITIONS, rows=ROWS)
    usual = ("-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=2000") if protocol == "range" else ()
    over = threading.Event()
    failed: list[BaseException] = []

    def cause() -> None:
        try:
            FAULTS[fault].cause(cluster, scenario)
        except BaseException as error:  # raised again below: an exception in a thread does not fail a test
            failed.append(error)
        finally:
            over.set()

    with (
        scenario.auditor() as auditor,
        Driftway(*member(scenario, protocol, "one", "--client", NATIVE, *usual)) as one,
        Driftway(*member(scenario, protocol, "other", "--client", PYTHON, *usual)) as other,
    ):
        scenario.fill(0, BEFORE)
        auditor.await_all(PARTITIONS * BEFORE)
        action = threading.Thread(target=cause, name="fault")
        action.start()
        fed = BEFORE
        while fed < ROWS and not over.wait(PIECE_SECONDS):
            scenario.produce(fed, fed + PIECE)
            fed += PIECE
        action.join()
        if failed:
            raise failed[0]
        ended_at = time.monotonic()
        scenario.fill(fed)
        auditor.await_all(PARTITIONS * ROWS, STANDSTILL_SECONDS)
        for worker in (one, other):
            messages = FAULTS[fault].messages
            assert not messages or any(text in worker.stderr for text in messages), worker.summary()
        stop(one, other)
    longest, after = longest_silences(auditor, ended_at)
    print(f"{fault} {protocol}: longest silence of a partition {longest:.1f} s, {after:.1f} s of it after the fault")
    auditor.require(scenario.expected)
    require_audited(scenario)

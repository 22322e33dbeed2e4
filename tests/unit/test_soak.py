"""The parts of the soak test that need neither Kafka nor a process; `make soak` runs all of it."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from itertools import islice, pairwise, takewhile
from random import Random

import numpy as np
import pytest

from driftway.worker.wire.columns import ListColumn
from driftway.worker.wire.decoder import Decoder
from driftway.worker.wire.events import Records, Schema, Target
from tests.soak import schedule
from tests.soak.completeness import MAX_HOLES, TOLD, Completeness
from tests.soak.exit_codes import ExitCode
from tests.soak.load import BAD, BLOCK_ROWS, FEATURES, events
from tests.soak.resources import ResourceMonitor, Sample, SampledProcess, sample_now, trend, warm
from tests.soak.schedule import faults

HOUR = 3600.0


def of_an_hour(seed: int) -> list[schedule.Fault]:
    return list(takewhile(lambda fault: fault.at < HOUR, faults(seed, 4.0)))


def test_schedule_is_that_of_its_seed() -> None:
    assert of_an_hour(3) == of_an_hour(3)
    assert of_an_hour(3) != of_an_hour(4)


@pytest.mark.parametrize("seed", range(5))
def test_an_hour_has_every_fault_in_the_order_of_time(seed: int) -> None:
    found = of_an_hour(seed)
    assert [fault.at for fault in found] == sorted(fault.at for fault in found)
    often = Counter(fault.action for fault in found)
    network = {schedule.LOST, schedule.LATE}
    assert set(often) == {*schedule.WEIGHTS, schedule.RESTART, schedule.OUTAGE, *network}
    assert 150 < sum(often[action] for action in network) < 350
    assert 250 < sum(often[action] for action in schedule.WEIGHTS) < 500
    assert 20 < often[schedule.RESTART] + often[schedule.OUTAGE] < 50
    assert all(0 <= fault.choice < 1 for fault in found)
    assert all(5 <= fault.seconds <= 12 for fault in found if fault.action == schedule.FREEZE)
    outages = [fault.seconds for fault in found if fault.action == schedule.OUTAGE]
    assert all(10 <= seconds <= 45 for seconds in outages)


def test_most_outages_are_shorter_than_the_budget_of_a_commit() -> None:
    outages = [f.seconds for seed in range(50) for f in of_an_hour(seed) if f.action == schedule.OUTAGE]
    assert sum(seconds < 25 for seconds in outages) > 0.8 * len(outages)
    assert max(outages) > 35


def test_slope_of_a_known_line() -> None:
    at = [100.0 + 5 * i for i in range(100)]
    found = trend(at, [7.0 + 2.0 * (moment - 100.0) / HOUR for moment in at])
    assert found.per_hour == pytest.approx(2.0)
    assert (found.first, found.last) == pytest.approx((7.0, 7.0 + 2.0 * 495 / HOUR))
    assert (found.least, found.most) == (found.first, found.last)


def test_slope_of_noise_is_about_none_and_of_one_sample_none() -> None:
    rng = Random(1)
    at = [5.0 * i for i in range(720)]
    assert abs(trend(at, [rng.gauss(250.0, 5.0) for _ in at]).per_hour) < 3
    assert trend([5.0], [3.0]).per_hour == 0.0


def test_warm_up_is_left_out() -> None:
    hour = [Sample(5.0 * i, 0, 0, 0) for i in range(721)]
    assert warm(hour)[0].at == 300.0
    assert warm(hour[:19])[0].at == 30.0  # a third of 90 s
    assert warm(hour[:1]) == hour[:1]


def test_gauge_keeps_lives_apart_and_forgets_the_others() -> None:
    gauge, own = ResourceMonitor(("steady",)), os.getpid()
    assert gauge.trends("steady") == {}
    assert gauge.newest("steady") is None
    for now, life in ((0.0, 1), (5.0, 1), (10.0, 2), (15.0, 2), (20.0, 2)):
        gauge.sample(
            [
                SampledProcess("steady", life, own),
                SampledProcess("other", 9, own),
                SampledProcess("gone", 1, 2**22 + 1),
            ],
            now,
        )
    assert [sample.at for sample in gauge.longest("steady")] == [10.0, 15.0, 20.0]
    assert gauge.lives("steady") == 2
    assert gauge.trends("steady")["descriptors"].last > 2
    assert gauge.peak.rss > 1e6


def test_a_process_is_seen_as_it_is() -> None:
    before = sample_now(os.getpid(), 0.0)
    with open(os.devnull, "rb"):
        during = sample_now(os.getpid(), 1.0)
    assert before is not None
    assert during is not None
    assert during.descriptors == before.descriptors + 1
    assert during.threads >= 1
    assert sample_now(2**22 + 1, 0.0) is None


def checked(text: str) -> Completeness:
    """Return the result if `p3` (a prediction for offset 3) and `r3` (a rejection) arrive in this order."""
    found = Completeness()
    for word in text.split():
        (found.predict if word[0] == "p" else found.reject)(int(word[1:]))
    return found


@pytest.mark.parametrize(
    "text", ["p0 p1 p2 p3", "p0 r1 p2 p3", "p0 p2 p3 r1", "r1 r2 p0 p3", "p3 r0 r1 r2", "r0 r1 r2 r3", "r3 p0 p1 p2"]
)
def test_rejections_may_be_seen_before_and_after_predictions(text: str) -> None:
    found = checked(text)
    assert (found.accounted, found.duplicates, found.disordered, found.gaps(4)) == (4, 0, 0, 0)
    assert found.first_gap(4) is None
    assert found.complaints == []


@pytest.mark.parametrize(
    ("text", "first"), [("p0 p2 p3", 1), ("p0 p1 p2", 3), ("p1 p2 p3", 0), ("p0 r1 p3", 2), ("r0 r1 p2", 3), ("", 0)]
)
def test_gap_is_found(text: str, first: int) -> None:
    found = checked(text)
    assert found.gaps(4) == 4 - len(text.split())
    assert found.first_gap(4) == first
    assert (found.duplicates, found.disordered) == (0, 0)


@pytest.mark.parametrize("text", ["p0 p1 p1", "p0 p1 p0", "p0 r1 r1", "p0 r1 p1", "p0 p1 r1", "p1 r0 p0", "r1 p0 r1"])
def test_duplicate_is_found_and_counts_once(text: str) -> None:
    found = checked(text)
    assert (found.duplicates, found.accounted, found.gaps(2)) == (1, 2, 0)
    assert len(found.complaints) == 1


@pytest.mark.parametrize("text", ["p0 p2 p1", "p0 r2 r1", "p2 r1 r0"])
def test_disorder_is_found(text: str) -> None:
    found = checked(text)
    assert (found.disordered, found.duplicates, found.gaps(3)) == (1, 0, 0)


def test_outputs_beyond_the_end_are_no_gap_filled() -> None:
    assert checked("p0 p1 p2").gaps(2) == -1


def test_continuity_of_millions_and_of_a_huge_gap_stays_small() -> None:
    found, n = Completeness(), 200_000
    for offset in range(n):
        (found.reject if offset % 1000 == 7 else found.predict)(offset)
    assert (found.accounted, found.gaps(n)) == (n, 0)
    assert len(found._holes) + len(found._early) == 0
    found.predict(n + 10 * MAX_HOLES)
    assert len(found._holes) <= MAX_HOLES
    assert found.gaps(n + 10 * MAX_HOLES + 1) == 10 * MAX_HOLES
    for _ in range(2 * TOLD):
        found.predict(0)
    assert len(found.complaints) == TOLD


@pytest.mark.parametrize(
    "ending",
    [
        ExitCode(0, terminated=True),
        ExitCode(-signal.SIGKILL, killed=True),
        ExitCode(5, broker_away=True),
        ExitCode(5, terminated=True, broker_away=True),
        ExitCode(3, thawed=True),
        ExitCode(-signal.SIGTERM, terminated=True, silent=True),
    ],
)
def test_documented_endings(ending: ExitCode) -> None:
    assert ending.as_documented


@pytest.mark.parametrize(
    "ending",
    [
        ExitCode(0),
        ExitCode(1, killed=True, terminated=True, thawed=True, broker_away=True),
        ExitCode(2, broker_away=True),
        ExitCode(3, broker_away=True),
        ExitCode(4, thawed=True, broker_away=True),
        ExitCode(5),
        ExitCode(-signal.SIGKILL),
        ExitCode(-signal.SIGSEGV, killed=True),
        ExitCode(-signal.SIGTERM, terminated=True),
        ExitCode(0, terminated=True, traceback=True),
    ],
)
def test_other_endings_are_reported(ending: ExitCode) -> None:
    assert not ending.as_documented


def test_rows_are_those_of_the_seed_and_about_one_in_a_thousand_is_rejected() -> None:
    n = 100 * BLOCK_ROWS
    values = list(islice(events(5), n))
    assert values[:100] == list(islice(events(5), 100))
    assert values[:100] != list(islice(events(6), 100))
    records = Records(0, np.arange(n), ListColumn(values), ListColumn([None] * n), range(n))
    batch = Decoder(Target(), Schema(FEATURES)).decode(records)
    assert {rejection.value for rejection in batch.rejected} == set(BAD)
    assert n / 2000 < len(batch.rejected) < n / 500
    assert 0.4 < np.nanmean(batch.y) < 0.6


def test_a_cluster_has_faults_of_its_own() -> None:
    found = list(takewhile(lambda fault: fault.at < HOUR, faults(3, 18.0, 45.0, cluster=True)))
    of_brokers = [fault for fault in found if fault.action in schedule.OF_CLUSTER]
    assert {fault.action for fault in found} == {*schedule.WEIGHTS, *schedule.OF_CLUSTER}
    assert 60 < len(of_brokers) < 120
    assert all(30 <= later.at - earlier.at <= 60 for earlier, later in pairwise(of_brokers))
    for fault in of_brokers:
        least, most = schedule.AWAY_SECONDS.get(fault.action, (0.0, 0.0))
        assert least <= fault.seconds <= most


def test_away_is_counted_between_two_moments() -> None:
    from driftway.workbench.broker import LocalKafka
    from tests.soak.broker_faults import BrokerFaults

    outages, now = BrokerFaults(LocalKafka(), lambda: True), time.monotonic()
    outages.away = [(now - 100, now - 90), (now - 50, now - 45), (now - 1, float("inf"))]
    assert outages.outage_between(now - 95, now - 48) == pytest.approx(5 + 2)
    assert outages.outage_between(now - 80, now - 60) == 0
    assert outages.outage_between(now - 2, now) == pytest.approx(1)
    assert outages.outage_within(0.0)
    outages.away = [(now - 50, now - 45)]
    assert outages.outage_within(60.0)
    assert not outages.outage_within(40.0)

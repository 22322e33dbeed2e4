"""The broker commits, but its reply is lost: the worker must find out whether the commit succeeded."""

from __future__ import annotations

import pytest

from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until
from tests.support.process import Driftway
from tests.support.proxy import END_TXN, PRODUCE, Proxy
from tests.support.selection import slow_but

SHORT = ("-X", "socket.timeout.ms=2000")
"""Shorter than the commit's deadline, so that the client gives up the request and retries."""


@pytest.mark.parametrize("replies", slow_but([1], [1, 3]))
@pytest.mark.parametrize(("cut", "more"), [(True, ()), (False, SHORT)], ids=["cut", "silent"])
def test_a_batch_stays_whole_if_the_reply_to_its_commit_is_lost(
    kafka: str, replies: int, cut: bool, more: tuple[str, ...]
) -> None:
    scenario = FaultScenario(kafka, partitions=2, rows=1200)
    with (
        Proxy(kafka) as proxy,
        scenario.auditor() as auditor,
        Driftway(*scenario.worker("--bootstrap", proxy.bootstrap, *more)) as worker,
    ):
        worker.await_text("running")
        for first in range(0, scenario.rows, 200):
            scenario.fill(first, first + 200)
            if first == 600:
                proxy.lose(END_TXN, replies=replies, cut=cut)
            wanted = 2 * (first + 200)
            await_until(lambda wanted=wanted: auditor.seen >= wanted, 60, f"{wanted} rows predicted")
        assert proxy.lost[END_TXN] == replies
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    auditor.require(scenario.expected)


@pytest.mark.slow
def test_a_commit_without_any_reply_replaces_only_the_producer(kafka: str) -> None:
    """The client would wait for a minute; the commit's deadline is shorter. After it, only the log has the outcome."""
    scenario = FaultScenario(kafka, partitions=2, rows=1200)
    with (
        Proxy(kafka) as proxy,
        scenario.auditor() as auditor,
        Driftway(*scenario.worker("--bootstrap", proxy.bootstrap)) as worker,
    ):
        worker.await_text("running")
        scenario.fill(0, 600)
        await_until(lambda: auditor.seen >= 1200, 60, "first rows predicted")
        restored = worker.stderr.count("restored partition")
        proxy.lose(END_TXN)
        scenario.fill(600, 900)
        worker.await_text("commit failed", 60)
        worker.await_condition(
            lambda: worker.stderr.count("restored partition") == restored + 1, "the producer is replaced", 30
        )
        assert "action=unknown" in worker.stderr, worker.summary()
        scenario.fill(900)
        await_until(lambda: auditor.seen >= len(scenario.expected), 60, "every row predicted")
        assert proxy.lost[END_TXN] == 1
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    auditor.require(scenario.expected)


@pytest.mark.parametrize("guarantee", slow_but(["exactly-once"], ["exactly-once", "at-least-once"]))
def test_a_broken_connection_during_the_outputs_delays_nothing(kafka: str, guarantee: str) -> None:
    """A client without connections must not forget its brokers, or a commit would wait for one forever."""
    scenario = FaultScenario(kafka, partitions=1, rows=1200)
    with (
        Proxy(kafka) as proxy,
        scenario.auditor() as auditor,
        Driftway(*scenario.worker("--bootstrap", proxy.bootstrap, "--guarantee", guarantee)) as worker,
    ):
        worker.await_text("running")
        for first in range(0, scenario.rows, 200):
            if first % 400:
                proxy.lose(PRODUCE, cut=True, about=b".predictions")
            scenario.fill(first, first + 200)
            auditor.await_all(first + 200, 60)
        assert proxy.lost[PRODUCE] == 3
        assert "did not return" not in worker.stderr, worker.summary()
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
    auditor.require(scenario.expected)

"""A member that nobody named has a name of its own: it comes back to its place, and gives it up when it leaves."""

from __future__ import annotations

import contextlib

import pytest

from tests.support.brokers import own_broker
from tests.support.kafka import await_until
from tests.support.process import Driftway
from tests.support.stage import Stage

SESSION = ("-X", "session.timeout.ms=8000", "-X", "heartbeat.interval.ms=1000")
LONG_SESSION = ("-X", "session.timeout.ms=40000", "-X", "heartbeat.interval.ms=1000")
"""Longer than anything here waits."""


def test_nobody_waits_for_a_member_that_is_back(request: pytest.FixtureRequest) -> None:
    """The broker is away for longer than a session: the client gives its membership up, and joins as a new member."""
    with own_broker(request.config) as kafka:
        stage = Stage(kafka.bootstrap, partitions=2, rows=600)
        with stage.auditor() as auditor, contextlib.ExitStack() as stack:
            workers = [stack.enter_context(Driftway(*stage.worker(*SESSION))) for _ in range(2)]
            stage.fill(0, 300)
            auditor.await_all(600)
            await_until(lambda: all("assigned" in worker.stderr for worker in workers), 30, "both are members")
            kafka.kill()
            await_until(lambda: all("lost" in worker.stderr for worker in workers), 60, "the client has given up")
            kafka.restart()
            stage.fill(300)
            auditor.await_all(1200, 60)
            said = kafka.log.read_text()
            for worker in workers:
                worker.terminate()
                assert worker.wait() == 0, worker.story()
        auditor.require(stage.expected)
    assert f"in group {stage.group} has failed" not in said, "who a member was before is waited for"


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_member_that_leaves_gives_its_place_up_at_once(kafka: str, guarantee: str) -> None:
    """The client would keep a named member's place until its session ends."""
    stage = Stage(kafka, partitions=2, rows=600)
    arguments = stage.worker("--guarantee", guarantee, *LONG_SESSION)
    with stage.auditor() as auditor, Driftway(*arguments) as first:
        first.await_text("running")
        with Driftway(*arguments) as second:
            second.await_text("running")
            stage.fill(0, 300)
            auditor.await_all(600)
            second.terminate()
            assert second.wait() == 0, second.story()
        stage.fill(300)
        auditor.await_all(1200, 30)
        first.terminate()
        assert first.wait() == 0, first.story()
    auditor.require(stage.expected)

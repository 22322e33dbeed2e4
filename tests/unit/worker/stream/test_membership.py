"""The timeouts of a group member that the user does not set."""

from __future__ import annotations

from typing import Any

import pytest

from driftway.learners.spec import Spec
from driftway.worker.errors import UsageFailure
from driftway.worker.settings import CLASSIC, CONSUMER, ModelSettings, WorkerSettings
from driftway.worker.stream.consumer.membership import HEARTBEAT_MS, timeouts
from driftway.worker.stream.startup import check_properties

BROKER_SESSION_MS = 9_000


@pytest.mark.parametrize(
    ("given", "broker_session", "session", "interval", "heartbeat"),
    [
        ({}, 0, 6_000, 6_000, HEARTBEAT_MS),
        ({}, BROKER_SESSION_MS, 18_000, 18_000, HEARTBEAT_MS),
        ({}, 2_000, 6_000, 6_000, HEARTBEAT_MS),
        ({"group.instance.id": "a"}, BROKER_SESSION_MS, 45_000, 45_000, HEARTBEAT_MS),
        ({"session.timeout.ms": "3000"}, BROKER_SESSION_MS, 18_000, 4_000, None),
        ({"session.timeout.ms": "nonsense"}, BROKER_SESSION_MS, 18_000, 18_000, None),
    ],
    ids=["one broker", "cluster", "short broker session", "named member", "given", "not a number"],
)
def test_classic_members_have_default_timeouts(
    given: dict[str, Any], broker_session: int, session: int, interval: int, heartbeat: int | None
) -> None:
    found = timeouts(given, CLASSIC, broker_session)
    assert found["session.timeout.ms"] == session  # the user's value overrides it
    assert found["max.poll.interval.ms"] == interval
    assert found.get("heartbeat.interval.ms") == heartbeat


def test_with_the_newer_protocol_the_broker_sets_the_timeouts() -> None:
    assert timeouts({}, CONSUMER, BROKER_SESSION_MS) == {"max.poll.interval.ms": 6_000}


def test_properties_of_a_member_that_exclude_each_other_are_refused_before_topics_are_created() -> None:
    given = {"max.poll.interval.ms": "7000", "session.timeout.ms": "10000"}
    model = ModelSettings((Spec.parse("pa1"),))
    with pytest.raises(UsageFailure, match=r"client property refused: .*`max"):
        check_properties(WorkerSettings("localhost:1", "E", "g", model, passthrough=given))
    check_properties(WorkerSettings("localhost:1", "E", "g", model))
    check_properties(WorkerSettings("localhost:1", "E", "g", model, passthrough={"group.protocol": "Consumer"}))
